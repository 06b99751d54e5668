// The race: who connects when, and who wins.
//
// Rules (RFC 8305 section 5, RFC 9623 section 4):
//  1. Attempts are staggered, never all at once. Inside a branch (a path) the next one starts when the
//     attempt delay has passed since the last one, or at once when one of the branch fails.
//  2. The next branch opens one attempt delay after the one before it, or at once when that one has nothing
//     left that could still win or start. Branches then run on independent timers (RFC 9623, "staggered
//     racing"), so that many addresses on a dead path never hold back a living one.
//  3. The first attempt that is usable wins; all others are cancelled in the same step.
//  4. The race fails when nothing is left, or at its deadline. The deadline binds everything: it counts from
//     the beginning of name resolution. An answer that came before anybody looked at the clock still wins.
//
//                    resolved, with candidates
//   ┌───────────┐ ──────────────────────────────► ┌─────────┐ connected ┌──────────┐
//   │ resolving │                                 │ racing  │ ────────► │ finished │
//   └───────────┘ ──────────────────────────────► └─────────┘ ────────► └──────────┘
//         resolved with none, failed, deadline        nothing left, deadline, cancelled
//
// Call order: `begin`, then one of `resolved` and `resolutionFailed`; then `connected`, `failed` and
// `timeReached` as they happen. After each call perform the actions in order, and call `timeReached` at
// `nextDeadline`. `cancel` is legal at any time. A finished machine answers everything with no action.

/// Decides when each connection attempt starts, and which one wins.
public struct RaceMachine: Sendable {
    /// Numbers the attempts in the order they start, from 0.
    public typealias AttemptID = Int

    /// The race's times.
    public struct Configuration: Sendable, Hashable {
        /// How long an attempt is alone before the next one starts: 250 ms, RFC 8305's default. Kept within
        /// 10 ms and 2 s, that RFC's bounds.
        public var attemptDelay: Duration = .milliseconds(250)
        /// How long the whole may take, name resolution included.
        public var timeout: Duration = .seconds(10)

        public init() {}

        var boundedDelay: Duration { min(max(attemptDelay, .milliseconds(10)), .seconds(2)) }
    }

    /// What the runner has to do. Each is one simple thing.
    public enum Action: Sendable, Hashable {
        case start(AttemptID, Candidate)
        /// Close its descriptor; nothing is to be reported about it any more.
        case cancel(AttemptID)
        case win(AttemptID)
        case fail(Failure)
    }

    /// Why there is no winner.
    public enum Failure: Sendable, Hashable {
        case resolution(ResolutionFailure)
        /// No path was allowed or led there, so nothing was attempted.
        case noCandidate
        case allFailed
        case timedOut
        case cancelled
    }

    /// Why a name has no address.
    public struct ResolutionFailure: Error, Sendable, Hashable {
        /// The resolver's words.
        public var reason: String
        public init(reason: String) { self.reason = reason }
    }

    /// What happened to an attempt, for the report.
    public struct Attempt: Sendable, Hashable {
        public var candidate: Candidate
        public var started: MonotonicTime
        public var ended: MonotonicTime?
        public var outcome: Outcome

        public enum Outcome: Sendable, Hashable {
            case pending
            case won
            /// The race was over, or given up, before this attempt was.
            case cancelled
            /// The error's words.
            case failed(String)
        }
    }

    private struct Branch: Sendable {
        var waiting: ArraySlice<Candidate>
        /// When the next candidate starts; nil while the branch is closed or has none left.
        var nextStart: MonotonicTime?
        var running = 0

        /// Whether it can neither win nor start anything any more.
        var isExhausted: Bool { waiting.isEmpty && running == 0 }
    }

    private enum State: Sendable {
        case idle
        case resolving
        case racing(branches: [Branch], opened: Int, nextOpening: MonotonicTime?)
        case finished
    }

    public let configuration: Configuration
    /// Every attempt that was started, by its number.
    public private(set) var attempts: [Attempt] = []
    private var branchOf: [Int] = []
    private var state = State.idle
    private var deadline: MonotonicTime?

    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    /// The next moment at which `timeReached` has something to do.
    public var nextDeadline: MonotonicTime? {
        switch state {
        case .idle, .finished: nil
        case .resolving: deadline
        case .racing(let branches, _, let nextOpening):
            ([deadline, nextOpening] + branches.map(\.nextStart)).compactMap { $0 }.min()
        }
    }

    /// Name resolution starts, and with it the clock of the deadline.
    public mutating func begin(at now: MonotonicTime) {
        guard case .idle = state else { return }
        state = .resolving
        deadline = now.advanced(by: configuration.timeout)
    }

    /// The candidates are known: one list for each path, in order of preference.
    public mutating func resolved(_ branches: [[Candidate]], at now: MonotonicTime) -> [Action] {
        guard case .resolving = state else { return [] }
        let branches = branches.filter { !$0.isEmpty }.map { Branch(waiting: $0[...]) }
        guard !branches.isEmpty else { return fail(.noCandidate, at: now) }
        state = .racing(branches: branches, opened: 0, nextOpening: now)
        return advance(at: now)
    }

    /// The name has no address.
    public mutating func resolutionFailed(_ failure: ResolutionFailure, at now: MonotonicTime) -> [Action] {
        guard case .resolving = state else { return [] }
        return fail(.resolution(failure), at: now)
    }

    /// An attempt's handshake is complete: it is usable.
    public mutating func connected(_ id: AttemptID, at now: MonotonicTime) -> [Action] {
        guard case .racing = state, attempts[id].outcome == .pending else { return [] }
        end(id, .won, at: now)
        state = .finished
        return cancelPending(at: now) + [.win(id)]
    }

    /// An attempt ended without a connection.
    public mutating func failed(_ id: AttemptID, reason: String, at now: MonotonicTime) -> [Action] {
        guard case .racing(var branches, let opened, var nextOpening) = state,
            attempts[id].outcome == .pending
        else { return [] }
        end(id, .failed(reason), at: now)
        let branch = branchOf[id]
        branches[branch].running -= 1
        if branches[branch].nextStart != nil { branches[branch].nextStart = now }
        if opened < branches.count, branches[opened - 1].isExhausted { nextOpening = now }
        state = .racing(branches: branches, opened: opened, nextOpening: nextOpening)
        return advance(at: now)
    }

    /// The clock shows `nextDeadline` or later.
    public mutating func timeReached(_ now: MonotonicTime) -> [Action] {
        switch state {
        case .idle, .finished: []
        case .resolving: deadline.map { now >= $0 } ?? false ? fail(.timedOut, at: now) : []
        case .racing: advance(at: now)
        }
    }

    /// The caller has lost interest.
    public mutating func cancel(at now: MonotonicTime) -> [Action] {
        if case .finished = state { return [] }
        return fail(.cancelled, at: now)
    }

    // MARK: Steps

    /// Starts all that is due.
    private mutating func advance(at now: MonotonicTime) -> [Action] {
        guard case .racing(var branches, var opened, var nextOpening) = state else { return [] }
        if let deadline, now >= deadline { return fail(.timedOut, at: now) }
        var actions: [Action] = []
        if let opening = nextOpening, opening <= now {
            branches[opened].nextStart = now
            opened += 1
            nextOpening = opened < branches.count ? now.advanced(by: configuration.boundedDelay) : nil
        }
        for index in branches.indices {
            guard let start = branches[index].nextStart, start <= now,
                let candidate = branches[index].waiting.popFirst()
            else { continue }
            branches[index].running += 1
            branches[index].nextStart =
                branches[index].waiting.isEmpty ? nil : now.advanced(by: configuration.boundedDelay)
            actions.append(.start(attempts.count, candidate))
            attempts.append(Attempt(candidate: candidate, started: now, outcome: .pending))
            branchOf.append(index)
        }
        state = .racing(branches: branches, opened: opened, nextOpening: nextOpening)
        if opened == branches.count, branches.allSatisfy(\.isExhausted) {
            return actions + fail(.allFailed, at: now)
        }
        return actions
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
}
