import PathCore

// A snapshot as text, nothing left out but the sources of the verdicts: so that a test can show and compare
// a whole one.

extension PathSnapshot {
    /// One line for each interface, paths first.
    var lines: [String] {
        interfaces.map(\.line) + excluded.map { "(\($0.interface.line)): \($0.reason)" }
    }
}

extension PathInterface {
    /// For example `2 eth0 wired IPv4 [192.0.2.2/24] via 192.0.2.1 metric 100`.
    var line: String {
        var words = ["\(index)", name, type.value.rawValue]
        if isExpensive { words.append("expensive") }
        if isConstrained { words.append("constrained") }
        if supportsIPv4 || supportsIPv6 { words.append(families) }
        words.append("[" + addresses.map(\.description).joined(separator: " ") + "]")
        if !gateways.isEmpty { words.append("via " + gateways.map(\.description).joined(separator: " ")) }
        if let metric { words.append("metric \(metric)") }
        return words.joined(separator: " ")
    }
}
