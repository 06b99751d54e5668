import Foundation
import TestSupport
import Testing

@Suite(
    "With the real NetworkManager, mppaths", .serialized, .needsNamespaces,
    .needs("unshare", "ip", "dbus-daemon", "NetworkManager", "nmcli"))
struct NetworkManagerTagTests {
    @Test("tells that a connection has become metered or not, and outlives NetworkManager")
    func metered() async throws {
        let network = try await ManagedNetwork()
        try await network.run(
            "nmcli connection modify home ipv4.gateway 192.0.2.1 && nmcli device reapply wlan0")
        let folder = network.address.dropFirst("unix:path=".count).dropLast("/bus".count)
        // In its namespace wlan0 is a veth.
        try await network.run(
            "MULTIPATH_INTERFACES=wlan0=wifi \(Commands.mppaths) watch --json > $folder/updates 2>&1 &")
        func expense() throws -> String? {
            let text = (try? String(contentsOfFile: "\(folder)/updates", encoding: .utf8)) ?? ""
            guard let last = text.split(separator: "\n").last(where: { $0.hasSuffix("}") }) else {
                return nil
            }
            let update = try Commands.objects(String(last))[0]
            let paths = update["interfaces"] as? [[String: Any]] ?? []
            return paths.first.map {
                "\($0["name"] ?? "") \($0["expense"] ?? "") \($0["expensive_source"] ?? "")"
            }
        }
        try await Program.wait("what it says first") { try expense() == "wlan0 yes network_manager" }
        for (value, expected) in [("no", "wlan0 no network_manager"), ("yes", "wlan0 yes network_manager")] {
            try await network.run(
                "nmcli connection modify home connection.metered \(value) && nmcli device reapply wlan0")
            try await Program.wait("metered \(value)", within: .seconds(10)) { try expense() == expected }
        }
        // The path stays; only what NetworkManager said of it goes.
        try await network.run("stop_manager")
        try await Program.wait("the end of its word") { try expense() == "wlan0 unknown assumed" }
    }
}
