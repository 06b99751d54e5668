// A scenario's text: a line for each link and for each thing that happens.
//
//     about    Wi-Fi gets worse, then goes.            what it shows
//     link     wlan0 wifi rtt=20ms,rate=50mbit         NAME TYPE[,TAG…] [CONDITIONS]
//     link     wwan0 cellular,expensive rtt=60ms
//     families ipv6                                    both where there is no such line
//     server   tcp                                     the server speaks only TCP
//     congestion bbr                                   or client=bbr, server=cubic,client=reno
//     at 3s wlan0 blackhole                            TIME LINK CONDITIONS or a fault; LINK may be all
//     from 3s to 9s wlan0 loss=0%..30%,rtt=20ms..1s    conditions that go evenly from one to the other
//     every 10s                                        then everything starts over
//
// A tag is expensive, not-expensive, constrained, tap or metric=N. What follows # is a comment. Times count
// from the command's start. Without a link line there are wlan0 and wwan0.

import PathCore

/// A lab and what happens in it, under a name.
public struct Scenario: Sendable, Hashable {
    /// By which it is asked for.
    public var name: String
    /// One line on what it shows.
    public var about = ""
    /// What the lab is made of, and what happens in it.
    public var plan = LabPlan()

    /// Reads a scenario's text. An error names the line.
    public init(parsing text: String, name: String) throws(LabTextError) {
        self.name = name
        var links: [LabPlan.Link] = []
        var events: [(line: Int, text: Substring)] = []
        var seen: [String: Int] = [:]
        for (position, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let number = position + 1
            let content = (line.split(separator: "#", omittingEmptySubsequences: false).first ?? "").trimmed
            guard !content.isEmpty else { continue }
            do throws(LabTextError) {
                let (keyword, rest) = content.word
                if ["about", "families", "server", "congestion", "every"].contains(keyword) {
                    if let first = seen.updateValue(number, forKey: String(keyword)) {
                        throw LabTextError("'\(keyword)' is there twice, first in line \(first)")
                    }
                }
                switch keyword {
                case "about": about = String(rest)
                case "link": links.append(try Self.link(rest))
                case "families":
                    guard let families = LabPlan.Families(rawValue: String(rest)) else {
                        throw LabTextError("'\(rest)' should be both, ipv4 or ipv6")
                    }
                    plan.families = families
                case "server":
                    guard rest == "tcp" || rest == "mptcp" else {
                        throw LabTextError("'\(rest)' should be mptcp or tcp")
                    }
                    plan.server.isTCPOnly = rest == "tcp"
                case "congestion": plan.congestion = try CongestionPlan(parsing: rest)
                case "every": plan.timeline.period = try Self.time(rest, "every")
                case "at", "from": events.append((number, content))
                default:
                    throw LabTextError(
                        "'\(keyword)' begins no line; expected about, link, families, server, congestion, at, from or every"
                    )
                }
            } catch {
                throw error.at("line \(number)")
            }
        }
        if !links.isEmpty { plan.links = links }
        // Links may be named before the line that makes them.
        for event in events {
            do throws(LabTextError) {
                plan.timeline.events += try Self.events(event.text, line: event.line, plan)
            } catch {
                throw error.at("line \(event.line)")
            }
        }
        try plan.validate()
    }

    private static func link(_ text: Substring) throws(LabTextError) -> LabPlan.Link {
        let (name, afterName) = text.word
        let (tags, conditions) = afterName.word
        guard !tags.isEmpty else {
            throw LabTextError("expected link NAME TYPE CONDITIONS, as in link wlan0 wifi rtt=20ms")
        }
        let words = tags.split(separator: ",", omittingEmptySubsequences: false)
        let types: [InterfaceType] = [.wired, .wifi, .cellular, .tunnel, .other]
        guard let type = types.first(where: { $0.rawValue == words[0] }) else {
            let list = types.map(\.rawValue)
            throw LabTextError(
                """
                '\(words[0])' is no type of link\(Suggestion.hint(for: words[0], among: list)); \
                there are \(list.joined(separator: ", "))
                """)
        }
        var link = LabPlan.Link(String(name), type)
        for word in words.dropFirst() {
            switch word {
            case "expensive": link.isExpensive = true
            case "not-expensive": link.isExpensive = false
            case "constrained": link.isConstrained = true
            case "tap": link.isTap = true
            default:
                guard word.hasPrefix("metric="), let metric = UInt32(word.dropFirst(7)), metric > 0 else {
                    throw LabTextError(
                        "'\(word)' is no tag; there are expensive, not-expensive, constrained, tap and metric=N"
                    )
                }
                link.metric = metric
            }
        }
        link.conditions = try ConditionChange(parsing: conditions).applied(to: LinkConditions())
        return link
    }

    private static func events(
        _ text: Substring, line: Int, _ plan: LabPlan
    ) throws(LabTextError) -> [Timeline.Event] {
        let (keyword, rest) = text.word
        let (startText, afterStart) = rest.word
        let start = try time(startText, String(keyword))
        var event = Timeline.Event(
            start: start, link: "", kind: .action(.fault(.renumber)), place: "line \(line)")
        let linkText: Substring
        if keyword == "at" {
            let (link, action) = afterStart.word
            linkText = link
            event.kind = .action(try LinkAction(parsing: action))
        } else {
            let (to, afterTo) = afterStart.word
            guard to == "to" else {
                throw LabTextError("expected from TIME to TIME LINK KEY=FIRST..LAST, but found '\(to)'")
            }
            let (endText, afterEnd) = afterTo.word
            let (link, ramp) = afterEnd.word
            linkText = link
            let (first, last) = try Self.ramp(ramp)
            event.kind = .ramp(from: first, to: last, end: try time(endText, "to"))
        }
        if linkText == "all" {
            return plan.links.map { link in
                var copy = event
                copy.link = link.name
                return copy
            }
        }
        event.link = try plan.link(linkText).name
        return [event]
    }

    private static func ramp(
        _ text: Substring
    ) throws(LabTextError) -> (from: ConditionChange, to: ConditionChange) {
        var (from, to) = (ConditionChange([]), ConditionChange([]))
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1)
            let ends = pair.count == 2 ? pair[1].components(around: "..") : nil
            guard let ends else {
                throw LabTextError("'\(part)' should read KEY=FIRST..LAST, as in loss=0%..30%")
            }
            let first = try ConditionSetting(parsing: "\(pair[0])=\(ends.0)")
            let last = try ConditionSetting(parsing: "\(pair[0])=\(ends.1)")
            guard first.interpolated(to: last, 0.5) != nil else {
                throw LabTextError("'\(part)' has nothing between its ends; use 'at' for a sudden change")
            }
            from.settings.append(first)
            to.settings.append(last)
        }
        guard !from.settings.isEmpty else {
            throw LabTextError("expected KEY=FIRST..LAST, as in loss=0%..30%")
        }
        return (from, to)
    }

    private static func time(_ text: Substring, _ keyword: String) throws(LabTextError) -> Duration {
        guard let time = LabText.time(text), time > .zero || keyword == "at" || keyword == "from" else {
            throw LabTextError(
                "'\(text)' after '\(keyword)' is no time; write one as in 3s or 500ms")
        }
        return time
    }
}

extension Substring {
    /// The first word, and what follows it.
    fileprivate var word: (first: Substring, rest: Substring) {
        let text = trimmed
        let end = text.firstIndex { $0.isWhitespace } ?? text.endIndex
        return (text[..<end], text[end...].trimmed)
    }

    /// What is before and after a separator; nil where it isn't there.
    fileprivate func components(around separator: String) -> (Substring, Substring)? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(separator) {
                return (self[..<start], self[index(start, offsetBy: separator.count)...])
            }
            start = index(after: start)
        }
        return nil
    }
}
