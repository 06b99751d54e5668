import CommandSupport
import Multipath

extension CheckFindings {
    /// The findings for people: a block of lines for each path, the verdict, and what to do. Safe for a terminal.
    public var text: String {
        var lines: [String] = []
        if let systemName { lines.append(Self.line("name", "\(systemName)")) }
        for path in paths { lines += path.lines(beside: self) }
        for omission in omissions { lines.append("\(omission.interface): \(omission.reason)") }
        let verdict = verdict
        lines += ["", verdict.sentence]
        if !verdict.advice.isEmpty { lines.append(verdict.advice) }
        return lines.map(TerminalText.safe).joined(separator: "\n")
    }

    fileprivate static func line(_ label: String, _ text: String) -> String {
        "  " + TerminalText.padded(label, to: 8) + text
    }
}

extension PathFindings {
    fileprivate func lines(beside findings: CheckFindings) -> [String] {
        var tags = [type.rawValue]
        if isExpensive { tags.append("expensive") }
        if isConstrained { tags.append("constrained") }
        var lines = ["\(interface) (\(tags.joined(separator: ", ")))"]
        func add(_ label: String, _ text: String?) {
            if let text { lines.append(CheckFindings.line(label, text)) }
        }
        for name in names {
            add("name", "\(name)\(findings.differs(name, from: self) ? ", unlike the others" : "")")
        }
        if let deadAddress { add("tcp", "no answer to \(deadAddress)") }
        add("tcp", words(tcp))
        add("mptcp", words(mptcp))
        add("tls", words(tls))
        add("rtt", quality.words)
        switch portal {
        case .none: break
        case .page(let status, let location): add("portal", "\(status)\(location.map { ", to \($0)" } ?? "")")
        case .proxy(let status): add("proxy", "\(status), from a host that does not exist")
        }
        switch packets {
        case .untried: add("mtu", pathMTU.map { "\($0) bytes, as the kernel knows it" })
        case .arrive: add("mtu", pathMTU.map { "\($0) bytes, and full packets arrive" })
        case .lost: add("mtu", "full packets are lost, small ones arrive")
        }
        switch idle {
        case .remembered(let time): add("idle", "still there after \(Int(time.inSeconds)) s")
        case .forgotten(let time): add("idle", "forgotten after \(Int(time.inSeconds)) s")
        case .ended(let time):
            add("idle", "not known: the server ended the connection after \(Int(time.inSeconds)) s")
        case nil: break
        }
        return lines
    }

    private func words(_ tcp: TCPFinding) -> String {
        let target = address.map { " to \($0)" } ?? ""
        return switch tcp {
        case .untried: "no address to try"
        case .connected(let time): "connected\(target) in \(time.shortText)"
        case .refused: "refused\(target)"
        case .silent: "no answer\(target)\(answersElsewhere ? "; other ports answer" : "")"
        case .unreachable(let words): "\(words)\(target)"
        }
    }

    private func words(_ mptcp: MPTCPFinding) -> String? {
        switch mptcp {
        case .untried: nil
        case .works: "yes"
        case .absent: "no: the answer has no MPTCP option"
        case .dropped: "no: packets with the option get no answer"
        case .withheld: "not known: this kernel leaves it out for a while (net.mptcp.blackhole_timeout)"
        }
    }

    private func words(_ tls: TLSFinding) -> String? {
        switch tls {
        case .untried: nil
        case .trusted(let version, let names, let time):
            "\(version) in \(time.shortText), certificate for \(names.prefix(3).joined(separator: ", "))"
        case .refused(let reason, _): reason
        case .plainHTTP(let line): "HTTP answers in the clear: \(line)"
        case .failed(let words): "failed: \(words)"
        case .silent: "no answer to its first message"
        }
    }
}

extension CheckFindings {
    /// Whether a name server's answer has nothing in common with any other's.
    func differs(_ name: NameFinding, from path: PathFindings) -> Bool {
        guard !name.addresses.isEmpty || name.answer == .noSuchName else { return false }
        let others = (paths.flatMap(\.names) + [systemName].compactMap { $0 }).filter { $0 != name }
            .flatMap(\.addresses)
        return !others.isEmpty && Set(others).isDisjoint(with: name.addresses)
    }
}

extension QualityFinding {
    fileprivate var words: String? {
        guard sent > 0 else { return nil }
        let lost = "\(sent - roundTrips.count) of \(sent) lost"
        guard let median, let shortest, let longest else { return lost }
        return "\(median.shortText) (\(shortest.shortText) to \(longest.shortText)), \(lost)"
    }
}

extension NameFinding: CustomStringConvertible {
    /// `192.0.2.53 says 203.0.113.1 in 12 ms`
    public var description: String {
        let who = server.map(\.description) ?? "the system"
        return switch answer {
        case .addresses(let addresses) where addresses.isEmpty:
            "\(who) says that there is no address, in \(duration.shortText)"
        case .addresses(let addresses):
            "\(who) says \(addresses.prefix(4).map(\.description).joined(separator: ", "))"
                + "\(addresses.count > 4 ? " and more" : "") in \(duration.shortText)"
        case .noSuchName: "\(who) says that there is no such name, in \(duration.shortText)"
        case .failed(let words): "\(who) does not answer: \(words)"
        }
    }
}
