import Multipath

/// A snapshot for people.
public enum PathTable {
    /// One paragraph a path, in order of preference, then what disqualifies the rest.
    ///
    /// - Parameters:
    ///   - columns: how wide a line may be. Lists break into more lines; nothing is cut.
    ///   - showsAll: whether each interface made by software is told by itself, however many there are.
    public static func text(_ snapshot: PathSnapshot, columns: Int = 80, showsAll: Bool = false) -> String {
        var lines: [String] = []
        if snapshot.interfaces.isEmpty { lines.append("No path to the Internet.") }
        for (position, interface) in snapshot.interfaces.enumerated() {
            lines += paragraph(position + 1, interface, columns)
        }
        lines += rest(snapshot, columns, showsAll)
        if !snapshot.nameServers.isEmpty {
            lines += row("The system's DNS ", snapshot.nameServers.map(\.description), columns)
        }
        return lines.joined(separator: "\n")
    }

    private static func paragraph(_ number: Int, _ interface: PathInterface, _ columns: Int) -> [String] {
        var lines = ["\(number). \(PathWords.safe(interface.name))  \(PathWords.type(interface.type))"]
        func add(_ title: String, _ items: [String]) {
            guard !items.isEmpty else { return }
            lines += row("   " + TerminalText.padded(title, to: 13), items, columns)
        }
        add("expensive", [PathWords.expense(interface.expensive)])
        add("constrained", [PathWords.tag(interface.constrained)])
        add("link", PathWords.link(interface))
        add("addresses", interface.addresses.map(PathWords.address))
        add("routes", [interface.families] + (interface.metric.map { ["metric \($0)"] } ?? []))
        add("gateways", interface.gateways.map { $0.inZone(0).description })
        add("DNS", interface.nameServers.map(\.description))
        return lines
    }

    private static func row(_ title: String, _ items: [String], _ columns: Int) -> [String] {
        let indent = TerminalText.width(title)
        let pieces = TerminalText.wrapped(items, to: max(20, columns - indent))
        return pieces.enumerated().map { position, piece in
            (position == 0 ? title : String(repeating: " ", count: indent)) + piece
        }
    }

    /// How many interfaces made by software are told one by one before they are told together.
    private static let fewVirtual = 3

    private static func rest(_ snapshot: PathSnapshot, _ columns: Int, _ showsAll: Bool) -> [String] {
        guard !snapshot.excluded.isEmpty else { return [] }
        let software = snapshot.excluded.filter { $0.interface.type.value == .virtual }
        let isSummarized = !showsAll && software.count > fewVirtual
        let told = snapshot.excluded.filter { !isSummarized || $0.interface.type.value != .virtual }
        let names = told.map { PathWords.safe($0.interface.name) }
        let nameWidth = names.map(TerminalText.width).max() ?? 0
        // Loopback's type and reason are the same word.
        let types = told.map { $0.reason == .loopback ? "" : $0.interface.type.value.rawValue }
        let typeWidth = types.map(\.count).max() ?? 0
        var lines = ["No path:"]
        for (excluded, (name, type)) in zip(told, zip(names, types)) {
            let cells = [TerminalText.padded(name, to: nameWidth), TerminalText.padded(type, to: typeWidth)]
            lines.append(
                "   " + (cells.filter { !$0.isEmpty } + [PathWords.reason(excluded)]).joined(separator: "  "))
        }
        if isSummarized {
            let start = "   \(software.count)\(told.isEmpty ? "" : " more") made by software: "
            let families = families(of: software.map { PathWords.safe($0.interface.name) })
            lines.append(TerminalText.truncated(start + families.joined(separator: ", "), to: columns))
        }
        return lines
    }

    /// Names that differ only behind a common beginning are told once: `veth… (11)`.
    private static func families(of names: [String]) -> [String] {
        let stems = names.map { name in
            ["veth", "br-", "docker", "vnet", "tap", "cali", "lxc", "dummy"].first(where: name.hasPrefix)
                ?? name
        }
        var told: [String] = []
        for (position, stem) in stems.enumerated() where stems.firstIndex(of: stem) == position {
            let count = stems.count { $0 == stem }
            told.append(count > 1 ? "\(stem)… (\(count))" : names[position])
        }
        return told
    }

    /// One line for a change: `#2 satisfied wlan0 > wwan0 | wlan0 path appeared`
    public static func line(_ snapshot: PathSnapshot) -> String {
        let order = snapshot.interfaces.map { interface in
            let tags = [
                interface.isExpensive ? "expensive" : nil, interface.isConstrained ? "constrained" : nil,
            ]
            let text = ([interface.type.value.rawValue] + tags.compactMap { $0 }).joined(separator: ", ")
            return "\(PathWords.safe(interface.name)) (\(text))"
        }
        let reasons = snapshot.changes.map(PathWords.change).joined(separator: "; ")
        return (["#\(snapshot.generation)", snapshot.status.rawValue, order.joined(separator: " > ")])
            .filter { !$0.isEmpty }.joined(separator: " ") + " | " + reasons
    }
}
