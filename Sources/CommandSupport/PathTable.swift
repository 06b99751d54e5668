import Multipath

/// A snapshot for people.
public enum PathTable {
    /// One paragraph a path, in order of preference, then what disqualifies the rest.
    public static func text(_ snapshot: PathSnapshot) -> String {
        var lines: [String] = []
        if snapshot.interfaces.isEmpty { lines.append("No path to the Internet.") }
        for (position, interface) in snapshot.interfaces.enumerated() {
            lines.append(
                "\(position + 1). \(interface.name)  \(interface.type.value.rawValue) (\(words(interface.type.source)))"
            )
            lines.append("   expensive    \(expense(interface.expensive))")
            lines.append("   constrained  \(tag(interface.constrained))")
            lines.append("   addresses    \(list(interface.addresses))")
            lines.append("   gateways     \(list(interface.gateways.map { $0.inZone(0) }))")
            lines.append(
                "   routes       \(interface.families)"
                    + (interface.metric.map { ", metric \($0)" } ?? ""))
        }
        if !snapshot.excluded.isEmpty {
            lines.append("No path:")
            let width = snapshot.excluded.map(\.interface.name.count).max() ?? 0
            for excluded in snapshot.excluded {
                let padding = String(repeating: " ", count: width - excluded.interface.name.count)
                lines.append("   \(excluded.interface.name)\(padding)  \(excluded.reason)")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// One line for a change: `#2 satisfied wlan0 > wwan0 | wlan0 path appeared`
    public static func line(_ snapshot: PathSnapshot) -> String {
        let order = snapshot.interfaces.map { interface in
            let tags = [
                interface.isExpensive ? "expensive" : nil, interface.isConstrained ? "constrained" : nil,
            ]
            let text = ([interface.type.value.rawValue] + tags.compactMap { $0 }).joined(separator: ", ")
            return "\(interface.name) (\(text))"
        }
        let reasons = snapshot.changes.map(\.description).joined(separator: "; ")
        return (["#\(snapshot.generation)", snapshot.status.rawValue, order.joined(separator: " > ")])
            .filter { !$0.isEmpty }.joined(separator: " ") + " | " + reasons
    }

    private static func tag(_ verdict: Verdict<Bool>) -> String {
        "\(verdict.value ? "yes" : "no") (\(words(verdict.source)))"
    }

    private static func expense(_ verdict: Verdict<Expense>) -> String {
        let value = verdict.value.rawValue.split(separator: "_").joined(separator: " ")
        return "\(value) (\(words(verdict.source)))"
    }

    private static func words(_ source: VerdictSource) -> String {
        switch source {
        case .configuration: "configured"
        case .environment: "\(InterfaceOverrides.environmentVariable)"
        case .settings: "mppaths set"
        case .networkManager: "NetworkManager"
        case .dhcpLease: "the telephone says so in its DHCP lease"
        case .interfaceType: "from its type"
        case .driver: "from its driver"
        case .kernel: "the kernel says so"
        case .name: "guessed from its name"
        case .assumed: "nobody says otherwise"
        }
    }

    private static func list(_ items: [some CustomStringConvertible]) -> String {
        items.isEmpty ? "none" : items.map(\.description).joined(separator: ", ")
    }
}
