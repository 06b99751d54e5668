// The only place that gives orders to the kernel, and the only one that knows its rules:
//
//  1. It takes orders once data was acknowledged (RFC 8684 section 3.1: fully established).
//  2. It wants each address to have one id, and forgets it with any subflow of that address (`AddressBook`).
//  3. A peer has room for two subflows beside the first, unless it is told otherwise.
//  4. A dead path takes two orders. RM_ADDR, over a path that lives, makes the peer give up the subflow and send again
//     what was on it; destroying it here does the same for this side. One without the other leaves one direction waiting
//     for a timer. RM_ADDR is sent once and ignored by a peer for which the subflow that brings it is not fully
//     established, so over a new one it waits for a round trip.
//  5. MP_PRIO travels on the subflow that it is about. The kernel finds none that is new, and some never.
//  6. A peer that is told to use another subflow before it has given up a dead one sends what is new there first: up to
//     64 KB, three round trips in a new window, before what it has to repeat. So RM_ADDR goes first, and MP_PRIO once its
//     worker (mptcp_worker) has run, where one subflow is left: that carries meanwhile, too. Of several the peer has to be
//     told which. Where RM_ADDR has to wait MP_PRIO does not, or the peer would answer over the dead path until then.
//
// The end of a subflow costs: the kernel, here and at the peer, sends again all that is unacknowledged on the
// connection, whatever was on that subflow (__mptcp_retransmit_pending_data). In a bulk transfer those are
// megabytes, and hundreds of milliseconds. So its callers end one in the middle of one only where the path is dead that
// carries it, or a reserve takes the place of a path that is back.

/// What a connection's subflows are, and the orders that make them what they are to be.
struct Reconciler: Sendable {
    /// What became of an order to carry or to stand by.
    enum Priority: Sendable, Hashable {
        case ordered
        /// The kernel takes it from this time on.
        case later(MonotonicTime)
        /// The kernel takes no such order.
        case impossible
    }

    var subflows = SubflowTable()
    /// The kernel takes orders.
    var isReady = false
    /// This end sends no more; its kernel makes no further subflow.
    var hasEnded = false
    /// The peer sends no more, and takes no further subflow.
    var peerHasEnded = false
    private var book: AddressBook
    /// Addresses that the peer is to be told to forget, as soon as there is a way to tell it. One for each path.
    private var withdrawals: [Withdrawal] = []
    private var actions: [SteeringAction] = []
    /// Subflows that carry already, which the peer is told from that time on (rule 6).
    private var promotions: [SubflowID] = []
    private var promotesFrom = MonotonicTime.zero

    /// What resets the first subflow, whose end was to be that when there was no other one.
    private var lateReset: CopyOnWrite<LateReset>?

    /// How the first subflow ends; any other is closed on both ways by its end.
    enum FirstEnd: Sendable {
        /// This end sends no more, and takes what the peer has queued there.
        case shutdown
        /// The peer is to send nothing more there.
        case reset
        /// The same, as soon as another subflow goes on.
        case resetLater
    }

    private struct LateReset: Sendable {
        let order: SubflowAction
        let address: IPAddress
    }

    private struct Withdrawal: Sendable {
        let path: PathKey
        let address: SubflowAction.LocalAddress
        let after: MonotonicTime
    }

    /// - Parameter first: the first subflow's address.
    init(first: IPAddress) { book = AddressBook(first: first) }

    // MARK: What is wanted

    mutating func drainActions() -> [SteeringAction] {
        defer { actions = [] }
        return actions
    }

    /// Something else than an order, in its place among them.
    mutating func add(_ action: SteeringAction) { actions.append(action) }

    private mutating func order(_ order: SubflowAction) { actions.append(.perform(order)) }

    // MARK: Making subflows

    /// The kernel takes an order to make one.
    var takesJoins: Bool { isReady && !hasEnded && !peerHasEnded }

    func hasRoom(_ tuning: SteeringTuning) -> Bool {
        subflows.all.count { $0.id != .first } < tuning.room
    }

    /// The id of a local address; nil where all are taken.
    mutating func id(of address: IPAddress) -> UInt8? {
        book.id(of: address, isUsed: { address in subflows.all.contains { $0.address.address == address } })
    }

    /// The same for an address that a subflow has already, which this end did not make.
    mutating func id(ofAdopted address: IPAddress) -> UInt8? { book.id(of: address, isUsed: { _ in true }) }

    mutating func create(
        _ route: Subflow.Route, _ role: Subflow.Role, isBackup: Bool, at now: MonotonicTime
    ) {
        subflows.add(route, role, isBackup: isBackup, at: now)
        order(.create(route.address, isBackup: isBackup, remote: route.remote))
        book.made(route.address)
    }

    /// The kernel did not make one.
    /// - Returns: the one it was to make.
    mutating func creationFailed(
        _ local: SubflowAction.LocalAddress, _ remote: IPEndpoint, isReady: Bool
    ) -> Subflow? {
        guard
            let id = subflows.last(where: {
                $0.address == local && $0.remote == remote && $0.port == nil && !$0.isOpen
            })
        else { return nil }
        // With it the kernel has forgotten the address's id.
        book.destroyed(local.address)
        if !isReady { self.isReady = false }
        return subflows.remove(id)
    }

    // MARK: Ending subflows

    /// A subflow has ended, by our order or without one.
    mutating func noteEnd(of id: SubflowID) {
        if id == .first { add(.firstSubflowEnded) }
    }

    /// Ends a subflow. Without its port the kernel can't be told, which is for the caller to know.
    mutating func end(_ id: SubflowID) { destroy(subflows.remove(id)) }

    /// Ends all that are meant and whose ports are known.
    mutating func endAll(_ first: FirstEnd = .shutdown, where isMeant: (Subflow) -> Bool) {
        for subflow in subflows.all where subflow.port != nil && isMeant(subflow) { destroy(subflow, first) }
        subflows.removeAll { $0.port != nil && isMeant($0) }
    }

    /// Ends all of a path.
    ///
    /// - Parameters:
    ///   - isCertain: whether also those end whose ports are not known: the path is gone.
    ///   - first: how it ends if it is there.
    mutating func endAll(on path: PathKey, isCertain: Bool, _ first: FirstEnd = .shutdown) {
        endAll(first) { $0.path == path }
        if isCertain { subflows.removeAll { $0.path == path } }
        subflows.updateEach { if $0.path == path, $0.role == .reserve { $0.phase = .ending } }
    }

    private mutating func destroy(_ subflow: Subflow, _ first: FirstEnd = .shutdown) {
        defer { noteEnd(of: subflow.id) }
        guard let local = subflow.local else { return }
        let reset = SubflowAction.reset(
            local: local, remote: subflow.remote, interface: subflow.route.interface)
        // Any other than the first: kernels before 6.11 lose an orphan that is reset.
        let isFirst = subflow.id == .first
        order(isFirst && first == .reset ? reset : .destroy(local: local, remote: subflow.remote))
        if isFirst, first == .resetLater {
            lateReset = CopyOnWrite(LateReset(order: reset, address: local.address))
        }
        book.destroyed(local.address)
    }

    /// Resets the first subflow, if it was to be when another goes on, and one does.
    mutating func settleReset(_ paths: PathTable) {
        guard let reset = lateReset?.value, goesOn(paths, without: nil) else { return }
        lateReset = nil
        order(reset.order)
        book.destroyed(reset.address)
    }

    /// Whether a subflow carries data, or may, on a path that is not known to be dead.
    func goesOn(_ paths: PathTable, without path: PathKey?) -> Bool {
        subflows.all.contains {
            $0.path != path && $0.role == .data && $0.isOpen && !paths[$0.path].hasFailed
        }
    }

    // MARK: Priorities

    /// Has a subflow carry or stand by, where and when the kernel takes such an order.
    mutating func prioritize(_ id: SubflowID, isBackup: Bool, at now: MonotonicTime) -> Priority {
        let subflow = subflows[id]
        guard subflow.isOpen, !subflow.keepsPriority, let local = subflow.local else { return .impossible }
        guard now >= subflow.prioritizedFrom else { return .later(subflow.prioritizedFrom) }
        subflows[id].isBackup = isBackup
        if !isBackup, now < promotesFrom, isAlone(id) {
            promotions.append(id)
            return .ordered
        }
        if isBackup, let place = promotions.firstIndex(of: id) {
            promotions.remove(at: place)
            return .ordered
        }
        order(.prioritize(local: local, remote: subflow.remote, isBackup: isBackup))
        return .ordered
    }

    private func isAlone(_ id: SubflowID) -> Bool { !subflows.all.contains { $0.id != id && $0.isOpen } }

    /// Tells the peer what is to carry, when it has given up what it was told to.
    mutating func settlePromotions(_ timers: inout TimerTable, at now: MonotonicTime) {
        guard !promotions.isEmpty else { return }
        guard now >= promotesFrom else { return timers.set(.connection(.promotion), at: promotesFrom) }
        for id in promotions where subflows.contains(id) && !subflows[id].isBackup {
            guard let local = subflows[id].local else { continue }
            order(.prioritize(local: local, remote: subflows[id].remote, isBackup: false))
        }
        promotions = []
    }

    /// The kernel did not take such an order.
    mutating func prioritizationFailed(
        _ id: SubflowID, isBackup: Bool, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        let subflow = subflows[id]
        subflows[id].isBackup = !isBackup
        promotions.removeAll { $0 == id }
        // Before the peer's last word of the handshake the kernel finds no such subflow. One that was found often enough
        // before is stubborn, or gone.
        if subflow.openSince.map({ $0.duration(to: now) < tuning.settlingTime }) ?? true {
            // After an RM_ADDR that waits for the same (rule 6).
            subflows[id].prioritizedFrom = max(subflow.signalsFrom(tuning) ?? now, now)
                .advanced(by: tuning.priorityPause)
        } else {
            subflows[id].keepsPriority = true
        }
    }

    // MARK: Taking addresses back

    /// Tells the peer to forget a path's address, now or as soon as there is a way to tell it.
    mutating func withdraw(
        _ address: SubflowAction.LocalAddress, of path: PathKey, _ paths: PathTable, at now: MonotonicTime,
        _ tuning: SteeringTuning
    ) {
        let from = canSignal(about: address, paths, tuning)
        if let from, from <= now { return withdraw(address, at: now, tuning) }
        withdrawals.removeAll { $0.path == path }
        withdrawals.append(Withdrawal(path: path, address: address, after: from ?? now))
    }

    /// What was to be withdrawn of a path that is not allowed any more is forgotten.
    mutating func forgetWithdrawal(of path: PathKey) { withdrawals.removeAll { $0.path == path } }

    /// Withdraws what could not be withdrawn when it was due.
    mutating func settleWithdrawals(
        _ paths: PathTable, _ timers: inout TimerTable, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        guard !withdrawals.isEmpty else { return }
        for path in paths.keys {
            guard let place = withdrawals.firstIndex(where: { $0.path == path }) else { continue }
            let withdrawal = withdrawals[place]
            let sharing = subflows.all.filter { $0.address.id == withdrawal.address.id }
            if sharing.contains(where: { $0.role == .data && $0.isOpen }) {
                // It is in use again.
                withdrawals.remove(at: place)
                continue
            }
            // A handshake from that address is under way: the peer would end what it has of it.
            guard sharing.isEmpty, let from = canSignal(about: withdrawal.address, paths, tuning)
            else { continue }
            let due = max(from, withdrawal.after)
            guard now >= due else {
                timers.set(.path(path, .withdrawal), at: due)
                continue
            }
            withdrawals.remove(at: place)
            withdraw(withdrawal.address, at: now, tuning)
        }
    }

    private mutating func withdraw(
        _ address: SubflowAction.LocalAddress, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        // The kernel takes back only what it knows; telling the peer of the address makes it known again.
        if !book.canWithdraw(address) { order(.announce(address)) }
        order(.withdraw(address))
        book.destroyed(address.address)
        promotesFrom = now.advanced(by: tuning.handoff.peerTime)
    }

    /// From when on a subflow of another address can tell the peer something; nil where there is none.
    private func canSignal(
        about address: SubflowAction.LocalAddress, _ paths: PathTable, _ tuning: SteeringTuning
    ) -> MonotonicTime? {
        var first: MonotonicTime?
        for subflow in subflows.all
        where subflow.address.id != address.id && !paths[subflow.path].hasFailed {
            guard let from = subflow.signalsFrom(tuning) else { continue }
            first = min(first ?? from, from)
        }
        return first
    }
}
