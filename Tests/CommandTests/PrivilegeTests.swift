import Foundation
import TestSupport
import Testing

/// What mpconnect does with many rights, and with few, when Wi-Fi dies in silence.
@Suite("With more or fewer rights", .needsNamespaces, .needs("ip", "unshare", "nft", "setpriv", "setcap"))
struct PrivilegeTests {
    /// A conversation of which the second half comes after Wi-Fi's death.
    private func conversation(_ client: String) -> String {
        """
        server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
        listener=$!
        wait_for "the listener" grep listening listener
        {
            echo one; wait_for "the first half" grep -q one got
            wait_for "a second path" grep -q 'wwan0 joined' events
            silence w0
            echo two; wait_for "the second half" grep -q two got
        } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \(client) -v --report 203.0.113.1:7000 2> events
        wait $listener
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

    @Test("mpconnect survives it for an ordinary user, by the file's capability alone", .needsRoot)
    func fileCapability() async throws {
        let result = try await TwoPaths.run(
            """
            cp "$bin/mpconnect" steerer
            setcap cap_net_admin+ep steerer
            """ + "\n"
                + conversation(
                    """
                    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all ./steerer
                    """), as: .root)
        expectSteered(result)
    }

    @Test("mpconnect without any right carries all, changes nothing and says why")
    func noRight() async throws {
        let result = try await TwoPaths.run(
            """
            server "$bin/mpconnect" --listen 203.0.113.1:7000 < /dev/null > got 2> listener &
            listener=$!
            wait_for "the listener" grep listening listener
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
        #expect(reason.contains("CAP_NET_ADMIN") && reason.contains("setcap cap_net_admin+ep"))
    }
}
