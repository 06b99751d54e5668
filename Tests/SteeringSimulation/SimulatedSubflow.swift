import PathCore

/// A subflow and both of its ends.
struct SimulatedSubflow {
    /// The path it was made on; it is lost when the path gets another index or address.
    let path: Int
    let index: InterfaceIndex
    let address: IPAddress
    let port: UInt16
    let id: UInt8
    /// Where it leads to, and that address's id.
    let remote: IPEndpoint
    let remoteID: UInt8
    let memory: Int
    /// Whether the first packet said that it is to stand by.
    let beginsAsBackup: Bool
    var client = SubflowHalf()
    var server = SubflowHalf()

    subscript(_ end: SimulatedEnd) -> SubflowHalf {
        // (Not a copy of it with its arrays.)
        _read { if end == .client { yield client } else { yield server } }
        _modify {
            if end == .client { yield &client } else { yield &server }
        }
    }
}

/// One end of a subflow: a TCP socket.
struct SubflowHalf {
    enum State { case absent, synSent, synReceived, established, closed }

    struct Segment {
        let sequence: Int
        let data: Int
        var sentAt: Int64
        var isReceived = false
    }

    var state = State.absent
    /// Whether this end has heard that the other one has completed the handshake.
    var isConfirmed = false
    /// What this end asked for, and what the other one did.
    var isBackup = false
    var peerWantsBackup = false

    // MARK: Sending

    var inFlight: [Segment] = []
    var nextSequence = 0
    var smoothed: Int64 = 0
    var variation: Int64 = 0
    var minimum = Int64.max
    var timeouts = 0
    /// Whether the timer is to send the last segment once more (RFC 8985 section 7), and has since the last acknowledgement.
    var isLossProbe = false
    var isProbed = false
    /// What was sent before the timer fired last counts as lost.
    var lostBefore = Int64.min
    var timerDue = Int64.max
    /// When the next event for it comes, which may be before it is due.
    var timerEvent = Int64.max
    var delivered: UInt32 = 1
    var retransmissions: UInt32 = 0
    var acknowledged: UInt64 = 1
    var bytesSent: UInt64 = 0
    var dataSentAt: Int64 = 0
    var lastArrival: Int64 = 0

    /// Chunks that have come in or were acknowledged since a time, and in the while before.
    private var busy: (since: Int64, count: Int, before: Int) = (0, 0, 0)

    // MARK: Receiving

    var expected = 0
    var early: [Int] = []
    var dataReceivedAt: Int64 = 0
    var segmentsReceived: UInt32 = 0
    var earlySegments: UInt32 = 0
    /// The round trip as the receiving end sees it (tcp_rcv_rtt_update, with timestamps).
    var receiverTrip: Int64 = 0
    var acknowledgementAt: Int64 = 0
    /// A segment that is to be acknowledged a little later: which, and when it was sent.
    var owed: (sequence: Int, sentAt: Int64)?

    var standsBy: Bool { isBackup || peerWantsBackup }

    /// RFC 6298, with Linux's least deviation of 200 ms.
    var retransmissionTimeout: Int64 {
        let base = smoothed == 0 ? 1_000_000_000 : smoothed + max(variation * 4, 200_000_000)
        return min(base << Int64(min(timeouts, 10)), 120_000_000_000)
    }

    /// When the timer is to fire, and for what (tcp_schedule_loss_probe).
    mutating func setTimer(at now: Int64) {
        let margin: Int64 = inFlight.count == 1 ? 200_000_000 : 2_000_000
        isLossProbe = timeouts == 0 && !isProbed && smoothed * 2 + margin < retransmissionTimeout
        timerDue = now + (isLossProbe ? smoothed * 2 + margin : retransmissionTimeout)
    }

    mutating func measure(_ time: Int64) {
        minimum = min(minimum, time)
        if smoothed == 0 {
            (smoothed, variation) = (time, time / 2)
        } else {
            variation += (abs(smoothed - time) - variation) / 4
            smoothed += (time - smoothed) / 8
        }
    }

    private static let busyTime: Int64 = 300_000_000
    private static let busyChunks = 16

    mutating func carriesChunk(at now: Int64) {
        let passed = now - busy.since
        if passed >= Self.busyTime { busy = (now, 0, passed < 2 * Self.busyTime ? busy.count : 0) }
        busy.count += 1
    }

    /// Whether many chunks have passed lately.
    func isBusy(at now: Int64) -> Bool {
        guard now - busy.since < Self.busyTime else { return false }
        return busy.count + busy.before >= Self.busyChunks
    }

    mutating func measureReceiving(_ time: Int64) {
        receiverTrip = receiverTrip == 0 ? time : receiverTrip + (time - receiverTrip) / 8
    }

    mutating func begin(at now: Int64) {
        (dataSentAt, dataReceivedAt, acknowledgementAt) = (now, now, now)
    }
}

/// One end of the connection: what its user wrote and read, and what the kernel knows of both.
struct SimulatedEndpoint {
    /// When each chunk was written, and what it is for the reader.
    var writtenAt: [Int64] = []
    var meanings: [SimulatedTraffic.Meaning] = []
    var nextToSend = 0
    /// What is to be sent again over another subflow.
    var again: [Int] = []
    /// The first that the other end has not acknowledged.
    var acknowledged = 0
    /// The connection's own timer, and the former as it was when it was set.
    var isTimerSet = false
    var acknowledgedAtTimer = 0
    /// The first that has not come in, and what came before its turn.
    var expected = 0
    var early: Set<Int> = []
    var chunksReceived: UInt64 = 0
    /// What came in and found no room.
    var held: [Int] = []
    /// The subflow that was last chosen, of several.
    var turn = 0
    /// The addresses that have ids, beside the first.
    var ids: [(address: IPAddress, id: UInt8)] = []
    /// Since when the kernel takes orders.
    var isReady = false

    var written: Int { writtenAt.count }
    var outstanding: Int { written - acknowledged }
}
