import Foundation
import TestSupport
import Testing

/// What mpconnect does with many rights, and with few, when Wi-Fi dies in silence.
@Suite("With more or fewer rights", .needsNamespaces, .needs("ip", "unshare", "nft", "setpriv", "setcap"))
struct PrivilegeTests {
    /// What a client and its listener said, and what is left of them.
    private func conversation(_ client: String) -> String {
        """
        \(TwoPaths.conversation("\(client) -v --report"))
        cat got events /proc/sys/net/mptcp/path_manager >&2
        id -u
        """
    }

    private func expectSteered(_ result: Program.Result) {
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.hasPrefix("one\ntwo\n"), "\(result.errors)")
        #expect(result.errors.contains("moved from wlan0 to wwan0: no "), "\(result.errors)")
        #expect(result.errors.contains("control     steers each connection's subflows"), "\(result.errors)")
        #expect(result.errors.hasSuffix("kernel\n"), "the setting is what it was: \(result.errors)")
    }

    @Test("mpconnect survives it without root, in a user namespace that owns its network")
    func rootless() async throws {
        expectSteered(try await TwoPaths.run(conversation(#""$bin/mpconnect""#), as: .nobody))
    }

    /// Another user than root, in a script.
    private static let user =
        "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all"

    @Test(
        "mpconnect survives it for an ordinary user to whom a service manager gave the capability", .needsRoot
    )
    func ambientCapability() async throws {
        let user =
            "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin"
        expectSteered(try await TwoPaths.run(conversation(#"\#(user) "$bin/mpconnect""#), as: .root))
    }

    @Test("a program whose file has the capability carries all, changes nothing and says why", .needsRoot)
    func fileCapability() async throws {
        let result = try await TwoPaths.run(
            """
            cp "$bin/mpconnect" steerer
            setcap cap_net_admin+ep steerer
            \(Commands.listener)
            listener=$!
            echo hello | \(Self.user) ./steerer --json 203.0.113.1:7000
            wait $listener
            cat got /proc/sys/net/mptcp/path_manager
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\nkernel\n")
        let report = try #require(try Commands.objects(result.errors).last)
        #expect(report["transport"] as? String == "mptcp")
        #expect(report["control"] as? String == "observe_only")
        #expect(report["control_limit"] as? String == "elevated_program")
    }

    @Test(
        "a program whose file has the capability can be killed at any moment, and the setting stays",
        .needsRoot)
    func killed() async throws {
        let result = try await TwoPaths.run(
            """
            cp "$bin/subflow-probe" steerer
            setcap cap_net_admin+ep steerer
            for round in $(seq 30); do
                \(Self.user) ./steerer make 10000000 - > begun &
                victim=$!
                wait_for "the first socket" grep -q begun begun
                sleep 0.00$((RANDOM % 9))
                kill -KILL $victim
                wait $victim 2> /dev/null || true
                cat /proc/sys/net/mptcp/path_manager
                echo kernel > /proc/sys/net/mptcp/path_manager
            done
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == String(repeating: "kernel\n", count: 30))
    }

    @Test("a program whose file has the capability believes no note in its user's folder", .needsRoot)
    func forgedNote() async throws {
        let result = try await TwoPaths.run(
            """
            cp "$bin/subflow-probe" steerer
            setcap cap_net_admin+ep steerer
            mkdir -p /run/user/65534
            chown 65534 /run/user/65534
            echo userspace > /proc/sys/net/mptcp/path_manager
            \(Self.user) "$bin/subflow-probe" forge /run/user/65534/swift-multipath
            ls /run/user/65534/swift-multipath | wc -l
            \(Self.user) ./steerer time 1 > /dev/null
            cat /proc/sys/net/mptcp/path_manager
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "1\nuserspace\n")
    }

    @Test(
        "another user can't hold up those that may steer, whatever names and locks that user takes",
        .needsRoot)
    func lockHolder() async throws {
        let result = try await TwoPaths.run(
            """
            \(Self.user) "$bin/subflow-probe" claim > claimed &
            wait_for "the other user" grep -q claimed claimed
            "$bin/subflow-probe" time 10
            kill $!
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
        let figures = result.outputText.split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
        try #require(figures.count == 2, "\(result.outputText)")
        print(
            "measured: \(figures[0]) of 10 sockets are steered beside another user's locks, the slowest in \(figures[1]) µs"
        )
        #expect(figures[0] == 10)
        // It was a quarter of a second for each.
        #expect(figures[1] < 200_000)
    }

    @Test(
        "a connection whose socket did not get the userspace path manager is observed, and no path of it is given up"
    )
    func withoutPathManager() async throws {
        let result = try await TwoPaths.run(
            """
            "$bin/subflow-probe" claim > claimed &
            wait_for "the setting's lock" grep -q claimed claimed
            holder=$!
            server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
            listener=$!
            wait_for "the listener" grep listening listener
            repeated() { server nft list table inet silence | grep -q 'packets \\([4-9]\\|[0-9][0-9]\\)'; }
            {
                echo one; wait_for "the first half" grep -q one got
                kill $holder
                silence w0
                server nft insert rule inet silence input iifname w0 counter
                echo two; wait_for "the kernel's repetitions" repeated
                server nft delete table inet silence
                wait_for "the second half" grep -q two got
            } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \
                "$bin/mpconnect" -v --report 203.0.113.1:7000 2> events
            wait $listener
            cat got
            cat events >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\n")
        #expect(
            result.errors.contains("only observes: another process holds the path manager's setting"),
            "\(result.errors)")
        // Orders that the kernel refuses led to the first within a second, and to the connection's end.
        #expect(
            !result.errors.contains("no path is left") && !result.errors.contains("moved from"),
            "\(result.errors)")
    }

    @Test("mpconnect without any right carries all, changes nothing and says why")
    func noRight() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            listener=$!
            echo hello |
                setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$bin/mpconnect" --json 203.0.113.1:7000
            wait $listener
            cat got /proc/sys/net/mptcp/path_manager
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\nkernel\n")
        let report = try #require(try Commands.objects(result.errors).last)
        #expect(report["transport"] as? String == "mptcp")
        #expect(report["control"] as? String == "observe_only")
        #expect(report["control_limit"] as? String == "no_privilege")
        let reason = try #require(report["control_reason"] as? String)
        #expect(reason.contains("AmbientCapabilities=CAP_NET_ADMIN") && !reason.contains("setcap"))
    }

    @Test("mppaths for a user without threads left says so, and does not trap", .needsRoot)
    func withoutThreads() async throws {
        // A user of its own, whose threads no other program counts. With the fewest Swift's own threads can't start,
        // for which its runtime waits.
        let result = try await Program.run(
            [
                "bash", "-c",
                """
                for most in $(seq 3 16); do
                    status=0
                    setpriv --reuid 64321 --regid 64321 --clear-groups prlimit --nproc=$most \
                        timeout -s KILL 3 "$bin/mppaths" > /dev/null 2> >(sed "s/^/$most /" >&2) || status=$?
                    echo $status
                done
                """,
            ], environment: ["bin": Program.products], within: .seconds(120))
        let statuses = result.outputText.split(separator: "\n")
        #expect(
            statuses.count == 14 && statuses.allSatisfy { ["0", "1", "125", "137"].contains($0) },
            "\(statuses)")
        #expect(statuses.last == "0")
        #expect(
            result.errors.contains("make the event thread: Resource temporarily unavailable"),
            "\(result.errors)")
    }
}
