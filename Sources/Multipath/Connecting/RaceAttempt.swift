import LinuxNet

/// A running attempt's socket and registration. Only the event thread touches it, and, once it is handed
/// over, the code that confirms it or takes the winner.
final class RaceAttempt: @unchecked Sendable {
    private var socket: StreamSocket?
    var registration: EventThread.Token?
    /// What carries the bytes, and the socket's state as its handshake was complete.
    var outcome: (transport: Transport, sample: TransportSample?)?
    /// How far the subflows of an MPTCP connection can be steered.
    private(set) var level: ControlLevel
    /// Whether the socket is IPv6's and meant for an IPv4 destination.
    let isMapped: Bool

    init(_ socket: consuming StreamSocket, _ level: ControlLevel, isMapped: Bool = false) {
        self.socket = consume socket
        self.level = level
        self.isMapped = isMapped
    }

    /// Starts the handshake.
    /// - Returns: the descriptor's number, and whether the handshake is complete already.
    func connect(to candidate: Candidate) throws(SystemError) -> (CInt, isConnected: Bool) {
        guard let socket = socket.take() else {
            preconditionFailure("an attempt connects before it is taken")
        }
        do throws(SystemError) {
            try socket.bind(toInterface: candidate.interface)
            let isConnected =
                isMapped
                ? try socket.connect(toMapped: candidate.endpoint)
                : try socket.connect(to: candidate.endpoint)
            let number = socket.descriptor.number
            self.socket = consume socket
            return (number, isConnected)
        } catch {
            throw error
        }
    }

    /// How far its subflows can be steered is known now.
    func set(_ level: ControlLevel) { self.level = level }

    /// Goes on with another socket.
    func replaceSocket(_ socket: consuming StreamSocket, _ level: ControlLevel) {
        self.socket = consume socket
        self.level = level
    }

    func take() -> StreamSocket? { socket.take() }

    func with<Value>(_ body: (borrowing StreamSocket) -> Value) -> Value? {
        guard let socket = socket.take() else { return nil }
        let value = body(socket)
        self.socket = consume socket
        return value
    }

    func unregister(from thread: EventThread) {
        if let registration { thread.remove(registration) }
        registration = nil
    }
}
