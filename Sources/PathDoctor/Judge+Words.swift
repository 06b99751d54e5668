import Multipath

// What is said of a fault.

extension Judge {
    var noPath: Diagnosis {
        let reasons = findings.omissions.map { "\($0.interface): \($0.reason)" }.joined(separator: "; ")
        return Diagnosis(
            .noPath, "There is no path to the Internet\(reasons.isEmpty ? "" : " (\(reasons))").",
            advice: "Bring an interface up, or wait for one; mppaths watch shows when it is there.")
    }

    /// Where no name server gave an address, there was nothing else to find out.
    var namesAlone: Diagnosis? {
        guard let system = findings.systemName, paths.allSatisfy({ $0.address == nil }) else { return nil }
        let all = [system] + paths.flatMap(\.names)
        guard all.allSatisfy(\.addresses.isEmpty) else { return nil }
        if let portal = paths.first(where: { if case .page = $0.portal { true } else { false } }) {
            return verdict(on: portal, .captivePortal)
        }
        if all.contains(where: { $0.answer == .noSuchName }) {
            return Diagnosis(
                .noSuchName, "No name server knows \(findings.host).",
                advice: "Check its spelling; a name of an office's network needs that network's VPN.")
        }
        let words = all.compactMap { if case .failed(let words) = $0.answer { words } else { nil } }.first
        return Diagnosis(
            .namesUnanswered,
            "No name server gives an address of \(findings.host): \(words ?? "it has none").",
            advice: "Try an address instead of the name; if that works, set another name server.")
    }

    var healthy: Diagnosis {
        let names = paths.map(\.interface)
        let speaks = paths.contains { $0.mptcp == .works }
        let by =
            speaks
            ? " by MPTCP"
            : findings.kernelSpeaksMPTCP
                ? ", by TCP: it does not speak MPTCP" : ", by TCP: this kernel has no MPTCP"
        var advice = ""
        let costly = paths.filter(\.isExpensive).map(\.interface)
        let spared = paths.filter(\.isConstrained).map(\.interface)
        if costly.count == names.count {
            advice += "\(names.count == 1 ? "The path costs" : "All paths cost") money."
        }
        if !spared.isEmpty {
            advice += "\(advice.isEmpty ? "" : " ")Data is to be saved on \(list(spared))."
        }
        if !speaks {
            advice +=
                "\(advice.isEmpty ? "" : " ")A connection can't change its path; it has to be made again when that fails."
        }
        return Diagnosis(
            .none,
            "All is well: \(list(names)) \(names.count == 1 ? "reaches" : "reach") \(destination)\(by).",
            advice: advice)
    }

    /// Where every path has this fault it is the host's, or lies before it; nil for what stays the paths' own.
    func common(_ fault: Diagnosis.Fault) -> Diagnosis? {
        let (first, all) = (paths[0], list(paths.map(\.interface)))
        switch fault {
        case .pathSilent:
            let answered = paths.contains { $0.names.contains { !$0.isUnanswered } }
            return answered
                ? Diagnosis(
                    .pathSilent,
                    "\(destination) does not answer over any path, though the paths carry other things.",
                    advice: "The host is down, or a firewall before it drops all; ask its operator.")
                : Diagnosis(
                    .pathSilent,
                    "Nothing answers over \(all): \(paths.count == 1 ? "the path is" : "the paths are") up, and carry nothing.",
                    advice:
                        "Wait, move, or plug another network in; if other hosts answer, \(findings.host) is down."
                )
        case .portBlocked:
            return Diagnosis(
                .portBlocked, "\(findings.host) answers, but not on port \(findings.port), over any path.",
                advice:
                    "A firewall at the host or of the provider drops that port; try another one, or ask its operator."
            )
        case .refused:
            return Diagnosis(
                .refused,
                "\(findings.host) refuses connections to port \(findings.port): nothing listens there.",
                advice: "Start the service, or check the port's number.")
        case .wrongCertificate:
            guard case .refused(let reason, let names) = first.tls else { return nil }
            return Diagnosis(
                .wrongCertificate,
                "The certificate at \(destination) is not one for \(findings.host): \(reason)\(whose(names)).",
                advice:
                    "Do not go on without verification: the server needs another certificate, or is another server."
            )
        case .packetsTooLarge:
            return Diagnosis(
                .packetsTooLarge,
                "Full packets to \(findings.host) are lost without a word, over every path; small ones arrive.",
                advice:
                    "The black hole is near the host; a smaller MTU on this machine works around it (\(shrink(first)))."
            )
        case .tlsFailed:
            return Diagnosis(
                .tlsFailed, "\(destination) speaks no TLS, over any path: \(failure(first)).",
                advice: "Check the port, and whether the service there is one of TLS; ask its operator.")
        case .mptcpDropped:
            return Diagnosis(
                .mptcpDropped, "Something before \(findings.host) drops packets with MPTCP; TCP passes.",
                advice: "Connections fall back to TCP by themselves after a moment.")
        default: return nil
        }
    }

    /// Why TLS failed.
    private func failure(_ path: PathFindings) -> String {
        switch path.tls {
        case .failed(let words): words
        case .plainHTTP(let line): "HTTP answers in the clear (\(line))"
        default: "nothing answers its first message"
        }
    }

    /// A command that makes packets smaller. An interface may be called almost anything.
    private func shrink(_ path: PathFindings) -> String {
        let isPlain = path.interface.utf8.allSatisfy { byte in
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@".utf8.contains(byte)
        }
        let name = isPlain ? path.interface : "'\(path.interface.replacing("'", with: "'\\''"))'"
        return "ip link set dev \(name) mtu 1280"
    }

    /// ` (it is for a.example and b.example)`
    private func whose(_ names: [String]) -> String {
        names.isEmpty ? "" : " (it is for \(list(Array(names.prefix(3)))))"
    }

    func verdict(on path: PathFindings, _ fault: Diagnosis.Fault) -> Diagnosis {
        let (sentence, advice) = words(path, fault)
        let alike = paths.filter { $0.interface != path.interface && self.fault(of: $0) == fault }.map(
            \.interface)
        let also = alike.isEmpty ? "" : "; the same goes for \(list(alike))"
        return Diagnosis(
            fault, path: alike.isEmpty || alike.count + 1 < paths.count ? path.interface : nil,
            sentence + also + elsewhere(path) + ".", advice: advice)
    }

    private func words(_ path: PathFindings, _ fault: Diagnosis.Fault) -> (sentence: String, advice: String) {
        let name = path.interface
        switch fault {
        case .flapping where path.paused:
            return (
                "\(name) carries nothing at times: for some seconds it did not, and then it did",
                "Its network has gaps: move nearer to its access point, or prefer another path."
            )
        case .flapping:
            return (
                "\(name) comes and goes: it was lost while this check ran",
                "Move nearer to its access point, or check its cable; until then prefer another path."
            )
        case .captivePortal: return portalWords(path)
        case .lyingNameServer:
            let lie = lie(of: path)
            let said = lie.map { "answers \($0.said)" } ?? "gives a wrong answer"
            var shown = ""
            if case .refused(_, let names) = path.tls { shown = ", where another host is\(whose(names))" }
            return (
                "The name server \(lie.map { "\($0.server)" } ?? "") of \(name) \(said) for \(findings.host)\(shown)",
                "Its answer is poisoned, or meant for that network alone: use another name server on \(name)."
            )
        case .pathSilent:
            return (
                "\(name) is up and carries nothing to \(destination)",
                "Leave that network, or reconnect to it; connections that follow their path move away by themselves."
            )
        case .familySilent:
            let (dead, alive) = path.deadAddress?.family == .ipv6 ? ("IPv6", "IPv4") : ("IPv4", "IPv6")
            return (
                "\(dead) carries nothing to \(destination) over \(name), and \(alive) does",
                "Each connection that tries \(dead) first waits for it; that network, or the host, should mend it or leave it out."
            )
        case .portBlocked:
            let how = path.tcp == .refused ? "refused" : "blocked"
            let example = findings.port == 443 ? "" : ", such as 443"
            return (
                "Port \(findings.port) is \(how) on \(name), where \(findings.host) answers otherwise",
                "A firewall of that network blocks it: use another path, or a port that passes\(example)."
            )
        case .refused:
            return ("\(findings.host) refuses port \(findings.port) over \(name)", "Check the port's number.")
        case .unreachable:
            var why = "no address of \(findings.host) fits the path"
            if case .unreachable(let words) = path.tcp { why = words }
            return (
                "\(name) does not lead to \(findings.host): \(why)",
                "Check whether the path and the host have a family of addresses, IPv4 or IPv6, in common."
            )
        case .packetsTooLarge:
            return (
                "Full packets are lost on \(name) without a word, and small ones arrive (a path MTU black hole)",
                "Set a smaller MTU there (\(shrink(path))), or net.ipv4.tcp_mtu_probing=1."
            )
        case .wrongCertificate:
            var (why, names): (String, [String]) = ("it is another host's", [])
            if case .refused(let reason, let shown) = path.tls { (why, names) = (reason, shown) }
            return (
                "\(name) leads to a host without \(findings.host)'s certificate: \(why)\(whose(names))",
                "Something in that network answers in the host's place: do not go on without verification."
            )
        case .tlsFailed:
            return (
                "TLS fails on \(name): \(failure(path))",
                "Something on the way, or the server, does not let TLS through."
            )
        case .mptcpStripped:
            return (
                "Something behind \(name) takes MPTCP out of packets",
                "Connections over \(name) are plain TCP and can't move; prefer another path for those that have to live."
            )
        case .mptcpDropped:
            return (
                "Something behind \(name) drops packets with MPTCP; TCP passes",
                "Connections over \(name) fall back to TCP after a moment, and can't move."
            )
        case .lossy:
            let share = Int((path.quality.loss * 100).rounded())
            return (
                "\(name) loses packets: \(share) % of \(path.quality.sent) handshakes lost a packet",
                "Move nearer to its access point, or use another path for what must be fast."
            )
        case .queueFull:
            return (
                "\(name) answers late, after \(median(path)), while \(rate(path)) pass over it: its queue is full (bufferbloat)",
                "Slow the transfer down, or send it over another path; a router with CoDel or CAKE mends it."
            )
        case .slow:
            return (
                "\(name) is slow: answers take \(median(path))", "Use another path for what must be fast."
            )
        case .idleForgotten:
            var time = "a while"
            if case .forgotten(let after) = path.idle { time = "\(Int(after.inSeconds.rounded())) s" }
            return (
                "Something behind \(name) forgets connections that are idle for \(time)",
                "Keep connections awake with a heartbeat below that, or by keepalive."
            )
        case .namesUnanswered:
            return (
                "The name servers of \(name) do not answer",
                "Set another name server there; names are found by the other paths' meanwhile."
            )
        case .none, .noPath, .noSuchName: return ("\(name) is well", "")
        }
    }

    private func portalWords(_ path: PathFindings) -> (sentence: String, advice: String) {
        var target = ""
        if case .page(_, let location?) = path.portal { target = " (\(location))" }
        return (
            "\(path.interface) is behind a captive portal\(target): HTTP answers where none was due",
            "Open a page in a browser over \(path.interface), and log in."
        )
    }

    private func median(_ path: PathFindings) -> String { path.quality.median?.shortText ?? "" }

    private func rate(_ path: PathFindings) -> String {
        let tenths = Int((path.traffic / 100_000).rounded())
        return "\(tenths / 10).\(tenths % 10) Mbit/s"
    }
}
