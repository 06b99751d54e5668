import PathCore

/// What is to happen in a simulation, the earliest first; what is due at the same moment, in the order it was
/// added. A binary heap.
struct EventQueue {
    private struct Entry {
        var time: Int64
        var number: Int
        var event: SimulatedEvent

        func isBefore(_ other: Entry) -> Bool {
            time < other.time || time == other.time && number < other.number
        }
    }

    private var heap: [Entry] = []
    private var added = 0

    var nextTime: Int64? { heap.first?.time }

    mutating func add(_ event: SimulatedEvent, at time: Int64) {
        added += 1
        let entry = Entry(time: time, number: added, event: event)
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry.isBefore(heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = entry
    }

    mutating func takeFirst() -> (time: Int64, event: SimulatedEvent)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return (first.time, first.event) }
        var parent = 0
        while true {
            var child = parent * 2 + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
            guard heap[child].isBefore(last) else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = last
        return (first.time, first.event)
    }
}

/// One thing that happens at a moment of a simulation. Subflows, changes and phases are meant by their places.
enum SimulatedEvent {
    case packet(subflow: Int, to: SimulatedEnd, SimulatedPacket)
    case retransmission(subflow: Int, SimulatedEnd)
    case dataRetransmission(SimulatedEnd)
    case delayedAcknowledgement(subflow: Int, SimulatedEnd)
    /// A SYN is repeated, or an MP_JOIN's last word is.
    case handshake(subflow: Int, attempt: Int)
    case notice(SimulatedEnd, SimulatedNotice)
    /// A plain handshake over a path gets there, or its answer gets back.
    case probe(Int, arrives: Bool)
    case probeAgain(Int, attempt: Int)
    case change(Int)
    case snapshot
    case phase(Int)
    case tick(phase: Int)
    /// The client's user may have all that it awaited.
    case expectation
    case steering(SimulatedEnd)
}

/// A plain handshake that is under way over a path, and what the machine calls that.
struct SimulatedProbe {
    let path: Int
    let key: PathKey
    /// Whether it leads to the server.
    let isAnswered: Bool
    let startedAt: Int64
}

/// What the kernel's path manager tells the one who steers.
enum SimulatedNotice {
    case established(subflow: Int)
    case closed(subflow: Int, error: Int32?, reset: ResetReason?)
    case announced(UInt8, IPEndpoint)
    case removed(UInt8)
    case lost
}

/// What travels on a subflow. Every packet of data acknowledges too, but is not counted for it.
enum SimulatedPacket {
    case join(sentAt: Int64)
    case joinAnswer(echo: Int64)
    /// The handshake's third and fourth packet: with each, one end more may rely on the subflow.
    case joinEnd
    case joinConfirmation
    case data(sequence: Int, data: Int, sentAt: Int64)
    /// - `next`: the first that is missing. `one`: one that came in. `dataNext`: the same for the connection.
    case acknowledgement(next: Int, one: Int, dataNext: Int, echo: Int64)
    /// RM_ADDR; not `isCounted` where the subflow is too young for it.
    case removeAddress(UInt8, isCounted: Bool)
    /// MP_PRIO.
    case priority(isBackup: Bool)
    /// For a keepalive: the end that hears it says again what it has.
    case probe
    case end
    case reset(ResetReason?)

    var isData: Bool { if case .data = self { true } else { false } }

    var mayBeOvertaken: Bool {
        switch self {
        case .data, .acknowledgement: true
        case .join, .joinAnswer, .joinEnd, .joinConfirmation, .removeAddress, .priority, .probe, .end,
            .reset:
            false
        }
    }
}

/// The two ends of a simulated connection.
package enum SimulatedEnd: Int, Sendable {
    /// It connected, and has the paths.
    case client
    case server

    package var other: SimulatedEnd { self == .client ? .server : .client }
}
