import Multipath

/// Reports for people.
public enum ReportText {
    /// `connected to 192.0.2.1:80 over wlan0 by mptcp in 21 ms`
    public static func line(_ report: EstablishmentReport) -> String {
        "connected to \(report.remote) over \(report.interface) by \(words(report.transport)) "
            + "in \(report.duration.shortText)"
    }

    /// The whole of a connection: how it came about and what each path carried.
    public static func text(_ outcome: ConnectionOutcome) -> String {
        var lines: [String] = []
        if let report = outcome.establishment {
            lines.append(line(report))
            let addresses = report.addresses.map(\.description).joined(separator: ", ")
            lines.append("  resolution  \(report.resolution.shortText): \(addresses)")
        }
        lines += attempts(outcome.attempts)
        if let tls = outcome.tls { lines.append("  tls         \(words(tls))") }
        if let transport = outcome.transfer?.transport ?? outcome.establishment?.transport {
            lines.append("  transport   \(words(transport))")
        }
        if let control = outcome.transfer?.control ?? outcome.establishment?.control {
            lines.append("  control     \(control)")
        }
        if let transfer = outcome.transfer {
            for path in transfer.paths {
                var line = "  path        \(path.interface): \(path.bytesSent) bytes sent, "
                line += "\(path.bytesReceived) received"
                if path.bytesRetransmitted > 0 { line += ", \(path.bytesRetransmitted) sent again" }
                lines.append(line + ", RTT \(path.smoothedRTT.shortText)")
            }
            lines.append("  duration    \(transfer.duration.shortText)")
        }
        return lines.joined(separator: "\n")
    }

    /// `TLSv1.3, ALPN h2, handshake 12 ms`
    public static func words(_ tls: TLSReport) -> String {
        let parts: [String?] = [
            tls.version, tls.applicationProtocol.map { "ALPN \($0)" },
            tls.handshake.map { "handshake \($0.shortText)" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// A line for each attempt.
    public static func attempts(_ attempts: [AttemptReport]) -> [String] {
        attempts.map { "  attempt     \($0)" }
    }

    /// `mptcp`, or `tcp (fallback: peer, which did not answer with MPTCP)`
    public static func words(_ transport: Transport) -> String {
        switch transport.fallbackReason {
        case nil: "mptcp"
        case .peer: "tcp (fallback: peer, whose answer had no MPTCP)"
        case .kernel: "tcp (fallback: kernel, which has no MPTCP here)"
        case .middlebox: "tcp (fallback: middlebox, which seems to drop SYNs with MPTCP)"
        case .blackholeMemory: "tcp (fallback: blackhole_memory, the kernel's, of dropped SYNs with MPTCP)"
        case .disabled: "tcp (fallback: disabled, as asked)"
        }
    }
}
