// Reports for people: `description` is one line, `text` is all there is to say, in lines.

extension Transport: CustomStringConvertible {
    /// `mptcp`, or `tcp (fallback: peer, whose answer had no MPTCP)`
    public var description: String {
        switch fallbackReason {
        case nil: "mptcp"
        case .peer: "tcp (fallback: peer, whose answer had no MPTCP)"
        case .kernel: "tcp (fallback: kernel, which has no MPTCP here)"
        case .middlebox: "tcp (fallback: middlebox, which seems to drop SYNs with MPTCP)"
        case .blackholeMemory: "tcp (fallback: blackhole_memory, the kernel's, of dropped SYNs with MPTCP)"
        case .afterHandshake: "tcp (fallback: after_handshake, by a segment without MPTCP's option)"
        case .disabled: "tcp (fallback: disabled, as asked)"
        }
    }
}

extension EstablishmentReport: CustomStringConvertible {
    /// `connected to 192.0.2.1:80 over wlan0 by mptcp in 21 ms`
    public var description: String {
        "connected to \(remote) over \(path) by \(transport) in \(duration.shortText)"
    }

    /// How the connection came about, to the last attempt, and why the winner won.
    public var text: String {
        (raceLines + ReportLine.lines(transport, control, marking)).joined(separator: "\n")
    }

    /// The text without the transport.
    package var raceLines: [String] {
        let addresses = addresses.map(\.description).joined(separator: ", ")
        var lines = [description, ReportLine.line("resolution", "\(resolution.shortText): \(addresses)")]
        lines += attempts.map { ReportLine.line("attempt", "\($0)") }
        lines += refutedAnswers.map { ReportLine.line("refuted", "\($0)") }
        if let winText { lines.append(ReportLine.line("winner", winText)) }
        lines += omissions.map { ReportLine.line("left out", "\($0)") }
        return lines
    }

    /// `wwan0 mptcp 192.0.2.1:443: the first choice, wlan0 mptcp 192.0.2.1:443, had not answered after 251 ms`
    private var winText: String? {
        guard let winner, let first = attempts.first, let winReason else { return nil }
        let others = attempts.count - 1
        let why =
            switch winReason {
            case .firstChoice where others == 0: "the first choice, and nothing else was tried"
            case .firstChoice: "the first choice, ready before \(others) other\(others == 1 ? "" : "s")"
            case .firstChoiceFailed: "the first choice, \(first.name), failed: \(first.verdict)"
            case .firstChoiceSilent:
                "the first choice, \(first.name), had not answered after \(first.duration.shortText)"
            case .firstChoiceUnconfirmed:
                "the first choice, \(first.name), was not confirmed after \(first.duration.shortText)"
            }
        return "\(winner.name): \(why)"
    }
}

extension RefutedAnswer: CustomStringConvertible {
    /// `203.0.113.66 by SystemResolver, over wlan0: TLS: the certificate is for other names`
    public var description: String { "\(address) by \(resolver), over \(path): \(reason)" }
}

extension AttemptReport: CustomStringConvertible {
    /// `wlan0 mptcp 192.0.2.1:443 at 0 ms for 251 ms: gave no answer`
    public var description: String {
        func milliseconds(_ duration: Duration) -> Int64 { (duration.wholeNanoseconds + 500_000) / 1_000_000 }
        return "\(name) at \(milliseconds(startedAfter)) ms for \(milliseconds(duration)) ms: \(verdict)"
    }

    fileprivate var name: String { "\(path) \(transport.rawValue) \(endpoint)" }

    fileprivate var verdict: String {
        switch outcome {
        case .won: "won"
        case .cancelled where connectedAfter != nil: "connected, but not confirmed when the race ended"
        case .cancelled: "no answer yet when the race ended"
        case .failed(let reason): reason
        }
    }
}

extension ConnectionError: CustomStringConvertible {
    /// The destination, what went wrong, and for a lack of paths every interface with its reason.
    public var description: String {
        let destination = HostPort(host: host, port: port)
        guard attempts.isEmpty, !omissions.isEmpty else { return "\(destination): \(reason)" }
        let list = omissions.map(\.description).joined(separator: "; ")
        return "\(destination): \(reason) (\(list))"
    }

    /// The same, with a line for each attempt.
    public var text: String { ([description] + attemptLines).joined(separator: "\n") }

    package var attemptLines: [String] { attempts.map { ReportLine.line("attempt", "\($0)") } }
}

extension TransferReport: CustomStringConvertible {
    /// `mptcp: wlan0: 1024 bytes sent, 0 received, RTT 20 ms; wwan0: 0 bytes sent, 2048 received, RTT 41 ms`
    public var description: String {
        "\(transport): " + paths.map(\.description).joined(separator: "; ")
    }

    /// What carried the connection's bytes: the transport, how far it is steered, each path's part, and how long.
    public var text: String { lines.joined(separator: "\n") }

    package var lines: [String] {
        ReportLine.lines(transport, control, marking) + paths.map { ReportLine.line("path", "\($0)") }
            + moves.map { ReportLine.line("move", "\($0)") }
            + (isBetterOnNewConnection
                ? [ReportLine.line("next", "a new connection would be faster: the first subflow has ended")]
                : [])
            + [ReportLine.line("duration", duration.shortText)]
    }
}

extension TransferReport.PathTransfer: CustomStringConvertible {
    /// `wlan0: 1024 bytes sent, 8192 received, 512 sent again, RTT 20 ms`
    public var description: String {
        let again = bytesRetransmitted > 0 ? ", \(bytesRetransmitted) sent again" : ""
        let unmarked = unmarkedSubflows > 0 ? ", \(unmarkedSubflows) of \(subflows) subflows unmarked" : ""
        return "\(path): \(bytesSent) bytes sent, \(bytesReceived) received\(again), "
            + "RTT \(smoothedRTT.shortText)\(unmarked)"
    }
}

extension TransferReport.Move: CustomStringConvertible {
    /// `at 2901 ms from wlan0 to wwan0: no acknowledgement`
    public var description: String {
        "at \(after.shortText) from \(from) to \(to): \(reason)"
    }
}

/// The lines of a report: what it is about, and in the same column what there is to say.
enum ReportLine {
    static func line(_ label: String, _ text: String) -> String {
        "  " + label + String(repeating: " ", count: max(1, 12 - label.count)) + text
    }

    static func lines(
        _ transport: Transport, _ control: ControlLevel, _ marking: TrafficMarking?
    ) -> [String] {
        [line("transport", "\(transport)"), line("control", "\(control)")]
            + (marking.map { [line("marking", "\($0)")] } ?? [])
    }
}

extension Duration {
    /// Milliseconds with as many digits as say something: `0.25 ms`, `251 ms`.
    package var shortText: String {
        let microseconds = (wholeNanoseconds + 500) / 1000
        if microseconds >= 10_000 { return "\((microseconds + 500) / 1000) ms" }
        let hundredths = (microseconds + 5) / 10
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) ms"
    }
}
