// This process's end of the broker's protocol. Everything happens on the event thread, and nothing there waits for the
// daemon: requests are sent at once or not at all, and their answers come as they come.
//
//     absent ── start ──► greeting ── welcome ──► ready ── an answer is overdue ──► greeting (another connection)
//        ▲                   └── gone, refused ──┐   └── gone ──┐
//        └──────── a pause ◄─────────────────────┴──────────────┘
//
// A daemon that is stopped costs the first request `answerPatience`, and those after it nothing: until something is
// answered, `isReady` is false. After `silence` the connection is given up, so that the daemon, when it goes on, finds
// no orders of long ago: it reads nothing that a client left behind. The next socket asks for a welcome again, for
// `welcomePatience`; those after it wait for nothing. Sockets in use are passed in envelopes, and taken back
// where no answer comes: in a daemon's queue they would stay open after their programs have closed them.

import LinuxNet
import PathCore

/// A connection to `mpathd`, which is made again where it is lost.
package final class BrokerClient: @unchecked Sendable {
    /// What became of a request.
    package enum Outcome: Sendable, Hashable {
        case done
        case refused(BrokerFailure)
        /// No answer came, and none will: the daemon may have done it or not.
        case lost
        /// Nothing was sent.
        case notSent
    }

    private enum State {
        /// Not before the moment is it tried again.
        case absent(ControlLimit, until: MonotonicTime)
        case greeting
        case ready
    }

    private struct Pending {
        var id: UInt32
        var sent: MonotonicTime
        /// Until when the caller waits; nil for as long as it takes.
        var deadline: MonotonicTime?
        var completion: (Outcome) -> Void
        /// What its descriptor lies in.
        var envelope: DescriptorEnvelope?
    }

    private final class Link {
        let socket: Descriptor
        var registration: EventThread.Token?

        init(_ socket: consuming Descriptor) { self.socket = socket }
    }

    private let thread: EventThread
    private let path: String
    private let namespace: UInt64?
    private var link: Link?
    private var state = State.absent(.noPrivilege, until: .zero)
    private var pending: [Pending] = []
    private var lastID: UInt32 = 0
    private var timer: EventThread.Token?
    private var pause = firstPause
    /// Whether a request went unanswered for longer than its patience, and nothing was answered since.
    private var isLate = false
    private var waiting: [(deadline: MonotonicTime, body: () -> Void)] = []

    /// Hears the events of attached connections.
    package var onEvent: (SubflowEvent) -> Void = { _ in }
    /// Hears that the daemon is there: what was attached to an earlier one is to be attached again.
    package var onReady: () -> Void = {}
    /// Hears that it is not there any more.
    package var onLost: () -> Void = {}
    /// Whether to try again by itself: while there is something to attach.
    package var isNeeded: () -> Bool = { false }

    /// How long a socket waits for the daemon's answer before it is connected without.
    package static let answerPatience = Duration.milliseconds(20)
    /// The same for the first answer, for which a service manager may have to start the daemon.
    package static let welcomePatience = Duration.milliseconds(100)
    /// How long no answer comes before the connection is given up.
    static let silence = Duration.seconds(1)
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(2)

    /// - Parameters:
    ///   - path: of the daemon's socket.
    ///   - mostPackets: what the daemon may send in a second.
    package init(on thread: EventThread, path: String, mostPackets: Int = packetsPerSecond) {
        self.mostPackets = mostPackets
        self.thread = thread
        self.path = path
        namespace = try? SocketOption.namespaceCookie()
    }

    /// Where this process finds the daemon. A program that has more rights than its user believes no variable of its user's.
    package static var standardPath: String {
        ProcessEnvironment.trustedValue(BrokerProtocol.environmentName) ?? BrokerProtocol.path
    }

    /// What stands in the way; nil while requests may be sent.
    package var limit: ControlLimit? {
        switch state {
        case .absent(let limit, _): limit
        case .greeting: isLate ? .brokerSilent : nil
        case .ready: isLate ? .brokerSilent : nil
        }
    }

    /// Whether the daemon has welcomed this process, and answers.
    package var isReady: Bool {
        if case .ready = state { return !isLate }
        return false
    }

    /// Connects where that has not been tried lately.
    package func start() {
        thread.checkIsolated()
        guard case .absent(_, let until) = state, MonotonicTime.now >= until else { return }
        connect()
    }

    /// Calls a closure when the daemon can be asked, when it can't be, or when patience ends: at once, as a rule.
    package func whenSettled(_ body: @escaping () -> Void) {
        start()
        guard case .greeting = state, !isLate else { return body() }
        let deadline = MonotonicTime.now.advanced(by: Self.welcomePatience)
        waiting.append((deadline, body))
        setTimer()
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - passed: a descriptor to send with it, which stays the caller's.
    ///   - patience: how long to wait for the answer; nil for as long as it takes.
    ///   - completion: called once, later or now, and not for a request that is withdrawn.
    /// - Returns: the request's number; 0 where it was not sent.
    @discardableResult
    package func send(
        _ request: BrokerRequest, passing passed: CInt? = nil, patience: Duration? = nil,
        _ completion: @escaping (Outcome) -> Void
    ) -> UInt32 {
        thread.checkIsolated()
        guard case .ready = state else {
            completion(.notSent)
            return 0
        }
        return transmit(request, passed, patience: patience, completion)
    }

    /// Takes back what was passed with a request whose answer means nothing any more.
    package func withdraw(_ request: UInt32) {
        guard let place = pending.firstIndex(where: { $0.id == request }) else { return }
        forget(place)
    }

    /// Its answer may still come, and means nothing to the caller any more.
    private func forget(_ place: Int) {
        let old = pending[place]
        pending[place].deadline = nil
        pending[place].completion = { _ in }
        pending[place].envelope = nil
        // What goes with these may ask for something as it goes: not while `pending` is being changed.
        withExtendedLifetime(old) {}
    }

    /// Reads what has come up to now.
    package func drain() { if link != nil { receive() } }

    // MARK: The connection

    private func connect() {
        do throws(SystemError) {
            let link = Link(try LocalPackets.connect(to: path))
            link.registration = try thread.add(link.socket.number, for: .readable) { [weak self] readiness in
                self?.receive(isOver: !readiness.isDisjoint(with: [.error, .hangup]))
            }
            self.link = link
        } catch {
            // EAGAIN: as many wait to be accepted as may.
            fail(error.isMissing || error.isRefusal ? .noPrivilege : Self.limit(of: error))
            return
        }
        state = .greeting
        isLate = false
        _ = transmit(.hello, nil, patience: nil) { _ in }
    }

    private static func limit(of error: SystemError) -> ControlLimit {
        error.isWouldBlock ? .brokerSilent : .brokerRefused(error.words)
    }

    /// Gives the connection up, and tries again after a pause where that is needed.
    private func fail(_ limit: ControlLimit) {
        let wasReady = if case .ready = state { true } else { false }
        if let registration = link?.registration { thread.remove(registration) }
        link = nil
        state = .absent(limit, until: .now.advanced(by: pause))
        pause = min(pause * 2, Self.longestPause)
        isLate = false
        let lost = pending
        pending = []
        for var request in lost {
            request.envelope = nil
            request.completion(.lost)
        }
        releaseWaiting(all: true)
        if wasReady { onLost() }
        setTimer()
    }

    private func transmit(
        _ request: BrokerRequest, _ passed: CInt?, patience: Duration?,
        _ completion: @escaping (Outcome) -> Void
    ) -> UInt32 {
        guard let link else {
            completion(.notSent)
            return 0
        }
        // No number is 0, which the daemon has for itself.
        lastID = max(1, lastID &+ 1)
        let envelope: DescriptorEnvelope?
        do throws(SystemError) {
            envelope = request.passesSocketInUse ? try passed.map(DescriptorEnvelope.init) : nil
            let packet = request.packet(id: lastID)
            try LocalPackets.send(packet, passing: envelope?.number ?? passed, over: link.socket)
        } catch {
            // Full: the daemon has not read for long. Gone: the end is about to be read.
            isLate = isLate || error.isWouldBlock
            completion(.notSent)
            return 0
        }
        let (id, now) = (lastID, MonotonicTime.now)
        pending.append(
            Pending(
                id: id, sent: now, deadline: patience.map(now.advanced(by:)), completion: completion,
                envelope: envelope))
        setTimer()
        return id
    }

    /// Packets that are read at once: then other work of the thread gets its turn, and epoll calls again.
    private static let packetsAtOnce = 64
    /// What the daemon may send in a second. It passes on 16 announcements of a peer, and for each subflow that comes or goes an
    /// event; what says more is no daemon of ours, and is left alone for a while.
    package static let packetsPerSecond = 20_000
    private let mostPackets: Int
    private var received: (since: MonotonicTime, count: Int) = (.zero, 0)

    private func isTooMuch(at now: MonotonicTime) -> Bool {
        if received.since.duration(to: now) >= .seconds(1) { received = (now, 0) }
        received.count += 1
        return received.count > mostPackets
    }

    /// - Parameter isOver: whether the other end is closed, so that nothing comes after what is there.
    private func receive(isOver: Bool = false) {
        for _ in 0..<Self.packetsAtOnce {
            guard let link else { return }
            guard !isTooMuch(at: .now) else { return fail(.brokerRefused("it floods")) }
            let bytes: [UInt8]
            do throws(SystemError) {
                guard
                    let packet = try LocalPackets.receive(
                        from: link.socket, limit: BrokerProtocol.longestEvent, waits: false)
                else { return fail(.noPrivilege) }
                bytes = packet.bytes
            } catch {
                if !error.isWouldBlock || isOver { fail(.noPrivilege) }
                return
            }
            // What a later daemon says beyond this is ignored.
            if let message = BrokerMessage(bytes) { ingest(message) }
        }
    }

    private func ingest(_ message: BrokerMessage) {
        switch message {
        case .event(let event): onEvent(event)
        case .welcome(let id, let welcome):
            guard namespace == nil || welcome.namespace == namespace else {
                return fail(.brokerRefused(BrokerRefusal.otherNamespace.rawValue))
            }
            state = .ready
            pause = Self.firstPause
            answered(id, .done)
            releaseWaiting(all: true)
            onReady()
        case .done(let id), .status(let id, _): answered(id, .done)
        case .refused(let id, let failure):
            // No request's number: the daemon ends the connection.
            guard id != 0 else { return fail(.brokerRefused(failure.refusal.rawValue)) }
            if case .greeting = state { return fail(.brokerRefused(failure.refusal.rawValue)) }
            answered(id, .refused(failure))
        }
    }

    private func answered(_ id: UInt32, _ outcome: Outcome) {
        isLate = false
        // In the order of the requests.
        guard let first = pending.first, first.id == id else { return }
        // The daemon has opened it, or never will.
        pending.removeFirst()
        withExtendedLifetime(first) { first.completion(outcome) }
    }

    // MARK: Time

    private func releaseWaiting(all: Bool) {
        let now = MonotonicTime.now
        let due = waiting.filter { all || $0.deadline <= now }
        waiting.removeAll { all || $0.deadline <= now }
        for one in due { one.body() }
    }

    private func setTimer() {
        if let timer { thread.cancelTimer(timer) }
        timer = nil
        var deadlines = waiting.map(\.deadline) + pending.compactMap(\.deadline)
        if let first = pending.first {
            if !isLate { deadlines.append(first.sent.advanced(by: patience)) }
            if case .ready = state { deadlines.append(first.sent.advanced(by: Self.silence)) }
        }
        if case .absent(_, let until) = state, isNeeded() { deadlines.append(until) }
        guard let next = deadlines.min() else { return }
        timer = thread.schedule(at: next) { [weak self] in
            guard let self else { return }
            timer = nil
            timeReached()
        }
    }

    private var patience: Duration {
        if case .greeting = state { return Self.welcomePatience }
        return Self.answerPatience
    }

    private func timeReached() {
        // On a busy machine this thread, too, wakes late: the answer may be there.
        drain()
        let now = MonotonicTime.now
        if let first = pending.first {
            let waited = first.sent.duration(to: now)
            if waited >= patience { isLate = true }
            // A daemon that has not welcomed yet is waited for: to come again would only fill its queue.
            if case .ready = state, waited >= Self.silence { return fail(.brokerSilent) }
        }
        releaseWaiting(all: isLate)
        // What is told may send more, or give all up.
        let late = pending.indices.filter { pending[$0].deadline.map { $0 <= now } ?? false }
        let completions = late.map { pending[$0].completion }
        for place in late { forget(place) }
        for completion in completions { completion(.lost) }
        if isNeeded() { start() }
        setTimer()
    }
}
