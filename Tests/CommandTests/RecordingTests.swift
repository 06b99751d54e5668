import Foundation
import TestSupport
import Testing

@Suite("mppaths record and replay", .needsNamespaces, .needs("ip", "unshare"))
struct RecordingTests {
    /// Changes of many kinds, and a wait for what each of them leads to, in `$1`.
    private static let changes = #"""
        last() { [ "$(tail -n 1 "$1" | grep -o '"primary":[^,]*')" = "\"primary\":$2" ]; }
        change() {
            wait_for "the first update" last "$1" '"wlan0"'
            ip link set wlan0 down
            wait_for "wwan0" last "$1" '"wwan0"'
            ip link add eth7 type veth peer name w7 netns server
            ip addr add 203.0.113.130/25 dev eth7; ip link set eth7 up; server ip link set w7 up
            ip route add default via 203.0.113.129 dev eth7 metric 50
            wait_for "eth7" last "$1" '"eth7"'
            ip rule add lookup 77
            ip addr del 198.51.100.2/24 dev wwan0
            ip link del eth7
            wait_for "no path" last "$1" null
            ip addr add 198.51.100.2/24 dev wwan0
            ip route add default via 198.51.100.1 dev wwan0 metric 700
            wait_for "wwan0 again" last "$1" '"wwan0"'
        }
        export MULTIPATH_INTERFACES="$MULTIPATH_INTERFACES eth7=wired"

        """#

    /// An update without its reasons, which depend on the updates a consumer happened to skip.
    private func state(_ update: [String: Any]) throws -> String {
        let kept = update.filter { $0.key != "reasons" }
        return String(
            decoding: try JSONSerialization.data(withJSONObject: kept, options: .sortedKeys), as: UTF8.self)
    }

    @Test("give again what watch printed while the network changed, with no network at all")
    func equality() async throws {
        let result = try await TwoPaths.run(
            Self.changes + #"""
                "$bin/mppaths" watch --json > watched &
                "$bin/mppaths" record trouble.mpp --json > recorded 2> errors &
                recorder=$!
                wait_for "the other watch" last watched '"wlan0"'
                change recorded
                # It had that path once before, and may be late.
                wait_for "no path in the other watch" grep -q '"primary":null' watched
                # Processes gather changes differently: each has told all once both have told the same.
                paths() { tail -n 1 "$1" | sed 's/"generation":[0-9]*//; s/"reasons":[^]]*]//; s/"state":"[a-z]*"//g'; }
                same() { [ "$(paths recorded)" = "$(paths watched)" ]; }
                wait_for "the same in the other watch" same
                kill $recorder %1; wait $recorder
                cat errors >&2
                cat recorded; printf '\0'; cat watched; printf '\0'
                ip netns add empty
                ip netns exec empty env -u MULTIPATH_INTERFACES "$bin/mppaths" replay --json trouble.mpp
                printf '\0'
                ip netns exec empty "$bin/mppaths" replay trouble.mpp
                printf '\0'
                ip netns exec empty "$bin/mppaths" replay --json --real-time - < trouble.mpp
                """#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors == "")
        let parts = result.outputText.split(separator: "\0").map(String.init)
        try #require(parts.count == 5)
        let recorded = try Commands.objects(parts[0])
        let replayed = try Commands.objects(parts[2])
        let told = try Dictionary(
            replayed.map { ($0["generation"] as? Int ?? 0, try state($0)) }
        ) { first, _ in first }
        #expect(recorded.count >= 4)
        for update in recorded {
            #expect(told[update["generation"] as? Int ?? 0] == (try state(update)))
        }
        #expect(replayed.compactMap { $0["generation"] as? Int } == Array(1...replayed.count))
        #expect(replayed.last?["generation"] as? Int == recorded.last?["generation"] as? Int)

        // Another process saw the same.
        let watched = try Commands.objects(parts[1])
        func primaries(_ updates: [[String: Any]]) -> [String] {
            updates.map { $0["primary"] as? String ?? "none" }.reduce(into: []) {
                if $0.last != $1 { $0.append($1) }
            }
        }
        #expect(primaries(replayed) == ["wlan0", "wwan0", "eth7", "none", "wwan0"])
        func paths(_ update: [String: Any]?) throws -> String {
            try state(["interfaces": update?["interfaces"] ?? [], "excluded": update?["excluded"] ?? []])
                .replacing(/"state":"[a-z]*"/, with: "")
        }
        #expect(try paths(replayed.last) == paths(watched.last))

        let lines = parts[3].split(separator: "\n")
        #expect(lines.count == replayed.count)
        #expect(lines.first == "#1 satisfied wlan0 (wifi) > wwan0 (cellular, expensive) | initial")
        #expect(try Commands.objects(parts[4]).last.map(state) == replayed.last.map(state))
    }

    @Test("keep a file that is whole at each moment: what was told before the recorder was killed is in it")
    func killed() async throws {
        let result = try await TwoPaths.run(
            Self.changes + #"""
                "$bin/mppaths" record trouble.mpp --json > recorded &
                change recorded
                wait_for "the last update in the file" bash -c \
                    '[ "$("$bin/mppaths" replay trouble.mpp | wc -l)" -ge "$(wc -l < recorded)" ]'
                kill -9 %1; wait %1 || true
                "$bin/mppaths" replay trouble.mpp
                """#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText.split(separator: "\n").last?.contains("satisfied wwan0") == true)
    }

    @Test("know what the recorder lost: after an overflow the replay ends up with what there is")
    func overflow() async throws {
        let result = try await TwoPaths.run(
            #"""
            "$bin/mppaths" record trouble.mpp --json > recorded &
            recorder=$!
            wait_for "the first update" grep -q primary recorded
            kill -STOP $recorder
            ip addr add 203.0.113.250/32 dev wlan0; ip addr del 203.0.113.250/32 dev wlan0
            for i in $(seq 200); do echo "addr add 203.0.113.$i/32 dev wlan0"; done > many
            ip -batch many
            sed "s/ add / del /" many > fewer
            ip -batch fewer
            kill -CONT $recorder
            ip addr add 198.51.100.50/24 dev wwan0
            wait_for "the newest address" grep -q '198.51.100.50/24' recorded
            content() { grep -o '"interfaces.*primary' | sed 's/"state":"[a-z]*"//g'; }
            same() { [ "$("$bin/mppaths" replay --json trouble.mpp | tail -n 1 | content)" = "$("$bin/mppaths" --json | content)" ]; }
            wait_for "a replay of what there is" same
            kill $recorder; wait $recorder
            """#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors == "")
    }

    @Test("end after a duration, and go through a pipe")
    func pipe() async throws {
        let result = try await TwoPaths.run(
            """
            set -o pipefail
            "$bin/mppaths" record --duration 300ms - | "$bin/mppaths" replay -
            """)
        #expect(result.errors == "")
        #expect(result.status == 0)
        #expect(result.outputText == "#1 satisfied wlan0 (wifi) > wwan0 (cellular, expensive) | initial\n")
    }

    @Test("say in one line what is wrong with a file, and where, after what stands before it")
    func broken() async throws {
        let result = try await TwoPaths.run(
            #"""
            "$bin/mppaths" record --duration 200ms whole.mpp
            cp whole.mpp cut.mpp; printf 'x' >> cut.mpp
            printf 'PNG' > other.mpp; : > empty.mpp
            for file in cut other empty missing; do
                status=0; "$bin/mppaths" replay $file.mpp || status=$?
                echo "$status"
            done
            status=0; "$bin/mppaths" replay --real-time - < cut.mpp > /dev/null || status=$?
            echo "$status"
            stat -c %s whole.mpp
            "$bin/mppaths" record /nowhere/file || echo $?
            """#)
        #expect(result.status == 0)
        let lines = result.outputText.split(separator: "\n").map(String.init)
        let size = lines.dropLast().last ?? ""
        #expect(
            lines == [
                "#1 satisfied wlan0 (wifi) > wwan0 (cellular, expensive) | initial", "1", "1", "1", "1", "1",
                size, "1",
            ])
        #expect(
            result.errors == """
                mppaths: cut.mpp: byte \(size): the file ends within a record
                mppaths: other.mpp: byte 0: this is no recording of mppaths
                mppaths: empty.mpp: byte 0: this is no recording of mppaths
                mppaths: open missing.mpp: No such file or directory
                mppaths: standard input: byte \(size): the file ends within a record
                mppaths: open /nowhere/file: No such file or directory

                """)
    }
}
