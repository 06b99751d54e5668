import CommandSupport
import LinuxNet
import Multipath
import ProgramSteering

/// What `mprun` says, on standard error: lines for people, or JSON objects.
struct RunConsole: ProgramConsole {
    let json: Bool
    let verbose: Bool
    let list: Bool
    let report: Bool
    /// Whether not even what a user needs to know is said.
    let quiet: Bool

    /// Whether anything is ever said.
    var speaks: Bool { json || verbose || list || report || !quiet }
    /// Whether there is a last word.
    var concludes: Bool { json || list || report }

    func plain(_ thread: Int32, _ reason: PlainReason) {
        event(
            "plain_socket", ["process": "\(thread)", "reason": reason.name],
            "process \(thread): a TCP socket: \(reason.words)")
    }

    func refused(_ socket: ProgramSocket) {
        event("refused", socket.fields, "\(socket.title): refused: no allowed path leads there")
    }

    func connected(_ socket: ProgramSocket) {
        var fields = socket.fields
        fields["control"] = socket.level.name
        if case .connected(let transport) = socket.state { fields["transport"] = transport.name }
        event("connected", fields, "\(socket.title): \(socket.outcome)")
    }

    func event(_ happened: ConnectionEvent, of socket: ProgramSocket) {
        switch happened {
        case .established, .closed: return
        // Told as it connected.
        case .fallback(let reason) where reason != .afterHandshake: return
        case .fallback, .viabilityChanged, .betterPathAvailable, .pathChanged, .pathNotAllowed, .waiting,
            .steering, .dropped:
            event(
                happened.name, happened.fields.merging(socket.fields) { own, _ in own },
                "\(socket.title): \(happened)")
        }
    }

    func option(_ option: LackingOption, of program: String) {
        event(
            option.isRefused ? "option_refused" : "option_without_effect",
            ["program": program, "option": option.rawValue],
            "\(program) sets \(option.rawValue), which MPTCP has not: it "
                + (option.isRefused ? "is refused" : "has no effect")
                + " (--tcp-for '\(program)' leaves the program TCP)")
    }

    /// An option names an interface that is not here. It may come later.
    func missing(_ name: String, _ option: String, _ interfaces: [String]) {
        event(
            "warning", ["message": "no interface is named \(name)"],
            "warning: \(option): no interface is named '\(name)'\(Suggestion.hint(for: name, among: interfaces))",
            always: true)
    }

    func unsteered(_ limit: ControlLimit) {
        event(
            "not_steered", ["reason": "\(limit)"],
            "connections are MPTCP, but not steered: \(limit)\(Self.advice(limit)); -q says nothing of this",
            always: true)
    }

    private static func advice(_ limit: ControlLimit) -> String {
        switch limit {
        case .noPrivilege: "; to have them steered: systemctl start mpathd.socket"
        case .mptcpDisabled: "; to switch it on: sysctl net.mptcp.enabled=1"
        default: ""
        }
    }

    func report(_ ledger: SocketLedger, missed: Int) {
        if json {
            return Diagnostics.write(JSONLine.text(RunReport(ledger, isList: list, missed: missed)))
        }
        let shown = ledger.all.filter { list || $0.hasConnection }
        guard list || report else { return }
        for socket in shown {
            say("\(socket.title): \(socket.outcome)")
            guard report, let transfer = socket.report else { continue }
            for line in transfer.lines { Diagnostics.write(TerminalText.safe(line)) }
        }
        if list {
            for (reason, count) in ledger.totals.reasons { say("\(count) made as TCP: \(reason.words)") }
        }
        say("\(ledger.totals.words)")
        if ledger.totals.forgotten > 0 {
            say("of \(ledger.totals.forgotten) sockets nothing was kept: there were too many")
        }
        if missed > 0 { say("not counted: \(missed) calls, because there were too many at once") }
    }

    /// - Parameter always: whether a person who did not ask for events is told, too.
    private func event(_ name: String, _ fields: [String: String], _ text: String, always: Bool = false) {
        // The thread that writes here steers connections: a reader that is behind misses something.
        guard StandardErrorRoom.exists else { return }
        if json {
            Diagnostics.write(JSONLine.text(EventDocument(name: name, fields: fields)))
        } else if verbose || always && !quiet {
            say(text)
        }
    }

    private func say(_ text: String) { Diagnostics.write("mprun: \(TerminalText.safe(text))") }
}

extension SocketLedger.Totals {
    /// `3 sockets, 2 of them MPTCP; 2 connects`
    fileprivate var words: String {
        var words =
            "\(Self.count(made + plainCount, "socket")), \(made) of them MPTCP; \(Self.count(connects, "connect"))"
        if refused > 0 { words += ", \(refused) refused" }
        if unexamined > 0 {
            words +=
                "; \(Self.count(unexamined, "connect")) of processes that can't be looked at, or of other network namespaces"
        }
        return words
    }

    /// Why sockets are TCP, in a fixed order, and how many.
    var reasons: [(reason: PlainReason, count: Int)] {
        PlainReason.allCases.compactMap { reason in plain[reason].map { (reason, $0) } }
    }

    private static func count(_ number: Int, _ what: String) -> String {
        "\(number) \(what)\(number == 1 ? "" : "s")"
    }
}

extension ProgramSocket {
    /// `curl (4711) to 203.0.113.1:443 over wlan0`
    var title: String {
        let over = interface.map { " over \($0)" } ?? ""
        let to = destination.map { " to \($0)" } ?? ""
        return "\(program ?? "process") (\(thread))\(to)\(over)"
    }

    /// What became of it, in words.
    var outcome: String {
        switch state {
        case .made: "MPTCP, never connected"
        case .connecting: "connecting"
        case .refused: "refused: no allowed path leads there"
        case .failed: "the handshake failed"
        case .brief: "closed before mprun looked at it"
        case .connected(let transport) where transport.isMPTCP: "\(transport), \(level)"
        case .connected(let transport): "\(transport)"
        }
    }

    var hasConnection: Bool {
        if case .connected = state { true } else { false }
    }

    /// For machines to read.
    var fields: [String: String] {
        var fields = ["process": "\(thread)"]
        fields["program"] = program
        fields["remote"] = destination.map { "\($0)" }
        fields["interface"] = interface
        return fields
    }
}
