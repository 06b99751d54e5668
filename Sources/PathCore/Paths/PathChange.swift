/// One reason why a snapshot differs from the one before it.
public struct PathChange: Sendable, Hashable, CustomStringConvertible {
    /// What kind of change it is.
    public enum Reason: String, Sendable, Hashable {
        /// The first snapshot a consumer sees.
        case initial
        /// The machine woke from sleep: what was known of the paths may be old.
        case resumed
        /// An interface has become a path.
        case pathAppeared = "path_appeared"
        /// An interface is no path any more.
        case pathLost = "path_lost"
        /// Another path is the preferred one.
        case primaryChanged = "primary_changed"
        /// The paths stand in another order.
        case orderChanged = "order_changed"
        /// The same name, another interface: unplugged and plugged in again.
        case interfaceReplaced = "interface_replaced"
        /// An interface has another name.
        case interfaceRenamed = "interface_renamed"
        /// A path's type is another one.
        case typeChanged = "type_changed"
        /// A path's cost, or its source, is another one.
        case expensiveChanged = "expensive_changed"
        /// Whether data is to be saved on a path, or the source, is another one.
        case constrainedChanged = "constrained_changed"
        /// A budget for a path is spent, or is no longer.
        case budgetChanged = "budget_changed"
        /// A path's addresses have changed.
        case addressesChanged = "addresses_changed"
        /// A path's gateways have changed.
        case gatewaysChanged = "gateways_changed"
        /// A path's metric is another one.
        case metricChanged = "metric_changed"
        /// A path supports other address families.
        case familiesChanged = "families_changed"
        /// The name servers have changed.
        case nameServersChanged = "name_servers_changed"
        /// Another Wi-Fi network.
        case ssidChanged = "ssid_changed"
        /// A path's signal begins to fade, or does no longer.
        case signalChanged = "signal_changed"
        /// Another interface carries the tunnel's packets.
        case carrierChanged = "carrier_changed"
        /// An interface that is no path came, went, or is none for another reason now.
        case excludedChanged = "excluded_changed"
    }

    /// What kind of change it is.
    public var reason: Reason
    /// The interface concerned; nil where the change is about all of them.
    public var interface: String?
    /// What it was and what it is, or why.
    public var detail: String?

    /// A change.
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
        if resumes != old.resumes { changes.append(PathChange(.resumed)) }
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
        if nameServers != old.nameServers {
            changes.append(
                PathChange(
                    .nameServersChanged,
                    detail: "were \(list(old.nameServers)), are \(list(nameServers))"))
        }
        return changes + excludedChanges(since: old)
    }

    private func excludedChanges(since old: PathSnapshot) -> [PathChange] {
        // Only those for which a consumer is woken: the others come and go by the hundred.
        let (excluded, oldExcluded) = (significantExcluded, old.significantExcluded)
        let before = Dictionary(oldExcluded.map { ($0.interface.index, $0) }) { first, _ in first }
        let now = Dictionary(excluded.map { ($0.interface.index, $0) }) { first, _ in first }
        var changes: [PathChange] = []
        for new in excluded where before[new.interface.index] != new {
            // One that was a path until now is already told as lost.
            guard !old.interfaces.contains(where: { $0.index == new.interface.index }) else { continue }
            changes.append(
                PathChange(.excludedChanged, interface: new.interface.name, detail: "\(new.reason)"))
        }
        for lost in oldExcluded where now[lost.interface.index] == nil {
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
        // With its source, which may be all that differs.
        func source<Value>(_ verdict: Verdict<Value>) -> String {
            verdict.source.rawValue + (verdict.inheritedFrom.map { " of \($0)" } ?? "")
        }
        compare(.interfaceRenamed, \.name) { $0 }
        compare(.typeChanged, \.type) { "\($0.value.rawValue) by \(source($0))" }
        compare(.expensiveChanged, \.expensive) {
            $0.value.rawValue.split(separator: "_").joined(separator: " ") + " by \(source($0))"
        }
        compare(.constrainedChanged, \.constrained) { "\($0.value ? "yes" : "no") by \(source($0))" }
        compare(.budgetChanged, \.spentBudgets) {
            $0.isEmpty ? "none spent" : "spent: " + $0.map(\.description).sorted().joined(separator: "; ")
        }
        compare(.familiesChanged, \.families) { $0 }
        compare(.addressesChanged, \.significant.addresses, list)
        compare(.gatewaysChanged, \.gateways, list)
        compare(.metricChanged, \.metric) { $0.map(String.init) ?? "none" }
        compare(.nameServersChanged, \.nameServers, list)
        compare(.ssidChanged, \.ssid) { $0 ?? "none" }
        compare(.signalChanged, \.quality.isFading) { $0 ? "fading" : "steady" }
        compare(.carrierChanged, \.carrier) { $0 ?? "none" }
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

private func list(_ items: [some CustomStringConvertible]) -> String {
    items.isEmpty ? "none" : items.map(\.description).joined(separator: " ")
}
