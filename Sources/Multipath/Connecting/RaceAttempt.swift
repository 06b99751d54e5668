import LinuxNet

/// A running attempt's socket and registration. Only the event thread touches it, and, once it is handed
/// over, whoever confirms it or takes the winner.
final class RaceAttempt: @unchecked Sendable {
    private var socket: StreamSocket?
    var registration: EventThread.Token?
    var transport: Transport?

    init(_ socket: consuming StreamSocket) { self.socket = consume socket }

    func take() -> StreamSocket? { socket.take() }

    func with<Value>(_ body: (borrowing StreamSocket) -> Value) -> Value? {
        guard let socket = socket.take() else { return nil }
        let value = body(socket)
        self.socket = consume socket
        return value
    }

    func unregister() {
        if let registration { EventThread.shared.remove(registration) }
        registration = nil
    }
}
