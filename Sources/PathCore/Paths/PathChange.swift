/// One reason why a snapshot differs from the one before it.
public struct PathChange: Sendable, Hashable, CustomStringConvertible {
    public enum Reason: String, Sendable, Hashable {
        /// The first snapshot a consumer sees.
        case initial
        case pathAppeared = "path_appeared"
        case pathLost = "path_lost"
        case primaryChanged = "primary_changed"
        case orderChanged = "order_changed"
        /// The same name, another interface: unplugged and plugged in again.
        case interfaceReplaced = "interface_replaced"
        case interfaceRenamed = "interface_renamed"
        case typeChanged = "type_changed"
        case expensiveChanged = "expensive_changed"
        case constrainedChanged = "constrained_changed"
        case addressesChanged = "addresses_changed"
        case gatewaysChanged = "gateways_changed"
        case metricChanged = "metric_changed"
        case familiesChanged = "families_changed"
        /// An interface that is no path came, went, or is none for another reason now.
        case excludedChanged = "excluded_changed"
    }

    public var reason: Reason
    /// The interface concerned; nil where the change is about all of them.
    public var interface: String?
    /// What it was and what it is, or why.
    public var detail: String?

    public init(_ reason: Reason, interface: String? = nil, detail: String? = nil) {
        self.reason = reason
        self.interface = interface
        self.detail = detail
    }

    public var description: String {
        let words = reason.rawValue.split(separator: "_").joined(separator: " ")
        return [interface, words].compactMap { $0 }.joined(separator: " ")
            + (detail.map { " (\($0))" } ?? "")
    }
}

extension PathSnapshot {
    /// Why this snapshot differs from an earlier one, the most important reasons first. A consumer that
    /// skipped snapshots in between compares the two it saw, so a reason is never lost with them.
    public func changes(since old: PathSnapshot?) -> [PathChange] {
        guard let old else { return [PathChange(.initial)] }
        var changes: [PathChange] = []
        if old.primary?.name != primary?.name {
            changes.append(
                PathChange(
                    .primaryChanged, interface: primary?.name,
                    detail: "was \(old.primary?.name ?? "none"), is \(primary?.name ?? "none")"))
        }
        let before = Dictionary(old.interfaces.map { ($0.index, $0) }) { first, _ in first }
        let now = Dictionary(interfaces.map { ($0.index, $0) }) { first, _ in first }
        var replaced: Set<String> = []
        for lost in old.interfaces where now[lost.index] == nil {
            if let successor = interfaces.first(where: { $0.name == lost.name }) {
                replaced.insert(lost.name)
                changes.append(
                    PathChange(
                        .interfaceReplaced, interface: lost.name,
                        detail: "index was \(lost.index), is \(successor.index)"))
            } else {
                let reason = excluded.first { $0.interface.index == lost.index }?.reason.description
                changes.append(PathChange(.pathLost, interface: lost.name, detail: reason ?? "gone"))
            }
        }
        for new in interfaces where before[new.index] == nil && !replaced.contains(new.name) {
            changes.append(PathChange(.pathAppeared, interface: new.name))
        }
        for new in interfaces {
            if let former = before[new.index] { changes += new.changes(since: former) }
        }
        let kept = old.interfaces.map(\.index).filter { now[$0] != nil }
        if kept != interfaces.map(\.index).filter({ before[$0] != nil }) {
            changes.append(
                PathChange(.orderChanged, detail: interfaces.map(\.name).joined(separator: ", ")))
        }
        return changes + excludedChanges(since: old)
    }

    private func excludedChanges(since old: PathSnapshot) -> [PathChange] {
        let before = Dictionary(old.excluded.map { ($0.interface.index, $0) }) { first, _ in first }
        let now = Dictionary(excluded.map { ($0.interface.index, $0) }) { first, _ in first }
        var changes: [PathChange] = []
        for new in excluded where before[new.interface.index] != new {
            guard new.isNoteworthy || before[new.interface.index]?.isNoteworthy == true else { continue }
            // One that was a path until now is already told as lost.
            guard !old.interfaces.contains(where: { $0.index == new.interface.index }) else { continue }
            changes.append(
                PathChange(.excludedChanged, interface: new.interface.name, detail: "\(new.reason)"))
        }
        for lost in old.excluded where lost.isNoteworthy && now[lost.interface.index] == nil {
            // One that is a path now, or plugged in again, is already told under its name.
            guard !interfaces.contains(where: { $0.index == lost.interface.index }),
                interface(named: lost.interface.name) == nil
            else { continue }
            changes.append(PathChange(.excludedChanged, interface: lost.interface.name, detail: "gone"))
        }
        return changes
    }
}

extension PathInterface {
    /// What differs from the same interface earlier.
    fileprivate func changes(since old: PathInterface) -> [PathChange] {
        var changes: [PathChange] = []
        func compare<Value: Equatable>(
            _ reason: PathChange.Reason, _ value: (PathInterface) -> Value, _ text: (Value) -> String
        ) {
            let (was, isNow) = (value(old), value(self))
            guard was != isNow else { return }
            changes.append(
                PathChange(reason, interface: name, detail: "was \(text(was)), is \(text(isNow))"))
        }
        func list(_ items: [some CustomStringConvertible]) -> String {
            items.isEmpty ? "none" : items.map(\.description).joined(separator: " ")
        }
        // With its source, which may be all that differs.
        func tag(_ verdict: Verdict<Bool>) -> String {
            "\(verdict.value ? "yes" : "no") by \(verdict.source.rawValue)"
        }
        compare(.interfaceRenamed, \.name) { $0 }
        compare(.typeChanged, \.type) { "\($0.value.rawValue) by \($0.source.rawValue)" }
        compare(.expensiveChanged, \.expensive, tag)
        compare(.constrainedChanged, \.constrained, tag)
        compare(.familiesChanged, \.families) { $0 }
        compare(.addressesChanged, \.addresses, list)
        compare(.gatewaysChanged, \.gateways, list)
        compare(.metricChanged, \.metric) { $0.map(String.init) ?? "none" }
        return changes
    }

    /// The families it carries, for people.
    public var families: String {
        switch (supportsIPv4, supportsIPv6) {
        case (true, true): "IPv4, IPv6"
        case (true, false): "IPv4"
        case (false, true): "IPv6"
        case (false, false): "none"
        }
    }
}
