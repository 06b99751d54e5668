import PathCore

extension LinkConditions {
    /// The conditions as they would be written: `rtt=20ms,rate=50mbit`. What does nothing is left out.
    public var text: String {
        var parts: [String] = []
        if up.delay == down.delay, up.delay > .zero { parts.append("rtt=\(LabText.time(up.delay * 2))") }
        var (up, down) = (up, down)
        if up.delay == down.delay { (up.delay, down.delay) = (.zero, .zero) }
        let blackholes = (up.isBlackhole, down.isBlackhole)
        (up.isBlackhole, down.isBlackhole) = (false, false)
        if up == down {
            parts += up.texts
        } else {
            parts += up.texts.map { "up.\($0)" } + down.texts.map { "down.\($0)" }
        }
        switch blackholes {
        case (true, true): parts.append("blackhole=both")
        case (true, false): parts.append("blackhole=up")
        case (false, true): parts.append("blackhole=down")
        case (false, false): break
        }
        if middlebox != .none { parts.append("middlebox=\(middlebox.rawValue)") }
        if let natTimeout { parts.append("nat=\(LabText.time(natTimeout))") }
        return parts.isEmpty ? "clean" : parts.joined(separator: ",")
    }
}

extension DirectionConditions {
    fileprivate var texts: [String] {
        var parts: [String] = []
        if delay > .zero { parts.append("delay=\(LabText.time(delay))") }
        if jitter > .zero { parts.append("jitter=\(LabText.time(jitter))") }
        if jitterReorders { parts.append("reorder=jitter") }
        if let rate { parts.append("rate=\(LabText.rate(rate))") }
        if let trace { parts.append("rate=trace:\(trace.name)") }
        if rate != nil || trace != nil {
            switch queue {
            case .time(let time): parts.append("queue=\(LabText.time(time))")
            case .bytes(let bytes): parts.append("queue=\(bytes)b")
            case .coDel: parts.append("queue=codel")
            }
        }
        if let policing { parts.append("policer=\(LabText.rate(policing.rate))/\(policing.bucket)b") }
        if aggregation > .zero { parts.append("burst=\(LabText.time(aggregation))") }
        switch loss {
        case .random(let share): if share > 0 { parts.append("loss=\(LabText.share(share))") }
        case .bursts(let share, let length):
            parts += ["loss=\(LabText.share(share))", "burst=\(LabText.short(length))"]
        case .gilbertElliott(let model):
            let shares = [model.toBad, model.toGood, model.lossInBad, model.lossInGood]
            parts.append("gilbert=" + shares.map { LabText.share($0) }.joined(separator: "/"))
        }
        if duplication > 0 { parts.append("duplicate=\(LabText.share(duplication))") }
        if corruption > 0 { parts.append("corrupt=\(LabText.share(corruption))") }
        if reordering > 0 { parts.append("reorder=\(LabText.share(reordering))") }
        return parts
    }
}

extension LinkAction.Fault {
    /// The fault in the words that `LinkAction` reads.
    public var text: String {
        switch self {
        case .up(let on): on ? "up" : "down"
        case .plugged(let on): on ? "plug" : "unplug"
        case .carrier(let on): "carrier \(on ? "on" : "off")"
        case .addresses(let on): "address \(on ? "on" : "off")"
        case .routes(let on): "route \(on ? "on" : "off")"
        case .renumber: "renumber"
        case .metric(let metric): "metric \(metric)"
        case .forgetFlows: "nat forget"
        }
    }
}

extension LinkAction.Tag {
    /// The tag in the words that `LinkAction` reads.
    public var text: String {
        func words(_ name: String, _ said: Bool?) -> String {
            said.map { "\(name) \($0 ? "yes" : "no")" } ?? "\(name) auto"
        }
        return switch self {
        case .expensive(let said): words("expensive", said)
        case .constrained(let said): words("constrained", said)
        case .automatic: "auto"
        }
    }
}

extension LabText {
    static func time(_ time: Duration) -> String {
        let nanoseconds = Double(time.wholeNanoseconds)
        if nanoseconds >= 10e9 { return short(nanoseconds / 1e9) + "s" }
        return nanoseconds < 1e6 ? short(nanoseconds / 1e3) + "us" : short(nanoseconds / 1e6) + "ms"
    }

    static func rate(_ rate: Double) -> String {
        rate >= 1e6 ? short(rate / 1e6) + "mbit" : short(rate / 1e3) + "kbit"
    }

    static func share(_ share: Double) -> String { short(share * 100) + "%" }

    /// A number with three decimals at most.
    static func short(_ number: Double) -> String {
        let thousandths = Int((number * 1000).rounded())
        guard thousandths % 1000 != 0 else { return String(thousandths / 1000) }
        var fraction = String(thousandths % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(thousandths / 1000).\(fraction)"
    }
}
