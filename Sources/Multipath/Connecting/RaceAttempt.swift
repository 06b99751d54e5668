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
    /// How far its packets bear the mark of their traffic class; nil for those without a wish.
    private(set) var marking: TrafficMarking?

    init(_ socket: consuming StreamSocket, _ level: ControlLevel, isMapped: Bool = false) {
        self.socket = consume socket
        self.level = level
        self.isMapped = isMapped
    }

    /// Marks the packets from the SYN on. What the kernel refuses costs the mark, not the attempt.
    func mark(_ trafficClass: TrafficClass, _ candidate: Candidate) {
        guard trafficClass != .bestEffort else { return }
        let family = isMapped ? .ipv6 : candidate.endpoint.address.family
        let unmarked = with { $0.mark(family, dscp: trafficClass.dscp) } ?? nil
        marking = TrafficMarking(trafficClass, unmarkedFamily: unmarked)
    }

    /// The connection has become plain TCP: the kernel marks now what it refused to mark before, all but the SYN.
    func markAfterFallback(_ candidate: Candidate) {
        guard let marking, marking.unmarkedFamily != nil else { return }
        mark(marking.trafficClass, candidate)
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
