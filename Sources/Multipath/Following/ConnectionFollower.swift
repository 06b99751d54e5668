import LinuxNet
import Synchronization

/// Follows one connection from its beginning to its end: counts its bytes by path, tells whether its path still carries
/// it, and steers an MPTCP connection's subflows as its mode says.
///
/// It holds a second descriptor of the socket, so that it never asks about a number that another file has by now. Call
/// `stop` as soon as you have closed the first one: until then the connection stays open.
///
/// Where the program says `didSend` and `didReceive`, samples are taken only while bytes are outstanding, or expected
/// (`expectsData`). Where it does not, a steered MPTCP connection is looked at once a second as well. An MPTCP connection that
/// is not steered is sampled every 100 ms while data moves.
///
/// When a path is lost in an upload over MPTCP, SO_KEEPALIVE and TCP_KEEPIDLE (1 s) are on
/// for 25 ms: so the peer is asked what it has (RFC 9293 section 3.8.4). Then they are what they were.
public final class ConnectionFollower: DeferredStart, WakeableConnection, LentMember, Sendable {
    struct State: ~Copyable {
        /// Nil after the end.
        var socket: FollowedSocket?
        var meter: TransferMeter
        /// When the first glance was taken that the machines had no sample after; nil for none.
        var glancedSince: MonotonicTime?
        var sendBufferHold = SendBufferHold()
        /// The keepalive probe that is under way.
        var probe: KeepaliveProbe?
        /// The paths when the connection began to be followed.
        var firstSnapshot: PathSnapshot?
        /// Nil until the connection is followed.
        var machines: FollowerMachines?
        var newListeners: [@Sendable (ConnectionEvent) -> Void] = []
        var expectsData = false
        /// Why the connection is MPTCP no longer, until that is told.
        var untoldFallback: FallbackReason?
        /// The interface that carries the connection, where that was told; 0 for the one it came about over.
        var carrier: InterfaceIndex = 0
        /// Ends the connection where its rules do; nil where that is done here.
        var closer: (@Sendable (PathRefusal) -> Void)?
    }

    let facts: FollowedFacts
    let monitor: PathMonitor
    private let end: ConnectionEnd?
    /// Nil for a connection without a budget.
    private let budget: ConnectionBudget?
    let state: Locked<State>
    private let log = ConnectionEventChannel()
    /// When the first bytes were written that no sample has seen, in nanoseconds; 0 for none.
    let written = Atomic<Int64>(0)
    /// Whether the machines are told when data moves.
    private let isAsleep = Atomic(false)
    let speaksMPTCP: Atomic<Bool>
    /// What the user has sent and received since the meter was told.
    let sent = Atomic<Int>(0)
    let received = Atomic<Int>(0)
    /// When to book what the subflows have carried although no machine asks for a sample; `Int64.max` for never.
    let nextBooking = Atomic<Int64>(.max)
    /// How often that is: the kernel's own path manager may end a subflow at any time, and its counters go with it.
    private static let bookingInterval = Duration.milliseconds(100)
    /// How long the books may go without a sample where glances are enough for the machines: so long, and so many looks where
    /// those are far apart because there are many connections.
    static let longestGlance = Duration.seconds(1)
    static let glancesBetweenBookings = 8
    /// How long after the end of another program's connection its last counters are waited for.
    static let lastCounters = Duration.milliseconds(50)

    /// - Parameters:
    ///   - sample: the socket's state now.
    ///   - end: hears of the connection's end.
    init(
        _ socket: consuming FollowedSocket, _ facts: FollowedFacts, sample: TransportSample?,
        monitor: PathMonitor, end: ConnectionEnd? = nil
    ) {
        self.facts = facts
        self.monitor = monitor
        self.end = end
        budget =
            monitor.channel.hasBudgets
            ? facts.policy.budget.map { ConnectionBudget($0, in: monitor.channel) } : nil
        var meter = TransferMeter(
            transport: facts.transport, level: facts.level, path: facts.path,
            started: facts.established, marking: facts.marking)
        if let sample { meter.ingest(sample, naming: .all) { monitor.latestPath } }
        speaksMPTCP = Atomic(meter.transport.isMPTCP)
        state = Locked(State(socket: .some(socket), meter: meter))
        budget?.follow(self)
    }

    /// - Parameter descriptor: a connected socket's, which stays its owner's.
    convenience init(
        _ descriptor: CInt, _ facts: FollowedFacts, sample: TransportSample?, monitor: PathMonitor,
        end: ConnectionEnd? = nil
    ) throws(SystemError) {
        self.init(
            FollowedSocket(try Descriptor(duplicating: descriptor)), facts, sample: sample, monitor: monitor,
            end: end)
    }

    deinit { stop() }

    var token: ConnectionToken? { facts.token }

    /// The connection has come about: its events begin, and so does the following.
    ///
    /// - Parameter report: how it came about; nil for a connection that was accepted or adopted.
    package func begin(_ report: EstablishmentReport?) {
        log.begin(report)
        start()
    }

    /// Begins to follow: a moment later where nothing is lost by that. What is sent then is known, and the caller does
    /// not wait to hear how far the connection can be steered.
    private func start() {
        let latest = monitor.latestPath
        let isOpen = state.withLock { state in
            state.firstSnapshot = latest
            noteNewCookies(&state)
            return state.socket != nil
        }
        guard isOpen else { return }
        let mayWait = !facts.permissions.isForeign && facts.steering?.hasHints ?? true
        guard mayWait else { return monitor.runtime.thread.submit { [self] in startFollowing() } }
        monitor.runtime.deferredStarts.add(self)
        sleep()
    }

    // MARK: What the connection's user says

    /// The user has written so many bytes. It costs next to nothing, and makes a dead path known tens of milliseconds
    /// later instead of a second.
    public func didSend(_ count: Int) {
        sent.wrappingAdd(count, ordering: .relaxed)
        if written.load(ordering: .relaxed) == 0 {
            _ = written.compareExchange(
                expected: 0, desired: MonotonicTime.now.nanoseconds, ordering: .relaxed)
        }
        tellBudget()
        dataMoves()
    }

    /// The user has read so many bytes.
    public func didReceive(_ count: Int) {
        received.wrappingAdd(count, ordering: .relaxed)
        tellBudget()
        if isMPTCP { dataMoves() }
    }

    /// Say this before this end sends no more (`shutdown(SHUT_WR)`), and do that when the closure is called, on any thread: a
    /// kernel makes no subflow after that, so another path is joined first where the mode may need one. It takes two round
    /// trips over that path, and a second at most; where there is nothing to wait for the closure is called at once.
    public func prepareToEndSending(_ body: @escaping @Sendable () -> Void) {
        guard isMPTCP, facts.steering != nil, facts.token != nil else { return body() }
        monitor.runtime.thread.submit { [self] in
            if monitor.runtime.deferredStarts.remove(self) { startFollowing() }
            guard let machines = state.withLock({ $0.machines }) else { return body() }
            machines.prepareToEndSending(body)
        }
    }

    /// The budgets' book does not look at a connection whose data does not move.
    private func tellBudget() {
        guard let budget, budget.dataMoves() else { return }
        let runtime = monitor.runtime
        runtime.thread.submit { runtime.budgets.dataMoves() }
    }

    private func dataMoves() {
        if isAsleep.load(ordering: .relaxed), isAsleep.exchange(false, ordering: .relaxed) {
            monitor.runtime.wakeList.add(self)
        }
        let due = nextBooking.load(ordering: .relaxed)
        guard due != .max else { return }
        let now = MonotonicTime.now
        guard now.nanoseconds >= due else { return }
        nextBooking.store(now.advanced(by: Self.bookingInterval).nanoseconds, ordering: .relaxed)
        book(.all)
    }

    /// Whether the connection's user waits for bytes: an answer, the rest of a download. While it is set, silence
    /// makes this ask whether the peer is still there, by a handshake over the same path that is reset half open,
    /// of which the peer's program sees nothing: after about 100 ms of silence at first, then ever less often. Over MPTCP a
    /// path that does not answer is left for another; of plain TCP `viabilityChanged` tells. Say false when all is there:
    /// what comes in steadily over MPTCP is asked about as well when it stops, unless that was said of it.
    public var expectsData: Bool {
        get { state.withLock { $0.expectsData } }
        set {
            let machines = state.withLock { state in
                defer { state.expectsData = newValue }
                return state.expectsData == newValue ? nil : state.machines
            }
            if let machines {
                monitor.runtime.thread.submit { machines.ingestExpectation() }
            } else if newValue, monitor.runtime.deferredStarts.remove(self) {
                monitor.runtime.thread.submit { [self] in startFollowing() }
            }
        }
    }

    // MARK: What the connection's user hears

    /// What happens to the connection: the current state first, then each event in order, to its end. Any number of
    /// tasks may iterate.
    public var events: ConnectionEvents { log.events }

    /// How the connection came about; nil for one that was accepted or adopted.
    public var establishment: EstablishmentReport? { log.establishment }

    /// The protocol that both ends agreed on in TLS (ALPN, RFC 7301).
    package var applicationProtocol: String? { log.applicationProtocol }

    package func agreed(on applicationProtocol: String?) { log.applicationProtocol = applicationProtocol }

    /// Whether `stop` was called.
    package var isStopped: Bool { log.isClosed }

    /// Calls a closure with what happens from now on, on a thread that must not be held up. What is the case already
    /// is told first. Events come in order, and none after `stop` has returned and a few that were under way.
    package func observe(_ body: @escaping @Sendable (ConnectionEvent) -> Void) {
        let machines = state.withLock { state in
            if state.socket != nil { state.newListeners.append(body) }
            return state.machines
        }
        if let machines { monitor.runtime.thread.submit { machines.ingestListeners() } }
    }

    /// The peer's endpoint.
    public var remote: IPEndpoint? { facts.remote }

    /// The path that carries the connection now, with its tags and their sources: of a plain TCP connection the one that it
    /// is bound to; of an MPTCP connection the one that its data takes where it is steered, and the one that it came about
    /// over where it is not. Nil where no snapshot has come yet, and where the interface is gone.
    public var currentPath: ConnectionPath? {
        carryingInterface.map { ConnectionPath($0, policy: facts.policy) }
    }

    /// The interface of that path.
    var carryingInterface: PathInterface? {
        let carrier = state.withLock { $0.carrier }
        guard let snapshot = monitor.latestPath else { return nil }
        return carrier == 0 ? facts.interface(in: snapshot) : snapshot.interface(carrier)
    }

    /// The kernel's counters now; nil where the connection is closed.
    func currentSample() -> TransportSample? {
        state.withLock { state in
            state.socket?.sample()
        }
    }

    /// What carries the bytes now.
    public var transport: Transport {
        state.withLock { state in
            sample(&state, .all)
            return state.meter.transport
        }
    }

    /// How far the subflows can be steered, and why no further.
    public var control: ControlLevel { state.withLock { $0.meter.control } }

    /// What was carried so far, by path. After `stop`: all.
    public func transferReport() -> TransferReport {
        state.withLock { state in
            sample(&state, .all)
            count(&state)
            return state.meter.report()
        }
    }

    /// Ends the following, and lets go of the socket. The subflows stay as they are.
    public func stop() {
        let (isFirst, machines, fallback) = state.withLock {
            state -> (Bool, FollowerMachines?, FallbackReason?) in
            guard state.socket != nil else { return (false, nil, nil) }
            sample(&state, .all)
            // Its owner may go on using the socket.
            endIdleProbe(&state)
            forgetCookies(&state)
            state.socket = nil
            state.meter.end()
            state.newListeners = []
            state.closer = nil
            count(&state)
            return (true, state.machines.take(), state.untoldFallback.take())
        }
        guard isFirst else { return }
        if let fallback { log.add(.fallback(fallback)) }
        if let budget {
            let (used, runtime) = (budget.count(state.withLock { $0.meter.carried }), monitor.runtime)
            runtime.thread.submit { runtime.budgets.end(budget, using: used) }
        }
        log.close { [state] in state.withLock { $0.meter.report() } }
        if let end { end.ended(state.withLock { $0.meter.report() }) }
        if let machines {
            monitor.runtime.thread.submit { machines.end() }
        } else {
            _ = monitor.runtime.deferredStarts.remove(self)
        }
    }

    /// Returns when what was begun on the event thread is done: how far an adopted connection can be steered is known then.
    package func settled() async {
        await withCheckedContinuation { continuation in
            monitor.runtime.thread.submit { continuation.resume() }
        }
    }

    // MARK: On the event thread

    func startFollowing() {
        isAsleep.store(false, ordering: .relaxed)
        let begun = state.withLock { state -> (machines: FollowerMachines, first: PathSnapshot?)? in
            guard state.socket != nil, state.machines == nil else { return nil }
            let machines = FollowerMachines(self, facts, monitor)
            state.machines = machines
            return (machines, state.firstSnapshot.take())
        }
        guard let begun else { return }
        begun.machines.begin(begun.first)
        guard let budget else { return }
        monitor.runtime.budgets.add(budget.budget, for: monitor.channel)
        monitor.runtime.budgets.begin(budget)
    }

    func wake() {
        let machines = state.withLock { $0.machines }
        if let machines {
            machines.dataMoves(wasSent: written.load(ordering: .relaxed) != 0)
        } else if monitor.runtime.deferredStarts.remove(self) {
            startFollowing()
        }
    }

    /// Tells the machines when data moves, once.
    func sleep() {
        isAsleep.store(true, ordering: .relaxed)
        // Data that was written while this was awake has woken nothing.
        if written.load(ordering: .relaxed) != 0 { dataMoves() }
    }

    func takeNewListeners() -> [@Sendable (ConnectionEvent) -> Void] {
        state.withLock { state in
            defer { state.newListeners = [] }
            return state.newListeners
        }
    }

    func note(carrier: InterfaceIndex) { state.withLock { $0.carrier = carrier } }

    /// Has a closure end the connection where its rules do (`PathRefusalAction.close`): called on a thread that must not be
    /// held up, at most once. Without one the socket is reset: its owner gets ECONNRESET or ENOTCONN.
    package func closes(by closer: @escaping @Sendable (PathRefusal) -> Void) {
        state.withLock { $0.closer = closer }
    }

    /// The connection's path is not allowed any more, and its rules are to end it.
    func close(because refusal: PathRefusal) {
        if let closer = state.withLock({ $0.closer }) { return closer(refusal) }
        abort()
    }

    /// Ends the connection at once: nothing that was written is sent any more.
    package func abort() {
        let loan = state.withLock { state in
            if let number = state.socket?.number {
                // The kernel forgets what was carried.
                sample(&state, .all)
                ConnectionAbort.perform(number)
            }
            return state.socket?.loan ?? nil
        }
        if let loan { monitor.runtime.thread.submit { loan(ConnectionAbort.perform) } }
    }

    /// Calls a closure with the connection's descriptor, where it is open; later where it has to be borrowed. The closure must
    /// not come back here.
    func withDescriptor(_ body: @escaping (CInt) -> Void) {
        let loan = state.withLock { state in
            if let number = state.socket?.number { body(number) }
            return state.socket?.loan ?? nil
        }
        loan?(body)
    }

    func set(_ level: ControlLevel) { state.withLock { $0.meter.level = level } }

    /// - Parameter isSteered: whether a machine asks for samples while data moves.
    func note(isSteered: Bool) {
        let next = MonotonicTime.now.advanced(by: Self.bookingInterval).nanoseconds
        nextBooking.store(isSteered || !isMPTCP ? .max : next, ordering: .relaxed)
    }

    /// Something has happened to the connection.
    package func tell(_ event: ConnectionEvent) {
        log.add(event)
        if case .steering(let event) = event {
            state.withLock { $0.meter.note(event) }
            if event == .stranded, let policy = facts.steering?.policy, let snapshot = monitor.latestPath {
                log.add(.waiting(policy.omissions(in: snapshot)))
            }
        }
    }
}
