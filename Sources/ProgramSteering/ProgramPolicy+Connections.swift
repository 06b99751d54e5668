// The program's connections: looked at until the handshake is complete, and followed from then on.

import CTrap
import LinuxNet
import Multipath

extension ProgramPolicy {
    /// A handshake under way.
    struct Look {
        var pause: Duration
        var since: MonotonicTime
        /// Whether a timer waits to look; else the trap has been asked for a duplicate.
        var isScheduled = false
        /// Whether its path has been looked at, because no answer came.
        var isExamined = false
    }

    private static let firstLook = Duration.milliseconds(1)
    private static let longestLook = Duration.milliseconds(25)
    private static let certainty = Duration.seconds(1)
    /// From then on a handshake is looked at less often.
    private static let longHandshake = Duration.seconds(3)
    private static let lateLook = Duration.milliseconds(500)
    /// From then on it is asked whether its destination answers over other interfaces.
    private static let slowHandshake = Duration.milliseconds(300)
    /// The kernel's own patience is some 130 s.
    private static let longestHandshake = Duration.seconds(200)
    private static let mostLoans = 1_024
    /// So many at a time: the trap has calls to answer.
    private static let mostLooks = 32
    private static let crowdedLook = Duration.milliseconds(5)

    // MARK: Handshakes

    func look(at cookie: UInt64) {
        looks[cookie] = Look(pause: Self.firstLook, since: .now)
        scheduleLook(cookie, Self.firstLook)
    }

    func scheduleLook(_ cookie: UInt64, _ pause: Duration) {
        guard looks[cookie]?.isScheduled == false else { return }
        looks[cookie]?.isScheduled = true
        _ = thread.schedule(at: .now.advanced(by: pause)) { [self] in
            dueLooks.append(cookie)
            startLooks()
        }
    }

    /// Looks at those whose time has come, in their order and so many at a time. The rest waits behind one timer, however many they
    /// are.
    private func startLooks() {
        while let cookie = dueLooks.first, loans.count < Self.mostLooks, !channel.isCrowded {
            dueLooks.removeFirst()
            guard looks[cookie] != nil else { continue }
            looks[cookie]?.isScheduled = false
            borrow(cookie) { [self] in lookedAt(cookie, $0) }
        }
        guard !dueLooks.isEmpty, !isWaitingToLook else { return }
        isWaitingToLook = true
        _ = thread.schedule(at: .now.advanced(by: Self.crowdedLook)) { [self] in
            isWaitingToLook = false
            startLooks()
        }
    }

    /// What the trap was asked for and has not given is lost with it.
    func forgetLoans() {
        loans = [:]
        for (cookie, look) in looks { scheduleLook(cookie, look.pause) }
    }

    /// Gets a duplicate of a program's socket for the moment of a call; nil where there is none to be had.
    private func borrow(_ cookie: UInt64, _ body: @escaping (CInt?) -> Void) {
        guard let socket = ledger[cookie], loans.count < Self.mostLoans, !channel.isCrowded else {
            return body(nil)
        }
        lastLoan = max(1, lastLoan &+ 1)
        loans[lastLoan] = (cookie, body)
        var message = trap_message(TRAP_BORROW, sequence: lastLoan)
        (message.thread, message.descriptor) = (socket.thread, socket.descriptor)
        (message.cookie, message.inode) = (cookie, socket.inode)
        message.process = UInt64(socket.process ?? 0)
        channel.send(message)
    }

    func lent(_ message: trap_message, _ descriptor: CInt?) {
        guard let loan = loans.removeValue(forKey: message.sequence) else { return }
        // The program may have moved it.
        if descriptor != nil { ledger.update(loan.cookie) { $0.descriptor = message.descriptor } }
        loan.body(descriptor)
        startLooks()
    }

    private func lookedAt(_ cookie: UInt64, _ descriptor: CInt?) {
        guard var look = looks[cookie] else { return }
        guard let descriptor else {
            looks[cookie] = nil
            return ended(cookie, .brief)
        }
        switch LentSocket.look(descriptor) {
        // A socket whose call has been let go and has not begun yet looks like one that has failed.
        case .failed where look.since.duration(to: .now) >= Self.certainty:
            looks[cookie] = nil
            ended(cookie, .failed)
        case .connecting, .failed:
            let waited = look.since.duration(to: .now)
            guard waited < Self.longestHandshake else {
                looks[cookie] = nil
                return ended(cookie, .failed)
            }
            if waited >= Self.slowHandshake, !look.isExamined, let socket = ledger[cookie],
                let destination = socket.destination, let interface = socket.interface
            {
                look.isExamined = chooser.examine(destination, over: interface) { [weak self] in
                    switch self?.ledger[cookie]?.state {
                    case .connected, .failed: false
                    default: true
                    }
                }
            }
            let longest = waited < Self.longHandshake ? Self.longestLook : Self.lateLook
            look.pause = min(look.pause * 2, longest)
            looks[cookie] = look
            scheduleLook(cookie, look.pause)
        case .connected(let facts):
            looks[cookie] = nil
            connected(cookie, facts, descriptor)
        }
    }

    private func ended(_ cookie: UInt64, _ state: ProgramSocket.State) {
        ledger.update(cookie) { $0.state = state }
        // A socket that has failed may connect again.
        if state == .brief, !configuration.keepsEnded { ledger.forget(cookie) }
    }

    private func connected(_ cookie: UInt64, _ facts: LentSocket.Facts, _ descriptor: CInt) {
        ledger.update(cookie) { $0.state = .connected(facts.transport) }
        guard let socket = ledger[cookie] else { return }
        // At once, because there is a descriptor at hand.
        if let token = facts.token, socket.level == .perConnectionByBroker {
            supply.attach(token, by: descriptor)
        }
        voice?.connected(socket)
        if let limit = socket.level.limit, facts.token != nil { noteUnsteered(limit) }
        follow(socket, descriptor)
    }

    // MARK: Connections

    private func follow(_ socket: ProgramSocket, _ descriptor: CInt) {
        let cookie = socket.cookie
        let follower = ConnectionFollower(
            lent: descriptor, madeWith: socket.level, configuration.connection, monitor: monitor
        ) { [weak self] body in
            self?.borrow(cookie) { if let descriptor = $0 { body(descriptor) } }
        }
        guard let follower else { return }
        followers[cookie] = follower
        ledger.update(cookie) { $0.isFollowed = true }
        let events = follower.events
        // This object lives for as long as the process.
        Task { [self] in
            for await event in events { thread.submit { [self] in happened(event, to: cookie) } }
        }
        follower.begin(nil)
    }

    private func happened(_ event: ConnectionEvent, to cookie: UInt64) {
        if case .closed(let report) = event {
            followers[cookie] = nil
            ledger.update(cookie) { ($0.report, $0.isFollowed) = (report, false) }
            if !configuration.keepsEnded { ledger.forget(cookie) }
            return
        }
        if case .fallback(let reason) = event {
            ledger.update(cookie) {
                ($0.state, $0.level) = (
                    .connected(.tcp(fallback: reason)), .observeOnly(because: .plainTCP)
                )
            }
        }
        if let socket = ledger[cookie] {
            voice?.event(event, of: socket)
        }
    }
}
