import Foundation
import Testing

/// A network for a test that has a namespace of its own.
public enum TestNetwork {
    /// One path that nothing changes by itself: `eth0`, a cable to `far0`, with 192.0.2.2 and 2001:db8::2 and a
    /// default route for each.
    public static func make() async throws {
        try await ip(
            "link add eth0 type veth peer name far0", "link set eth0 addrgenmode none",
            "address add 192.0.2.2/24 dev eth0",
            "address add 2001:db8::2/64 dev eth0 nodad", "link set eth0 up", "link set far0 up",
            "route add default via 192.0.2.1 dev eth0 metric 100",
            "route add ::/0 via 2001:db8::1 dev eth0 metric 100")
    }

    /// Changes it, by lines of `ip -batch`.
    public static func ip(_ commands: String...) async throws { try await ip(commands) }

    public static func ip(_ commands: [String]) async throws {
        let result = try await Program.run(
            ["ip", "-batch", "-"], input: Data(commands.joined(separator: "\n").utf8), within: .seconds(120))
        #expect(result.status == 0, "\(result.errors)")
    }
}
