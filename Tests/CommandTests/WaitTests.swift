import Foundation
import TestSupport
import Testing

@Suite("mpconnect --wait", .needsNamespaces, .needs("ip"))
struct WaitTests {
    @Test("says why there is no path, and connects when one appears")
    func appears() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            ip link set wlan0 down; ip link set wwan0 down
            echo hello | "$bin/mpconnect" --wait --connect-timeout 30s --report 203.0.113.1:7000 2> errors &
            client=$!
            wait_for "the wait" grep 'waiting for a path' errors
            ip link set wwan0 up
            ip route add default via 198.51.100.1 dev wwan0 metric 700
            wait $client
            wait_for "what was sent" grep hello got
            cat got; cat errors >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        let lines = result.errors.split(separator: "\n")
        #expect(lines.first?.hasPrefix("mpconnect: waiting for a path (") == true)
        #expect(lines.first?.contains("wlan0: down; wwan0: down") == true)
        #expect(result.errors.contains("over wwan0"))
    }

    @Test("ends with 3 when no path appears in time, and tells each interface's reason as JSON")
    func timeout() async throws {
        let result = try await TwoPaths.run(
            """
            ip link set wlan0 down
            "$bin/mpconnect" --wait --prohibit cellular --connect-timeout 1s --json 203.0.113.1:7000 < /dev/null
            """)
        #expect(result.status == 3)
        let objects = try Commands.objects(result.errors)
        #expect(objects.map { $0["event"] as? String } == ["waiting", "report"])
        let interfaces = try #require(objects.first?["interfaces"] as? [[String: Any]])
        #expect(
            interfaces.contains { $0["interface"] as? String == "wlan0" && $0["reason"] as? String == "down" }
        )
        #expect(
            interfaces.contains {
                $0["interface"] as? String == "wwan0" && $0["refusal"] as? String == "prohibited_type"
            }, "\(interfaces)")
        #expect((objects.last?["error"] as? String)?.contains("no allowed path within") == true)
    }

    @Test("without it there is no waiting")
    func without() async throws {
        let result = try await TwoPaths.run(
            """
            ip link set wlan0 down; ip link set wwan0 down
            "$bin/mpconnect" --connect-timeout 30s 203.0.113.1:7000 < /dev/null
            """, within: .seconds(20))
        #expect(result.status == 3)
        #expect(!result.errors.contains("waiting"))
    }
}
