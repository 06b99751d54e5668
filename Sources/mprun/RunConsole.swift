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

    func plain(_ thread: Int32, _ reason: PlainReason) {
        if verbose { say("process \(thread): a TCP socket: \(reason.words)") }
    }

    func refused(_ socket: ProgramSocket) {
        if verbose { say("\(Self.name(socket)): refused: no allowed path leads there") }
    }

    func connected(_ socket: ProgramSocket, _ facts: LentSocket.Facts) {
        if verbose { say("\(Self.name(socket)): \(facts.transport), \(socket.level)") }
    }

    func report(_ ledger: SocketLedger) {
        guard list else { return }
        for socket in ledger.all where socket.state != .made { say("\(Self.name(socket)): \(socket.state)") }
    }

    private static func name(_ socket: ProgramSocket) -> String {
        let program = socket.program.map { "\($0) " } ?? ""
        let over = socket.interface.map { " over \($0)" } ?? ""
        return "\(program)(\(socket.thread)) to \(socket.destination.map { "\($0)" } ?? "?")\(over)"
    }

    private func say(_ text: String) { Diagnostics.write("mprun: \(TerminalText.safe(text))") }
}
