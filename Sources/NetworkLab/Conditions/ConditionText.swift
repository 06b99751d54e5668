// Conditions as a person writes them: `rtt=20ms,rate=50mbit,loss=1%`. A change names only what changes.

import PathCore

/// What is wrong with a text, and what was expected.
public struct LabTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what was expected, in words.
    public var description: String

    /// An error with its words.
    public init(_ description: String) { self.description = description }

    /// The same error, with the place of the text in front.
    public func at(_ place: String) -> LabTextError { LabTextError("\(place): \(description)") }
}

/// Which way of a link a setting is for.
public enum LinkSide: String, Sendable, Hashable, CaseIterable {
    /// Both ways.
    case both
    /// From the client.
    case up
    /// To the client.
    case down
}

/// One `key=value` of a condition.
public struct ConditionSetting: Sendable, Hashable {
    /// What is set.
    public enum Key: String, Sendable, Hashable, CaseIterable {
        /// A time: half of it is the delay of each way.
        case rtt
        /// A time: how long a packet is under way.
        case delay
        /// A time: how far a packet's delay strays, at most.
        case jitter
        /// Bits a second, or a recorded trace.
        case rate
        /// A time, bytes, or `codel`: what may wait for the rate's sake.
        case queue
        /// A share: packets that are lost.
        case loss
        /// Losses in a row on average, or a time: Wi-Fi's aggregation.
        case burst
        /// Losses by two states (Gilbert and Elliott).
        case gilbert
        /// A share: packets that arrive twice.
        case duplicate
        /// A share: packets that arrive with one bit changed.
        case corrupt
        /// A share of packets that later ones pass, or `jitter`: packets pass each other by that.
        case reorder
        /// Which ways nothing arrives, without an error.
        case blackhole
        /// A rate, and bytes that may exceed it: what is more is dropped.
        case policer
        /// What a box on the way does to MPTCP.
        case middlebox
        /// A time: how long a NAT remembers an idle flow.
        case nat
        /// A kind of network: all its conditions.
        case preset
    }

    /// What it is set to.
    public enum Value: Sendable, Hashable {
        /// A span of time.
        case time(Duration)
        /// Bits a second; nil is unlimited.
        case rate(Double?)
        /// A number of bytes.
        case bytes(Int)
        /// From 0 to 1.
        case share(Double)
        /// A number of packets.
        case count(Double)
        /// Two states of loss.
        case gilbertElliott(DirectionConditions.GilbertElliott)
        /// Packets may overtake each other by their jitter.
        case jitterReorders
        /// Nil is neither.
        case side(LinkSide?)
        /// What a box on the way does to MPTCP.
        case middlebox(LinkConditions.Middlebox)
        /// Rates that were recorded, one for each way.
        case traces(up: RateTrace, down: RateTrace)
        /// A queue that CoDel manages (RFC 8289).
        case coDel
        /// Nil is no policer.
        case policing(DirectionConditions.Policing?)
        /// All conditions of a kind of network.
        case preset(LinkPreset)
        /// A NAT's patience; nil is no NAT.
        case nat(Duration?)
    }

    /// What is set.
    public var key: Key
    /// Which way it holds for.
    public var side: LinkSide
    /// What it is set to.
    public var value: Value

    /// Reads one setting: `loss=1%`, `up.rate=5mbit`, or a bare word: `blackhole`, or a preset's.
    public init(parsing text: Substring) throws(LabTextError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        var name = parts[0].trimmed
        var side = LinkSide.both
        for candidate in [LinkSide.up, .down] where name.hasPrefix("\(candidate.rawValue).") {
            side = candidate
            name = name.dropFirst(candidate.rawValue.count + 1)
        }
        if parts.count == 1, side == .both, let preset = LinkPreset(rawValue: String(name)) {
            (key, self.side, value) = (.preset, .both, .preset(preset))
            return
        }
        guard let key = Key(rawValue: String(name)) else {
            let keys = Key.allCases.map(\.rawValue)
            throw LabTextError(
                """
                '\(name)' is no condition\(Suggestion.hint(for: name, among: keys)); there are \
                \(keys.joined(separator: ", ")), and up. or down. before most
                """)
        }
        guard side == .both || key.hasSides else {
            throw LabTextError("'\(key.rawValue)' is for the whole link; leave '\(side.rawValue).' out")
        }
        self.key = key
        self.side = side
        guard parts.count == 2 else {
            guard key == .blackhole else {
                throw LabTextError("'\(text.trimmed)' has no value; write \(key.example)")
            }
            value = .side(.both)
            return
        }
        // A bare number could be meant in more than one unit, and 20 seconds are no round trip.
        if let unit = key.unit, let number = LabText.number(parts[1].trimmed), number > 0 {
            let name = text.trimmed
            throw LabTextError("'\(name)' has no unit (did you mean '\(name)\(unit)'?); \(key.expectation)")
        }
        if key == .rate, parts[1].trimmed.hasPrefix("trace:") {
            let traces = try RateTrace.read(String(parts[1].trimmed.dropFirst(6)))
            value = .traces(up: traces.up, down: traces.down)
            return
        }
        guard let value = key.value(parts[1].trimmed) else {
            throw LabTextError("'\(text.trimmed)' has a bad value; \(key.expectation), as in \(key.example)")
        }
        self.value = value
    }
}

extension ConditionSetting.Key {
    fileprivate var hasSides: Bool { ![.rtt, .blackhole, .middlebox, .nat, .preset].contains(self) }

    fileprivate var example: String {
        switch self {
        case .rtt: "rtt=20ms"
        case .delay: "delay=10ms"
        case .jitter: "jitter=5ms"
        case .rate: "rate=50mbit"
        case .queue: "queue=100ms, queue=64kb or queue=codel"
        case .loss: "loss=1%"
        case .burst: "burst=8 or burst=4ms"
        case .gilbert: "gilbert=1%/25%"
        case .duplicate: "duplicate=1%"
        case .corrupt: "corrupt=0.1%"
        case .reorder: "reorder=1%"
        case .blackhole: "blackhole=both"
        case .middlebox: "middlebox=strip"
        case .policer: "policer=10mbit or policer=10mbit/64kb"
        case .nat: "nat=30s"
        case .preset: "preset=lte"
        }
    }

    /// The unit that a number without one most likely stands for; nil where a bare number is a value.
    fileprivate var unit: String? {
        switch self {
        case .rtt, .delay, .jitter, .queue: "ms"
        case .rate: "mbit"
        case .loss, .duplicate, .corrupt, .reorder: "%"
        case .policer: "mbit"
        case .burst, .gilbert, .blackhole, .middlebox, .nat, .preset: nil
        }
    }

    fileprivate var expectation: String {
        switch self {
        case .rtt, .delay, .jitter: "expected a time with its unit, an hour at most"
        case .rate: "expected bits a second with their unit, kbit, mbit or gbit, 'unlimited', or trace:FILE"
        case .queue: "expected a time with its unit, a size in b, kb or mb, or 'codel'"
        case .loss, .duplicate, .corrupt: "expected a share from 0% to 100%"
        case .reorder: "expected a share from 0% to 100%, or 'jitter'"
        case .burst:
            "expected how many packets are lost in a row on average, 1 or more, or for how long packets are gathered"
        case .gilbert: "expected TO-BAD%/TO-GOOD%, then perhaps /LOSS-IN-BAD% and /LOSS-IN-GOOD%"
        case .blackhole: "expected both, up, down or none"
        case .middlebox: "expected none, strip, drop or block-joins"
        case .policer: "expected bits a second with their unit, then perhaps /SIZE, or 'off'"
        case .nat: "expected how long an idle flow is remembered, or 'off'"
        case .preset: "expected one of \(LinkPreset.allCases.map(\.rawValue).joined(separator: ", "))"
        }
    }

    fileprivate func value(_ text: Substring) -> ConditionSetting.Value? {
        switch self {
        case .rtt, .delay, .jitter: return LabText.time(text).map { .time($0) }
        case .rate: return text == "unlimited" ? .rate(nil) : LabText.rate(text).map { .rate($0) }
        case .queue:
            if text == "codel" { return .coDel }
            return LabText.time(text).map { .time($0) } ?? LabText.bytes(text).map { .bytes($0) }
        case .loss, .duplicate, .corrupt: return LabText.share(text).map { .share($0) }
        case .reorder: return text == "jitter" ? .jitterReorders : LabText.share(text).map { .share($0) }
        case .burst:
            guard let count = LabText.number(text) else {
                return LabText.time(text).flatMap { $0 <= .seconds(1) ? .time($0) : nil }
            }
            return count >= 1 && count <= 10_000 ? .count(count) : nil
        case .gilbert:
            let texts = text.split(separator: "/", omittingEmptySubsequences: false)
            let shares = texts.compactMap { LabText.share($0) }
            guard shares.count == texts.count, (2...4).contains(shares.count) else { return nil }
            return .gilbertElliott(
                .init(
                    toBad: shares[0], toGood: shares[1], lossInBad: shares.count > 2 ? shares[2] : 1,
                    lossInGood: shares.count > 3 ? shares[3] : 0))
        case .blackhole:
            return text == "none" ? .side(nil) : LinkSide(rawValue: String(text)).map { .side($0) }
        case .middlebox: return LinkConditions.Middlebox(rawValue: String(text)).map { .middlebox($0) }
        case .policer:
            if text == "off" { return .policing(nil) }
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let rate = LabText.rate(parts[0]) else { return nil }
            guard parts.count == 2 else { return .policing(.init(rate: rate)) }
            return LabText.bytes(parts[1]).map { .policing(.init(rate: rate, bucket: $0)) }
        case .preset: return LinkPreset(rawValue: String(text)).map { .preset($0) }
        case .nat: return text == "off" ? .nat(nil) : LabText.time(text).map { .nat($0) }
        }
    }
}

/// A list of settings, in order.
public struct ConditionChange: Sendable, Hashable {
    /// In the order in which they are applied.
    public var settings: [ConditionSetting]

    /// Reads `KEY=VALUE,KEY=VALUE…`. An empty text changes nothing.
    public init(parsing text: some StringProtocol) throws(LabTextError) {
        settings = []
        guard !Substring(text).trimmed.isEmpty else { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            settings.append(try ConditionSetting(parsing: Substring(part)))
        }
    }

    /// A change of these settings, in order.
    public init(_ settings: [ConditionSetting]) { self.settings = settings }

    /// The conditions after the change.
    public func applied(to conditions: LinkConditions) -> LinkConditions {
        var conditions = conditions
        for setting in settings { setting.apply(to: &conditions) }
        return conditions
    }
}

extension ConditionSetting {
    fileprivate func apply(to conditions: inout LinkConditions) {
        switch (key, value) {
        case (.blackhole, .side(let which)):
            conditions.up.isBlackhole = which == .both || which == .up
            conditions.down.isBlackhole = which == .both || which == .down
        case (.middlebox, .middlebox(let box)): conditions.middlebox = box
        case (.nat, .nat(let timeout)): conditions.natTimeout = timeout
        case (.preset, .preset(let preset)): if let all = try? preset.conditions { conditions = all }
        case (.rate, .traces(let up, let down)):
            if side != .down { (conditions.up.trace, conditions.up.rate) = (up, nil) }
            if side != .up { (conditions.down.trace, conditions.down.rate) = (down, nil) }
        default:
            if side != .down { apply(to: &conditions.up) }
            if side != .up { apply(to: &conditions.down) }
        }
    }

    private func apply(to direction: inout DirectionConditions) {
        switch (key, value) {
        case (.rtt, .time(let time)): direction.delay = time / 2
        case (.delay, .time(let time)): direction.delay = time
        case (.jitter, .time(let time)): direction.jitter = time
        case (.rate, .rate(let rate)): (direction.rate, direction.trace) = (rate, nil)
        case (.policer, .policing(let policing)): direction.policing = policing
        case (.burst, .time(let time)): direction.aggregation = time
        case (.queue, .coDel): direction.queue = .coDel
        case (.queue, .time(let time)): direction.queue = .time(time)
        case (.queue, .bytes(let bytes)): direction.queue = .bytes(bytes)
        case (.loss, .share(let share)):
            if case .bursts(_, let length) = direction.loss {
                direction.loss = .bursts(share: share, length: length)
            } else {
                direction.loss = .random(share)
            }
        case (.burst, .count(let length)):
            direction.loss = .bursts(share: direction.loss.share, length: length)
        case (.gilbert, .gilbertElliott(let model)): direction.loss = .gilbertElliott(model)
        case (.duplicate, .share(let share)): direction.duplication = share
        case (.corrupt, .share(let share)): direction.corruption = share
        case (.reorder, .share(let share)): direction.reordering = share
        case (.reorder, .jitterReorders): direction.jitterReorders = true
        default: preconditionFailure("a \(key) can't be \(value)")
        }
    }

    /// The setting between this one and `other`, `share` of the way; nil where there is nothing between them.
    func interpolated(to other: ConditionSetting, _ share: Double) -> ConditionSetting? {
        func between(_ from: Double, _ to: Double) -> Double { from + (to - from) * share }
        var result = self
        switch (value, other.value) {
        case (.time(let from), .time(let to)):
            let nanoseconds = between(Double(from.wholeNanoseconds), Double(to.wholeNanoseconds))
            result.value = .time(.nanoseconds(Int64(nanoseconds)))
        case (.rate(let from?), .rate(let to?)): result.value = .rate(between(from, to))
        case (.bytes(let from), .bytes(let to)):
            result.value = .bytes(Int(between(Double(from), Double(to))))
        case (.share(let from), .share(let to)): result.value = .share(between(from, to))
        case (.count(let from), .count(let to)): result.value = .count(between(from, to))
        default: return nil
        }
        return result
    }
}

/// Numbers with their units, as they stand in flags and scenario files.
enum LabText {
    /// A time of an hour at most, in the forms of `Duration(parsing:)`; zero too.
    static func time(_ text: Substring) -> Duration? {
        if let number = scaled(text, [("ms", 1), ("us", 1), ("s", 1), ("", 1)]), number == 0 { return .zero }
        guard let time = Duration(parsing: text), time <= .seconds(3600) else { return nil }
        return time
    }

    /// Bits a second with their unit, from 1 kbit up.
    static func rate(_ text: Substring) -> Double? {
        guard let rate = scaled(text, [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)]), rate >= 1e3,
            rate <= 1e12
        else { return nil }
        return rate
    }

    static func bytes(_ text: Substring) -> Int? {
        guard let bytes = scaled(text, [("kb", 1e3), ("mb", 1e6), ("b", 1)]), bytes >= 1, bytes <= 1e9 else {
            return nil
        }
        return Int(bytes)
    }

    /// A percentage, as a share from 0 to 1.
    static func share(_ text: Substring) -> Double? {
        guard let share = scaled(text, [("%", 0.01)]), share <= 1 else { return nil }
        return share
    }

    static func number(_ text: Substring) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) else {
            return nil
        }
        return Double(text)
    }

    private static func scaled(_ text: Substring, _ units: [(suffix: String, factor: Double)]) -> Double? {
        for unit in units where text.hasSuffix(unit.suffix) {
            if let number = number(text.dropLast(unit.suffix.count)) { return number * unit.factor }
        }
        return nil
    }
}

extension Substring {
    /// Without spaces at both ends.
    var trimmed: Substring {
        var rest = self
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
