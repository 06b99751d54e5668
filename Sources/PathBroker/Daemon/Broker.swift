// The daemon: accepts clients, each on a thread of its own, listens to the path manager, and runs the one `BrokerMachine`
// under a lock.
//
//     accepting thread ── connected ──┐
//     session threads ─── packets ────┤► machine, under the lock ─► messages (sent under it, without waiting, in order)
//     event thread ────── events ─────┘                          └► work of a session: done by its thread, outside it
//
// All that touches a client's descriptors may take as long as that client likes: to receive them, to look, to close them.
// So only the client's own thread does.

import LinuxNet
import PathCore

/// Lends the path manager's levers to the processes that connect.
package final class Broker: Sendable {
    private let machine: Locked<BrokerMachine>
    private let sessions = Locked<[BrokerMachine.ClientID: BrokerSession]>([:])
    private let lastID = Locked<BrokerMachine.ClientID>(0)
    /// Of one client.
    private let unreadBytes: Int
    private let selection: GuardedSelection
    private let thread = EventThread(name: "broker", mayWait: true)
    /// Used on the event thread alone.
    private nonisolated(unsafe) let events: SubflowEvents
    private nonisolated(unsafe) let lookup: ConnectionLookup
    private let log: @Sendable (BrokerLog) -> Void
    private let willRelease = Locked(false)
    /// How long after a client came or went the pages are given back that it took to welcome it.
    private static let releasePause = Duration.seconds(5)

    /// Serves the network namespace of the calling thread.
    ///
    /// - Parameter log: hears what an administrator may want to know. It must not wait.
    /// - Throws: EPERM or EACCES without CAP_NET_ADMIN, EROFS where the setting can't be written, ENOENT on a kernel without
    ///   MPTCP's userspace path manager.
    package init(
        limits: BrokerLimits = BrokerLimits(), journal: SysctlJournal = .standard,
        log: @escaping @Sendable (BrokerLog) -> Void = { _ in }
    ) throws(SystemError) {
        let boot = InputFile.line("/proc/sys/kernel/random/boot_id") ?? ""
        machine = Locked(
            BrokerMachine(namespace: try SocketOption.namespaceCookie(), boot: boot, limits: limits))
        unreadBytes = limits.unreadBytes
        selection = try GuardedSelection(journal: journal)
        lookup = try ConnectionLookup()
        events = SubflowEvents(on: thread, hidesCreations: true)
        self.log = log
        let availability = Locked<SubflowEvents.Availability?>(nil)
        try thread.perform { [self] () throws(SystemError) in
            let answer = events.start { [unowned self] event in ingest(event) }
            availability.withLock { $0 = answer }
        }
        if case .unavailable(let limit)? = availability.withLock({ $0 }) { throw SystemError(limit) }
    }

    /// How often a client held a socket up, so that the watchdog put the setting back.
    package var heldUp: UInt64 { selection.heldUp }

    /// What it is doing, with the clients of all users.
    package var status: BrokerStatus { status(for: nil) }

    /// Whether nothing is kept of any client.
    package var isIdle: Bool { machine.withLock { $0.isEmpty } && sessions.withLock { $0.isEmpty } }

    /// Lets no change of the setting begin any more: before the process ends.
    package func close() { selection.close() }

    // MARK: Clients

    /// Accepts clients until the process ends.
    package func serve(_ listener: borrowing Descriptor) throws(SystemError) -> Never {
        // Those who are not admitted yet have nothing to pass.
        let isGuarded = LocalPackets.allowDescriptors(false, on: listener)
        let closer = isGuarded ? nil : EventThread(name: "closer", mayWait: true)
        while true {
            do throws(SystemError) {
                start(try LocalPackets.accept(on: listener), closer)
            } catch {
                guard error.isPassing || error.isOutOfDescriptors || error.isConnectionAborted else {
                    throw error
                }
                // Without a descriptor the client waits; the listener stays ready meanwhile.
                log(.note("\(error)"))
                ThreadPause.sleep(.milliseconds(100))
            }
        }
    }

    /// - Parameter closer: closes sockets in which descriptors may wait, one after the other; nil where none can.
    private func start(_ socket: consuming Descriptor, _ closer: EventThread?) {
        guard let peer = try? LocalPackets.peer(of: socket) else { return }
        let id = lastID.withLock { last in
            last += 1
            return last
        }
        releaseSoon()
        let session = BrokerSession(id, socket, peer, unreadBytes: unreadBytes, self)
        sessions.withLock { $0[id] = session }
        handle { $0.connected(id, user: peer.user, process: peer.process, at: .now) }
        if machine.withLock({ $0.serves(id) }) {
            if session.start() { return }
        } else if session.hasUnread, session.startClosing() {
            return
        }
        guard let closer else { return ended(session) }
        // It may take as long as the client likes: not here, nor on a thread for each.
        closer.submit { [self] in ended(session) }
    }

    /// A session's thread does nothing for its client any more, and waits until that has read what it was sent.
    func left(_ session: BrokerSession) { handle { $0.left(session.id) } }

    /// A session's thread ends. The client counts until its socket is closed, however long that takes.
    func ended(_ session: BrokerSession) {
        machine.withLock { _ in sessions.withLock { $0[session.id] = nil } }
        session.close()
        handle { $0.disconnected(session.id) }
        releaseSoon()
    }

    /// Between one client and the next there may be hours.
    private func releaseSoon() {
        let isFirst = willRelease.withLock { willRelease in
            defer { willRelease = true }
            return !willRelease
        }
        guard isFirst else { return }
        thread.submit { [self] in
            _ = thread.schedule(at: .now.advanced(by: Self.releasePause)) { [self] in
                willRelease.withLock { $0 = false }
                ProgramPages.release()
            }
        }
    }

    // MARK: The machine

    /// Has the machine handle something, and does what it wants.
    ///
    /// - Returns: what a session's thread is to do.
    @discardableResult
    func handle(_ body: (inout BrokerMachine) -> [BrokerMachine.Action]) -> BrokerMachine.Work? {
        var work: BrokerMachine.Work?
        machine.withLock { machine in
            var pending = body(&machine)
            var next = 0
            while next < pending.count {
                defer { next += 1 }
                switch pending[next] {
                case .send(let id, let message):
                    guard let session = sessions.withLock({ $0[id] }) else { continue }
                    if !session.send(message) { pending += machine.failedToSend(to: id) }
                case .work(_, let one): work = one
                case .drop(let id):
                    guard let session = sessions.withLock({ $0[id] }) else { continue }
                    session.end()
                    log(.dropped(process: session.peer.process, user: session.peer.user))
                case .verify(let tokens): thread.submit { [self] in verify(tokens) }
                case .wake(let id): sessions.withLock { $0[id] }?.wake()
                case .hideAnnouncements:
                    thread.submit { [self] in events.hideAnnouncements(for: .seconds(1)) }
                }
            }
        }
        return work
    }

    func status(for user: UInt32?) -> BrokerStatus {
        machine.withLock { $0.status(for: user) }
    }

    func select(
        for socket: borrowing Descriptor, of peer: LocalPeer, by deadline: MonotonicTime?
    ) -> GuardedSelection.Outcome {
        let outcome = selection.tryToSelect(for: socket, by: deadline)
        if outcome.failure?.isTimeout == true { log(.heldUp(process: peer.process, user: peer.user)) }
        return outcome
    }

    // MARK: On the event thread

    private func ingest(_ event: SubflowEvent) {
        var user: UInt32?
        if let token = event.token, machine.withLock({ $0.wantsUser(of: event) }) {
            // Without counting subflows, which may wait.
            user = try? lookup.find(token, countsSubflows: false)?.user
        }
        handle { $0.event(event, of: user, at: .now) }
    }

    private func verify(_ tokens: [ConnectionToken]) {
        var cookies: [(ConnectionToken, UInt64?)] = []
        for token in tokens {
            do throws(SystemError) {
                // Without counting subflows, which may wait.
                cookies.append((token, try lookup.find(token, countsSubflows: false)?.cookie))
            } catch {
                // A question that fails says nothing of the connection.
            }
        }
        handle { $0.verified(cookies) }
    }
}

/// What an administrator may want to know.
package enum BrokerLog: Sendable, Hashable {
    /// A client's connection was ended: it broke a rule, or does not read.
    case dropped(process: Int32, user: UInt32)
    /// A client held its socket's lock while the setting was changed, and the watchdog put that back.
    case heldUp(process: Int32, user: UInt32)
    case note(String)
}
