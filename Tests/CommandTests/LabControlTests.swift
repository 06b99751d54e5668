import Foundation
import TestSupport
import Testing

/// What `mplab set` and `mplab run` do where another user's processes have taken the names by which labs are told.
@Suite("Beside another user who takes labs' names", .needsNamespaces, .needs("ip", "unshare", "setpriv"))
struct LabControlTests {
    private static let other = "setpriv --reuid 65534 --regid 65534 --clear-groups"

    @Test("the user's own lab is told all the same, without a wait, and found without its number", .needsRoot)
    func told() async throws {
        let result = try await Program.run(
            [
                "unshare", "--net", "bash", "-c",
                """
                set -eu
                cd "$(mktemp -d)"; chmod 755 .
                trap 'kill $(jobs -p)' EXIT
                within() { for _ in $(seq 1000); do if "$@"; then return 0; fi; sleep 0.02; done; exit 99; }
                user="setpriv --reuid 65533 --regid 65533 --clear-groups"
                $user "$bin/mplab" run --quiet -- sleep 60 > lab 2>&1 &
                lab=$!
                ready() { grep -q "@mplab-$lab[$]*" /proc/net/unix; }
                within ready
                # The number of another process of the user's, one of another's, and many that belong to none.
                $user sleep 60 &
                \(Self.other) "$bin/subflow-probe" squat mplab-$! mplab-$BASHPID mplab-{4000000..4000040} > taken &
                within grep -q taken taken
                for words in "" "--lab $lab"; do
                    begun=$(date +%s%N)
                    status=0
                    $user timeout 30 "$bin/mplab" set $words wlan0 rtt=77ms || status=$?
                    echo "$status $((($(date +%s%N) - begun) / 1000000))"
                    $user timeout 30 "$bin/mplab" set $words wlan0 rtt=20ms || true
                done
                status=0
                $user timeout 30 "$bin/mplab" set --lab 4000000 wlan0 down 2>&1 || status=$?
                echo "$status"
                rm -r "$PWD"
                """,
            ], environment: ["bin": Program.products], within: .seconds(90))
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.outputText.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        try #require(lines.count >= 4, "\(result)")
        for line in lines.prefix(2) {
            #expect(line.first == "0", "\(result)")
            // Two seconds are waited for a name that may be the user's own, at most.
            #expect((line.last.flatMap { Int($0) } ?? .max) < 15_000, "\(result)")
        }
        #expect(lines.last == ["1"], "\(result)")
    }

    @Test("a lab starts whose number another user has taken, and can be told", .needsRoot)
    func starts() async throws {
        let result = try await Program.run(
            [
                "unshare", "--net", "--pid", "--fork", "--mount", "--kill-child", "bash", "-c",
                """
                set -eu
                mount -t proc proc /proc
                mount -t tmpfs tmpfs /mnt
                cd /mnt
                within() { for _ in $(seq 1000); do if "$@"; then return 0; fi; sleep 0.02; done; exit 99; }
                \(Self.other) "$bin/subflow-probe" squat mplab-{2..200} > taken &
                within grep -q taken taken
                timeout 40 "$bin/mplab" run --quiet -- bash -c '"$bin/mplab" set wlan0 rtt=77ms && "$bin/mplab" set' &
                wait $!
                """,
            ], environment: ["bin": Program.products], within: .seconds(90))
        #expect(result.status == 0, "\(result)")
        #expect(result.outputText.contains("rtt=77ms"), "\(result)")
    }
}
