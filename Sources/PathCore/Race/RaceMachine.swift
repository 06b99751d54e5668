// The race: which attempt starts when, and which wins.
//
// Rules (RFC 8305 section 5, RFC 9623 section 4):
//  1. Attempts are staggered, never all at once. Inside a branch (a path) the next one starts when the
//     branch's attempt delay has passed since the last one, or at once when one of the branch fails.
//  2. The next branch opens one attempt delay after the one before it, or at once when that one has nothing
//     left that could still win or start, or is suspect while another is not. Branches then run on independent timers (RFC 9623, "staggered
//     racing"), so that many addresses on a dead path never hold back a living one.
//  3. The plan may change while the race runs: a second family's addresses come late (RFC 8305 section 3), a
//     path appears, a path is lost. What was attempted is not attempted again; attempts over a path that is
//     no longer in the plan are cancelled at once; a new branch waits for its turn like any other.
//  4. The first attempt that is usable wins; all others are cancelled in the same step. Usable is a complete
//     handshake, or, where the caller confirms, what the caller calls so (TLS is up): until then the others
//     go on (RFC 8305 section 5, "a connection that needs TLS").
//  5. The race fails when nothing is left and nothing more can come, or at its deadline. The deadline binds
//     everything: it counts from the beginning of name resolution. An answer that came before the machine looked
//     at the clock still wins.
//  6. A path whose own name server is still being asked is waited for by the less preferred ones, before the
//     first of them opens: for RFC 8305's Resolution Delay, as A waits for AAAA. Without that a millisecond
//     between two name servers would choose the path. A path that is suspect is not waited for.
//
//               plan                          connected             confirmed
//   ┌───────────┐ ──► ┌─────────┐ ─────────────────────────────────► ┌──────────┐
//   │ resolving │     │ racing  │ ◄─ plan ─┐   (or: connected, where  │ finished │
//   └───────────┘     └─────────┘ ─────────┘    not confirmed)       └──────────┘
//         │ failed, deadline   │ nothing left, deadline, cancelled        ▲
//         └────────────────────┴──────────────────────────────────────────┘
//
// Call order: `begin`, then `plan` (again whenever it changes) or `resolutionFailed`; then `connected`,
// `confirmed`, `failed`, `suspect` and `timeReached` as they happen. After each call perform the actions in order, and
// call `timeReached` at `nextDeadline`. `cancel` is legal at any time. A finished machine answers everything
// with no action.

/// Decides when each connection attempt starts, and which one wins.
package struct RaceMachine: Sendable {
    private struct Lane: Sendable {
        var branch: Branch
        /// What has not been started yet.
        var waiting: ArraySlice<Candidate> = []
        var opened: MonotonicTime?
        /// The last start in it, or the last handshake that is to be confirmed.
        var latest: MonotonicTime?
        /// One of its attempts failed, so the next one starts at once.
        var isHurried = false
        var running = 0

        /// Whether it can neither win nor start anything any more.
        var isExhausted: Bool { waiting.isEmpty && running == 0 }

        /// When the next candidate starts; nil while the lane is closed or has none left.
        var nextStart: MonotonicTime? {
            guard let opened, !waiting.isEmpty else { return nil }
            guard let latest, !isHurried else { return opened }
            let isFallback = waiting.first?.transport == .tcp && branch.candidates.first?.transport == .mptcp
            return latest.advanced(by: isFallback ? branch.fallbackDelay : branch.boundedDelay)
        }
    }

    private enum State: Sendable {
        case idle
        case resolving
        case racing
        case finished
    }

    package let configuration: Configuration
    /// Every attempt that was started, by its number.
    package private(set) var attempts: [Attempt] = []
    private var state = State.idle
    private var lanes: [Lane] = []
    /// Whether the plan may still grow: an answer of the resolver, or a path, is waited for.
    private var isPlanFinal = false
    private var deadline: MonotonicTime?
    /// The lane that opened last, by its interface.
    private var latestOpening: (interface: InterfaceIndex, at: MonotonicTime)?
    /// A path was lost, so the next lane opens at once.
    private var isOpeningHurried = false
    /// The paths preferred to every branch, whose name servers are still being asked.
    private var awaited: Set<InterfaceIndex> = []
    /// Since when there is something to attempt.
    private var answeredAt: MonotonicTime?
    /// The paths that others have found silent.
    private var suspects: Set<InterfaceIndex> = []

    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    /// The next moment at which `timeReached` has something to do.
    package var nextDeadline: MonotonicTime? {
        switch state {
        case .idle, .finished: nil
        case .resolving: deadline
        case .racing:
            lanes.reduce(earlier(deadline, nextOpening?.at)) { earlier($0, $1.nextStart) }
        }
    }

    /// Name resolution starts, and with it the clock of the deadline.
    package mutating func begin(at now: MonotonicTime) {
        guard case .idle = state else { return }
        state = .resolving
        deadline = now.advanced(by: configuration.timeout)
    }

    /// What can be attempted now, in order of preference.
    ///
    /// - Parameters:
    ///   - branches: one for each path.
    ///   - awaited: the paths that may still come to stand before the first of the branches.
    ///   - isFinal: whether nothing more can come; if not, the race goes on though nothing is left.
    ///   - now: the time of the call.
    package mutating func plan(
        _ branches: [Branch], awaiting awaited: Set<InterfaceIndex> = [], isFinal: Bool, at now: MonotonicTime
    ) -> [Action] {
        switch state {
        case .idle, .finished: return []
        case .resolving, .racing: break
        }
        var actions: [Action] = []
        for lane in lanes where !branches.contains(where: { $0.interface == lane.branch.interface }) {
            actions += lose(lane.branch.interface, at: now)
        }
        // What its path's loss ended may be attempted again when the path is back.
        func isAttempted(_ candidate: Candidate) -> Bool {
            attempts.contains {
                $0.candidate == candidate && $0.outcome != .pathLost || $0.refutes(candidate)
            }
        }
        lanes = branches.map { branch in
            var lane =
                lanes.first { $0.branch.interface == branch.interface } ?? Lane(branch: branch)
            lane.branch = branch
            let hadNothing = lane.isExhausted
            lane.waiting =
                attempts.isEmpty ? branch.candidates[...] : branch.candidates.filter { !isAttempted($0) }[...]
            if hadNothing { lane.isHurried = true }
            return lane
        }
        self.awaited = awaited
        answeredAt = lanes.allSatisfy({ $0.waiting.isEmpty }) ? nil : answeredAt ?? now
        isPlanFinal = isFinal
        state = .racing
        return actions + advance(at: now)
    }

    /// The name has no address.
    package mutating func resolutionFailed(_ failure: ResolutionError, at now: MonotonicTime) -> [Action] {
        switch state {
        case .resolving: break
        // Asked again when a path appeared, after a plan with nothing in it.
        case .racing: guard lanes.isEmpty, attempts.isEmpty else { return [] }
        case .idle, .finished: return []
        }
        return fail(.resolution(failure), at: now)
    }

    /// An attempt's handshake is complete.
    package mutating func connected(_ id: AttemptID, at now: MonotonicTime) -> [Action] {
        guard case .racing = state, attempts[id].outcome == .pending, attempts[id].connected == nil else {
            return []
        }
        attempts[id].connected = now
        guard configuration.needsConfirmation else { return win(id, at: now) }
        // It has shown that its path works; TLS gets as long as the handshake before the next one starts.
        if let lane = lane(of: id) { lanes[lane].latest = now }
        if latestOpening?.interface == attempts[id].candidate.interface { latestOpening?.at = now }
        return [.confirm(id)]
    }

    /// A connected attempt is usable.
    package mutating func confirmed(_ id: AttemptID, at now: MonotonicTime) -> [Action] {
        guard case .racing = state, attempts[id].outcome == .pending, attempts[id].connected != nil else {
            return []
        }
        return win(id, at: now)
    }

    /// An attempt ended without a connection.
    ///
    /// - Parameter isRefuted: whether another host than the one that was meant answers at its address. Over its path the
    ///   address is not attempted again, with another protocol neither.
    package mutating func failed(
        _ id: AttemptID, reason: String, isRefuted: Bool = false, at now: MonotonicTime
    ) -> [Action] {
        guard case .racing = state, attempts[id].outcome == .pending else { return [] }
        end(id, .failed(reason), at: now)
        attempts[id].isRefuted = isRefuted
        if let lane = lane(of: id) {
            lanes[lane].running -= 1
            lanes[lane].isHurried = true
            if isRefuted {
                let attempt = attempts[id]
                lanes[lane].waiting = lanes[lane].waiting.filter { !attempt.refutes($0) }[...]
            }
        }
        return advance(at: now)
    }

    /// Whether all that the plan has was attempted, and has failed: without more addresses or paths this race is lost.
    package var hasNothingLeft: Bool {
        guard case .racing = state else { return false }
        return lanes.allSatisfy(\.isExhausted)
    }

    /// These paths show signs of being dead, and no others: they are not waited for. They are attempted all the
    /// same. Where all are suspect it says nothing about any of them.
    package mutating func suspect(_ interfaces: Set<InterfaceIndex>, at now: MonotonicTime) -> [Action] {
        guard suspects != interfaces else { return [] }
        suspects = interfaces
        guard case .racing = state else { return [] }
        return advance(at: now)
    }

    /// The clock shows `nextDeadline` or later.
    package mutating func timeReached(_ now: MonotonicTime) -> [Action] {
        switch state {
        case .idle, .finished: []
        case .resolving: deadline.map { now >= $0 } ?? false ? fail(.timedOut, at: now) : []
        case .racing: advance(at: now)
        }
    }

    /// The caller has lost interest.
    package mutating func cancel(at now: MonotonicTime) -> [Action] {
        if case .finished = state { return [] }
        return fail(.cancelled, at: now)
    }

    // MARK: Steps

    /// The next lane to open, and when.
    private var nextOpening: (lane: Int, at: MonotonicTime)? {
        guard let next = lanes.firstIndex(where: { $0.opened == nil && !$0.waiting.isEmpty }) else {
            return nil
        }
        guard let latestOpening else {
            // Where all are suspect it says nothing about any of them.
            let isSuspect = suspects.contains(lanes[next].branch.interface)
            if awaited.isEmpty || !isSuspect && awaited.isSubset(of: suspects) { return (next, .zero) }
            return (next, (answeredAt ?? .zero).advanced(by: ResolutionMachine.delay))
        }
        guard !isOpeningHurried, !isSuspect(latestOpening.interface),
            let latest = lanes.first(where: { $0.branch.interface == latestOpening.interface }),
            !latest.isExhausted
        else { return (next, latestOpening.at) }
        return (next, latestOpening.at.advanced(by: latest.branch.boundedDelay))
    }

    private func earlier(_ one: MonotonicTime?, _ other: MonotonicTime?) -> MonotonicTime? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    private func isSuspect(_ interface: InterfaceIndex) -> Bool {
        suspects.contains(interface)
            && lanes.contains { !$0.isExhausted && !suspects.contains($0.branch.interface) }
    }

    /// Starts all that is due.
    private mutating func advance(at now: MonotonicTime) -> [Action] {
        if let deadline, now >= deadline { return fail(.timedOut, at: now) }
        while let (lane, opening) = nextOpening, opening <= now {
            lanes[lane].opened = now
            latestOpening = (lanes[lane].branch.interface, now)
            isOpeningHurried = false
        }
        isOpeningHurried = false
        var actions: [Action] = []
        for index in lanes.indices {
            guard let start = lanes[index].nextStart, start <= now,
                let candidate = lanes[index].waiting.popFirst()
            else { continue }
            lanes[index].running += 1
            lanes[index].latest = now
            actions.append(.start(attempts.count, candidate))
            attempts.append(Attempt(candidate: candidate, started: now, outcome: .pending))
        }
        for index in lanes.indices { lanes[index].isHurried = false }
        if isPlanFinal, lanes.allSatisfy(\.isExhausted) {
            return actions + fail(attempts.isEmpty ? .noCandidate : .allFailed, at: now)
        }
        return actions
    }

    /// Ends what runs over a path that may not be used any more.
    private mutating func lose(_ interface: InterfaceIndex, at now: MonotonicTime) -> [Action] {
        if lanes.contains(where: { $0.branch.interface == interface && $0.opened != nil }) {
            isOpeningHurried = true
        }
        return attempts.indices.filter {
            attempts[$0].outcome == .pending && attempts[$0].candidate.interface == interface
        }.map { id in
            end(id, .pathLost, at: now)
            return .cancel(id)
        }
    }

    private mutating func win(_ id: AttemptID, at now: MonotonicTime) -> [Action] {
        end(id, .won, at: now)
        state = .finished
        return cancelPending(at: now) + [.win(id)]
    }

    private mutating func fail(_ failure: Failure, at now: MonotonicTime) -> [Action] {
        state = .finished
        return cancelPending(at: now) + [.fail(failure)]
    }

    private mutating func cancelPending(at now: MonotonicTime) -> [Action] {
        attempts.indices.filter { attempts[$0].outcome == .pending }.map { id in
            end(id, .cancelled, at: now)
            return .cancel(id)
        }
    }

    private mutating func end(_ id: AttemptID, _ outcome: Attempt.Outcome, at now: MonotonicTime) {
        attempts[id].outcome = outcome
        attempts[id].ended = now
    }

    private func lane(of id: AttemptID) -> Int? {
        lanes.firstIndex { $0.branch.interface == attempts[id].candidate.interface }
    }
}
