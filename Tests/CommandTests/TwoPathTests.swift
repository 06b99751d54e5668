import Foundation
import TestSupport
import Testing

@Suite("On a machine with two paths", .needsNamespaces, .needs("ip", "unshare", "nft"))
struct TwoPathTests {
    @Test("mpconnect connects over the other path when the preferred one silently drops packets")
    func silentPath() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            silence w0
            echo hello | "$bin/mpconnect" --json 203.0.113.1:7000
            wait
            cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        let report = try #require(try Commands.objects(result.errors).last)
        #expect(report["interface"] as? String == "wwan0")
        #expect(report["transport"] as? String == "mptcp")
        let attempts = try #require(report["attempts"] as? [[String: Any]])
        // The attempt delay is 250 ms, the round trip far below one; the margins are for a busy machine. Wi-Fi never
        // answers.
        let other = try #require(attempts.first { $0["interface"] as? String == "wwan0" })
        let start = try #require(other["start_ms"] as? Double)
        #expect((250..<2500).contains(start))
        #expect(other["duration_ms"] as? Double ?? .infinity < 2500)
        #expect(other["outcome"] as? String == "won")
        #expect(attempts.first?["interface"] as? String == "wlan0")
        #expect(attempts.first?["outcome"] as? String == "cancelled")
        #expect(
            attempts.filter { $0["outcome"] as? String == "won" }.map { $0["interface"] as? String } == [
                "wwan0"
            ])
    }

    @Test("mpconnect sends not one packet over a prohibited path, however dead the others are")
    func prohibitedPath() async throws {
        let result = try await TwoPaths.run(
            """
            server nft add table inet count
            server nft add chain inet count input '{ type filter hook input priority -10; }'
            server nft add rule inet count input iifname w1 meta l4proto tcp counter
            silence w0
            status=0
            echo x | "$bin/mpconnect" --prohibit expensive --connect-timeout 1500ms 203.0.113.1:7000 || status=$?
            server nft list table inet count | grep -o 'packets [0-9]*'
            exit $status
            """)
        #expect(result.status == 1)
        #expect(result.outputText == "packets 0\n")
        #expect(result.errors.contains("no answer within 1.5 seconds"))
        #expect(!result.errors.contains("wwan0 mptcp"))
    }

    @Test(
        "mpconnect says in one line why no path will do, and ends with 3",
        arguments: [
            (
                "--prohibit wifi,cellular 203.0.113.1:7", "",
                "no allowed path (wlan0: its type is prohibited; wwan0: its type is prohibited)"
            ),
            (
                "--require wwan0 [2001:db8:ff::1]:7", "",
                "no allowed path (wlan0: another interface is required; wwan0: no route to the destination)"
            ),
            ("[2001:db8:ff::1]:7", "ip -6 addr flush dev wlan0", "no path for IPv6"),
            (
                "203.0.113.1:7", "ip route flush table main",
                "no path for IPv4 (wlan0: no route to the destination; wwan0: no default route)"
            ),
            (
                "203.0.113.1:7", "ip link set wlan0 down; ip link set wwan0 down",
                "no path: this machine has no usable default route (lo"
            ),
        ])
    func noPath(_ arguments: String, _ change: String, _ message: String) async throws {
        let result = try await TwoPaths.run(change + "\n\"$bin/mpconnect\" \(arguments) < /dev/null")
        #expect(result.status == 3)
        #expect(result.errors.split(separator: "\n").count == 1)
        if message.hasSuffix("(lo") {
            #expect(result.errors.contains("wlan0: down; wwan0: down"))
        } else {
            #expect(result.errors.contains(message))
        }
    }

    @Test(
        "mpconnect ends with 3 where there is no path at all, whether the destination is a name or an address",
        arguments: ["203.0.113.1:7", "unknown.example:7"])
    func noPathAtAll(_ destination: String) async throws {
        let result = try await TwoPaths.run(
            """
            echo '203.0.113.1 known' > hosts; mount --bind hosts /etc/hosts
            ip link set wlan0 down; ip link set wwan0 down
            "$bin/mpconnect" \(destination) < /dev/null
            """)
        #expect(result.status == 3, "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains("no path: this machine has no usable default route"))
        #expect(result.errors.contains("wait for one with --wait"))
    }

    @Test("mpconnect -v --report says once that it is connected")
    func verboseReport() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            echo hello | "$bin/mpconnect" -v --report 203.0.113.1:7000
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.components(separatedBy: "connected to 203.0.113.1:7000").count == 2)
        #expect(result.errors.contains("  resolution  "))
        #expect(result.errors.contains("  duration    "))
    }

    @Test("mpconnect says that a name is unknown, and ends with 1")
    func unknownHost() async throws {
        let result = try await TwoPaths.run(
            "echo '203.0.113.1 known' > hosts; mount --bind hosts /etc/hosts; \"$bin/mpconnect\" unknown.example:80 < /dev/null"
        )
        #expect(result.status == 1)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains("unknown.example:80: "))
        #expect(result.errors.contains("name"))
    }

    @Test("mppaths lists both in order of preference, with type, tags and their sources")
    func list() async throws {
        let result = try await TwoPaths.run("\"$bin/mppaths\" list --json; \"$bin/mppaths\"")
        #expect(result.status == 0, "\(result.errors)")
        let json = try #require(result.outputText.split(separator: "\n").first)
        let path = try #require(try Commands.objects(String(json)).first)
        #expect(path["status"] as? String == "satisfied")
        #expect(path["primary"] as? String == "wlan0")
        let interfaces = try #require(path["interfaces"] as? [[String: Any]])
        #expect(interfaces.map { $0["name"] as? String } == ["wlan0", "wwan0"])
        #expect(interfaces.map { $0["type"] as? String } == ["wifi", "cellular"])
        #expect(interfaces.map { $0["type_source"] as? String } == ["environment", "environment"])
        #expect(interfaces.map { $0["expensive"] as? Bool } == [false, true])
        #expect(interfaces.map { $0["expensive_source"] as? String } == ["assumed", "interface_type"])
        #expect(interfaces.map { $0["constrained"] as? Bool } == [false, false])
        #expect(interfaces.map { $0["supports_ipv4"] as? Bool } == [true, true])
        #expect(interfaces.map { $0["supports_ipv6"] as? Bool } == [true, false])
        #expect(
            interfaces.map { $0["gateways"] as? [String] } == [
                ["192.0.2.1", "2001:db8:1::1"], ["198.51.100.1"],
            ])
        #expect((interfaces[1]["addresses"] as? [String])?.contains("198.51.100.2/24") == true)
        #expect((path["excluded"] as? [[String: Any]])?.map { $0["reason"] as? String } == ["loopback"])
        #expect(result.outputText.contains("1. wlan0  wifi"))
        #expect(result.outputText.contains("2. wwan0  cellular"))
    }

    @Test("mppaths watch tells each change with its reasons: the silent loss of routes at link down too")
    func watch() async throws {
        let result = try await TwoPaths.run(
            """
            "$bin/mppaths" watch --json > updates 2> errors &
            watcher=$!
            primary_is() { [ "$(tail -n 1 updates | grep -o '"primary":[^,]*')" = "\\"primary\\":$1" ]; }
            wait_for "the first update" primary_is '"wlan0"'
            ip link set wlan0 down
            wait_for "wwan0" primary_is '"wwan0"'
            ip addr del 198.51.100.2/24 dev wwan0
            wait_for "no path" primary_is null
            ip addr add 198.51.100.2/24 dev wwan0
            ip route add default via 198.51.100.1 dev wwan0 metric 700
            wait_for "wwan0 again" primary_is '"wwan0"'
            kill $watcher
            wait $watcher || true
            cat updates; cat errors >&2
            """)
        #expect(result.errors == "")
        let updates = try Commands.objects(result.outputText)
        let generations = updates.compactMap { $0["generation"] as? Int }
        #expect(generations == generations.sorted())
        #expect(generations.first == 1)
        var primaries: [String] = []
        for update in updates {
            let primary = update["primary"] as? String ?? "none"
            if primaries.last != primary { primaries.append(primary) }
        }
        #expect(primaries == ["wlan0", "wwan0", "none", "wwan0"])
        let reasons = updates.flatMap {
            ($0["reasons"] as? [[String: Any]] ?? []).compactMap { $0["reason"] as? String }
        }
        #expect(reasons.first == "initial")
        #expect(Set(reasons).isSuperset(of: ["primary_changed", "path_lost", "path_appeared"]))
        #expect(updates.contains { $0["status"] as? String == "unsatisfied" })
    }

    @Test("mppaths watch ends when its reader goes")
    func watchReader() async throws {
        let result = try await TwoPaths.run(#""$bin/mppaths" watch | head -n 1"#, within: .seconds(20))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "#1 satisfied wlan0 (wifi) > wwan0 (cellular, expensive) | initial\n")
    }

    @Test("mppaths watch survives a storm of changes that overflows its queue, and ends up right")
    func storm() async throws {
        let result = try await TwoPaths.run(
            """
            "$bin/mppaths" watch --json > updates 2> errors &
            watcher=$!
            wait_for "the first update" grep -q primary updates
            kill -STOP $watcher
            for i in $(seq 3000); do echo "route add 203.0.113.$((i % 200 + 2))/32 via 192.0.2.1 metric $i"; done > many
            ip -force -batch many
            ip route del default dev wlan0
            ip -6 route del default dev wlan0
            kill -CONT $watcher
            wait_for "the route's loss" grep -q '"primary":"wwan0"' updates
            kill $watcher; wait $watcher || true
            cat errors
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "")
    }

    /// The names of the paths and, for each interface that is none, the reason.
    private func summary(_ path: [String: Any]) -> String {
        let names = (path["interfaces"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
        let excluded = (path["excluded"] as? [[String: Any]] ?? []).map {
            "\($0["name"] as? String ?? ""): \($0["reason"] as? String ?? "")"
        }
        return names.joined(separator: " > ") + " | " + excluded.joined(separator: ", ")
    }

    @Test("mppaths finds a path whose default route stands in another table, by the kernel's own answer")
    func otherTable() async throws {
        let result = try await TwoPaths.run(
            """
            ip link add eth5 type veth peer name e5 netns server
            ip addr add 203.0.113.130/25 dev eth5; ip link set eth5 up; server ip link set e5 up
            ip route add default via 203.0.113.129 dev eth5 table 77
            "$bin/mppaths" list --json
            ip rule add lookup 77
            MULTIPATH_INTERFACES="$MULTIPATH_INTERFACES eth5=wired" "$bin/mppaths" list --json
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            try Commands.objects(result.outputText).map(summary) == [
                "wlan0 > wwan0 | lo: loopback, eth5: no default route",
                "eth5 > wlan0 > wwan0 | lo: loopback",
            ])
    }

    @Test("mppaths and mpconnect keep to a tunnel that takes all traffic by rules, as wg-quick makes it")
    func tunnelByRule() async throws {
        let result = try await TwoPaths.run(
            """
            ip link add wg0 type veth peer name wire netns server
            ip addr add 203.0.113.200/32 dev wg0; ip link set wg0 up; server ip link set wire up
            ip route add default dev wg0 table 51820
            ip rule add not fwmark 51820 lookup 51820
            ip rule add lookup main suppress_prefixlength 0
            export MULTIPATH_INTERFACES="$MULTIPATH_INTERFACES wg0=tunnel"
            "$bin/mppaths" list --json
            "$bin/mpconnect" --connect-timeout 2s 203.0.113.1:7 < /dev/null
            """)
        #expect(result.status == 1)
        #expect(
            try Commands.objects(result.outputText).map(summary) == [
                "wg0 > wlan0 | lo: loopback, wwan0: behind the tunnel wg0"
            ], "wlan0 still has its IPv6")
        let attempts = result.errors.split(separator: "\n").dropFirst()
        #expect(!attempts.isEmpty)
        #expect(attempts.allSatisfy { $0.contains("attempt     wg0 ") }, "\(result.errors)")
    }

    @Test("mpconnect --listen takes a second path's join, and both ends report what each path carried")
    func twoSubflows() async throws {
        let result = try await TwoPaths.run(
            """
            server "$bin/mpconnect" --listen --json 203.0.113.1:7000 < <(sleep 4) > got 2> listener &
            wait_for "the listener" grep listening listener
            { head -c 8388608 /dev/zero; sleep 1; head -c 67108864 /dev/zero; } |
                "$bin/mpconnect" --mode aggregate --json 203.0.113.1:7000
            wait
            stat -c %s got
            cat listener >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "75497472\n")
        let reports = try Commands.objects(result.errors).filter { $0["event"] as? String == "report" }
        let client = try #require(reports.first?["paths"] as? [[String: Any]])
        #expect(client.map { $0["interface"] as? String } == ["wlan0", "wwan0"])
        let sent = client.compactMap { $0["bytes_sent"] as? Int }
        #expect(sent.allSatisfy { $0 > 0 }, "\(sent)")
        #expect(sent.reduce(0, +) >= 75_497_472)
        let server = try #require(reports.last?["paths"] as? [[String: Any]])
        // Those that only asked whether a path lives count as well.
        #expect(server.compactMap { $0["subflows"] as? Int }.reduce(0, +) >= 2)
    }

    @Test("mpconnect races every way of a multipath default route")
    func multipathRoute() async throws {
        let result = try await TwoPaths.run(
            """
            ip route flush default
            ip route add default nexthop via 192.0.2.1 dev wlan0 nexthop via 198.51.100.1 dev wwan0
            \(Commands.listener)
            silence w0
            echo hello | "$bin/mpconnect" --report 203.0.113.1:7000
            wait; cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        #expect(result.errors.contains("over wwan0"))
    }

    @Test("mppaths has an answer in an empty network namespace, and sees it filled")
    func emptyNamespace() async throws {
        let result = try await TwoPaths.run(
            """
            ip netns add empty
            ip netns exec empty "$bin/mppaths" list --json
            """)
        #expect(result.status == 0, "\(result.errors)")
        let path = try #require(try Commands.objects(result.outputText).first)
        #expect(path["status"] as? String == "unsatisfied")
        #expect(path["primary"] is NSNull)
    }

    @Test("mppaths watch shows after an overflow what there is, and nothing that has gone")
    func afterOverflow() async throws {
        let result = try await TwoPaths.run(
            """
            "$bin/mppaths" watch --json > updates 2> errors &
            watcher=$!
            wait_for "the first update" grep -q primary updates
            for offset in 0 1 2 3; do
                kill -STOP $watcher
                for i in $(seq $offset); do ip addr add 203.0.113.250/32 dev wlan0; ip addr del 203.0.113.250/32 dev wlan0; done
                for i in $(seq 200); do echo "addr add 203.0.113.$i/32 dev wlan0"; done > many
                ip -batch many
                sed "s/ add / del /" many > fewer
                ip -batch fewer
                kill -CONT $watcher
                # The last thing that happens, and the sign that all before has been read.
                ip addr add 198.51.100.$((offset + 50))/24 dev wwan0
                wait_for "the newest address" grep -q "198.51.100.$((offset + 50))/24" updates
                wait_for "what there is" bash -c '
                    # No consumer is woken when duplicate detection ends or an address grows old.
                    content() { grep -o "interfaces.*primary" | sed "s/\"state\":\"[a-z]*\"//g"; }
                    [ "$(tail -n 1 updates | content)" = "$("$bin/mppaths" list --json | content)" ]'
            done
            kill $watcher; wait $watcher || true
            cat errors
            """, within: .seconds(90))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "")
    }
}
