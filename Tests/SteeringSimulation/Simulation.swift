// Two ends of an MPTCP connection in simulated time: their kernels, the networks between them, what their
// users do, and a `SteeringMachine` that steers at one end or at both. No clock is read and no thread waits: `step`
// goes to the next thing that happens. The same seed gives the same run.
//
//   traffic ─► endpoint ─► subflow ─► path ─► subflow ─► endpoint ─► traffic
//                 ▲           │ samples, events
//                 └─ orders ◄─┴─ SimulatedSteering (a SteeringMachine, run as the library runs it)
//
// Data are chunks of a thousand bytes. Of TCP there are handshakes, cumulative and selective acknowledgements,
// fast retransmission, the retransmission timer, delayed acknowledgements; of MPTCP joins, data sequence
// numbers, backup subflows, RM_ADDR, MP_PRIO, resets, and sending again over another subflow what does not
// get through, or what was unacknowledged when one ended. Congestion is not modelled: a subflow takes 32 chunks at a time.

import PathCore

package final class Simulation {
    package struct Options: Sendable {
        package var seed: UInt64 = 1
        package var delaysAcknowledgements = false
        /// Bytes in what is sent at a time.
        package var chunkSize: UInt64 = 1000
        /// Whether the client's user says when it awaits bytes, and when all are there, as an HTTP client does.
        package var tellsExpectation = false
        /// Until when other connections of the client hear the server, over every path and all the time; nil for none.
        package var othersHearUntil: MonotonicTime?
        /// How late the steering's timers are at most.
        package var timerLag = Duration.zero
        /// One in so many events of the kernel is lost, and said to be; 0 for none.
        package var losesEvents: UInt64 = 0
        /// How long after a change the path monitor tells of it.
        package var monitorDelay = Duration.milliseconds(1)
        /// Where the server is.
        package var server = IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443)
        /// Where it is as well.
        package var otherServers: [IPEndpoint] = []
        /// Whether it takes no further subflow at the first (the C flag, RFC 8684 section 3.1).
        package var deniesFirst = false
        /// Chunks that an end's user may have written before the first of them is acknowledged.
        package var mostOutstanding = Simulation.maximumOutstanding
        /// Chunks that wait at an end for one before them: when there are so many it takes no more, not even that one (as
        /// __mptcp_move_skbs_from_subflow does, net/mptcp/protocol.c). Nil for any number.
        package var room: Int?
        /// In nanoseconds: nothing runs then, no process, no kernel, no box on the way. (A virtual machine stands still; in a
        /// crowded lab it is much the same.)
        package var freezes: [Range<Int64>] = []

        package init() {}
    }

    /// What a steering machine wanted, and when.
    package struct Step: Sendable, Equatable {
        package var time: Int64
        package var end: SimulatedEnd
        package var action: SteeringAction
        /// What the kernel said against an order.
        package var failure: ActionFailure?
    }

    package internal(set) var paths: [SimulatedPath]
    /// Nanoseconds since the start.
    package internal(set) var now: Int64 = 0
    package internal(set) var steps: [Step] = []
    /// An order that named a subflow which never was; nil as long as there was none.
    package internal(set) var mistake: String?
    /// The path whose subflow was ended just now though it was well and in the middle of a bulk transfer.
    package internal(set) var endedAtWork: PathID?
    /// How many samples were taken.
    package internal(set) var samples = 0
    /// How often a machine's timer fired.
    package internal(set) var wakeUps = 0
    /// What the client's monitor told last.
    package internal(set) var told = PathSnapshot()

    static let maximumInFlight = 32
    static let maximumOutstanding = 64
    static let token = ConnectionToken(7)

    let options: Options
    let traffic: SimulatedTraffic
    let changes: [(time: Duration, change: SimulatedChange)]
    var queue = EventQueue()
    var random: SimulatedRandom
    var subflows: [SimulatedSubflow] = []
    var endpoints = [SimulatedEndpoint(), SimulatedEndpoint()]
    var steering: [SimulatedSteering?] = [nil, nil]
    var nextPort: UInt16 = 40_000
    var generation: UInt64 = 0
    var resumes: UInt64 = 0
    var awaitsRequest = false
    /// Whether the client's user has said that it awaits bytes.
    var isExpecting = false
    var burst = Burst()
    /// How many times as much each end takes by now.
    var widened = [1, 1]
    /// What the client was told of the server's addresses.
    var announced: [UInt8: IPEndpoint] = [:]
    /// When the latest freeze ended.
    package private(set) var thawedAt: Int64 = 0
    /// The plain handshakes that are under way.
    var probes: [Int: SimulatedProbe] = [:]
    var nextProbe = 0

    /// - Parameter first: the place of the path over which the connection came about.
    package init(
        paths: [SimulatedPath], first: Int = 0, traffic: SimulatedTraffic,
        changes: [(time: Duration, change: SimulatedChange)] = [], options: Options = Options()
    ) {
        self.paths = paths
        self.traffic = traffic
        self.changes = changes
        self.options = options
        random = SimulatedRandom(seed: options.seed)
        for index in paths.indices { noteWorking(index, anew: true) }
        let path = paths[first]
        var subflow = SimulatedSubflow(
            path: first, index: path.index, address: path.address, port: takePort(), id: 0,
            remote: options.server, remoteID: 0, memory: path.memory, beginsAsBackup: false)
        for end in [SimulatedEnd.client, .server] {
            subflow[end].state = .established
            subflow[end].isConfirmed = true
            subflow[end].measure(path.roundTrip)
        }
        subflows = [subflow]
        for (place, change) in changes.enumerated() {
            queue.add(.change(place), at: change.time.wholeNanoseconds)
        }
        for (place, phase) in traffic.phases.enumerated() {
            queue.add(.phase(place), at: phase.start.wholeNanoseconds)
        }
    }

    /// Has one end steered from now on.
    package func steer(_ end: SimulatedEnd, _ configuration: SteeringConfiguration) {
        var configuration = configuration
        configuration.isAcceptor = end == .server
        let client = IPEndpoint(subflows[0].address, port: subflows[0].port)
        let connection = ConnectionIdentity(
            token: Self.token, local: end == .client ? client : options.server,
            remote: end == .client ? options.server : client,
            interface: end == .client ? subflows[0].index : 2)
        let steering = SimulatedSteering(end, configuration, connection, at: now)
        self.steering[end.rawValue] = steering
        told = snapshot()
        steering.begin(self)
    }

    /// When a translator last forgot its subflows; nil for never.
    package internal(set) var forgottenAt: Int64?

    /// Whether the client's kernel takes orders: the first data were acknowledged.
    package var isReady: Bool { endpoints[SimulatedEnd.client.rawValue].isReady }

    /// The machine that steers an end.
    package func machine(_ end: SimulatedEnd) -> SteeringMachine? { steering[end.rawValue]?.machine }

    /// Whether an end can't know that it stood still just now: it had nothing to do then, and the answers are late.
    package func isLateUnawares(_ end: SimulatedEnd, by time: Int64) -> Bool {
        guard thawedAt > 0, now - thawedAt < time else { return false }
        return steering[end.rawValue]?.lateAt.map { $0 < thawedAt } ?? true
    }

    /// Goes to the next thing that happens.
    /// - Returns: false where nothing is left to happen up to the given time.
    package func step(until end: Int64) -> Bool {
        guard let time = queue.nextTime, time <= end, let next = queue.takeFirst() else { return false }
        if let freeze = options.freezes.first(where: { $0.contains(time) }) {
            thawedAt = freeze.upperBound
            queue.add(next.event, at: freeze.upperBound)
            return true
        }
        now = time
        ingest(next.event)
        return true
    }

    package func run(until end: Duration) {
        let end = end.wholeNanoseconds
        while step(until: end) {}
        now = max(now, end)
    }

    private func ingest(_ event: SimulatedEvent) {
        switch event {
        case .packet(let subflow, let end, let packet): arrive(packet, subflow, at: end)
        case .retransmission(let subflow, let end): timerFired(subflow, end)
        case .dataRetransmission(let end): dataTimerFired(end)
        case .delayedAcknowledgement(let subflow, let end): payDebt(subflow, end)
        case .handshake(let subflow, let attempt): repeatHandshake(subflow, attempt: attempt)
        case .notice(let end, let notice): deliver(notice, to: end)
        case .probe(let number, let arrives): probe(number, arrives: arrives)
        case .probeAgain(let number, let attempt): sendProbe(number, attempt: attempt)
        case .change(let place): change(changes[place].change)
        case .snapshot:
            told = snapshot()
            steering[SimulatedEnd.client.rawValue]?.ingest(told, self)
        case .phase(let place): begin(phase: place)
        case .tick(let phase): tick(phase)
        case .expectation: endExpectation()
        case .steering(let end): steering[end.rawValue]?.timeReached(self)
        }
    }

    func takePort() -> UInt16 {
        nextPort += 1
        return nextPort
    }

    func after(_ nanoseconds: Int64, _ event: SimulatedEvent) { queue.add(event, at: now + nanoseconds) }

    // MARK: What a test looks at

    /// Since when the oldest chunk has been waiting that its reader has not got; nil for none.
    package func waitingSince(from end: SimulatedEnd) -> Int64? {
        let (writer, reader) = (end.rawValue, end.other.rawValue)
        let next = endpoints[reader].expected
        return next < endpoints[writer].written ? endpoints[writer].writtenAt[next] : nil
    }

    /// How many chunks an end has read.
    package func chunksRead(by end: SimulatedEnd) -> Int { endpoints[end.rawValue].expected }

    /// Whether the client has an open subflow that was forgotten on the way.
    package var hasForgotten: Bool {
        subflows.contains { $0.client.state == .established && $0.memory != paths[$0.path].memory }
    }

    /// The places of the paths on which there is a subflow that both ends have, and no box on the way has forgotten.
    package var sharedPaths: [Int] {
        subflows.compactMap { subflow in
            let path = paths[subflow.path]
            let isShared = subflow.client.state == .established && subflow.server.state == .established
            let isKnown =
                path.memory == subflow.memory && path.index == subflow.index
                && path.address == subflow.address
            return isShared && isKnown ? subflow.path : nil
        }
    }

    /// Whether the server has an open subflow that has ended at the client.
    package var hasOrphans: Bool {
        subflows.contains { $0.client.state == .closed && $0.server.state == .established }
    }

    /// One end's open subflows as text, with what is on its way on each.
    package func summary(of end: SimulatedEnd) -> String {
        let endpoint = endpoints[end.rawValue]
        let open = subflows.filter { $0[end].state != .closed && $0[end].state != .absent }
        let lines = open.map { subflow in
            let half = subflow[end]
            return "  \(subflow.address):\(subflow.port) \(half.state)\(half.standsBy ? " backup" : ""), "
                + "\(half.inFlight.count) in flight, \(half.timeouts) timeouts"
                + (paths[subflow.path].memory == subflow.memory ? "" : ", forgotten")
        }
        return
            "\(end): \(endpoint.outstanding) outstanding, \(endpoint.written - endpoint.nextToSend) unsent\n"
            + lines.joined(separator: "\n")
    }

    /// The places of the paths on which the client has open subflows, complete or not.
    package var openPaths: [(path: Int, isComplete: Bool)] {
        subflows.compactMap { subflow in
            switch subflow.client.state {
            case .synSent, .synReceived: (subflow.path, false)
            case .established: (subflow.path, true)
            case .absent, .closed: nil
            }
        }
    }
}
