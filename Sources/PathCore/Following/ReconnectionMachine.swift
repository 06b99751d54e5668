// When a client that has work in progress gets another connection, and over which path.
//
// Rules:
//  1. Make before break: while the connection in use has a user, the next one is opened beside it. The user is
//     asked to leave once the new one is there; where the old path is dead it is stopped at once, and where it
//     is only not the best any more it gets a grace period to come to a good end.
//  2. A lost path is avoided by the first attempt after it, although the snapshot may still prefer it (silence
//     is not in the kernel's tables). The attempts after that take any path: there may be no other.
//  3. A better path is tried alone; if that comes to nothing, nothing has happened to the user.
//  4. A path that was lost, or did not answer when tried, is not moved to for a while, and for twice as long
//     after each time (flapping). A connection that lasted a minute makes up for that.
//  5. Failures wait (`BackoffMachine`), unless a path appeared meanwhile. A move is no failure. What ends them
//     is progress that the user reports: a server that takes connections and drops them fails as well.
//  6. The budget: so many failures in a row, and so long without a connection. Where a connection was lost and there is no path
//     at all nothing was tried: that counts as no failure, and the time goes on.
//
//                   connected                 lost, better path, again
//   ┌────────────┐ ───────────► ┌─────────┐ ──────────────────────────► ┌──────────────────┐
//   │ connecting │              │ in use  │                             │ in use, or not,  │
//   └────────────┘              └─────────┘ ◄────────────────────────── │ next one opening │
//         ▲  failed, wait            │          connected, user left    └──────────────────┘
//         └──────────────────────────┴── finished, thrown, budget spent: the end
//
// Call order: `begin`, then what happens, as it happens; `timeReached` at `nextDeadline`. Perform the actions
// in order. A finished machine answers everything with no action.

/// Why a connection's user is called.
public enum ReconnectionCause: Sendable, Hashable {
    /// The first connection.
    case first
    /// The connection before was lost with its path.
    case pathLost(PathTrouble)
    /// The connection before still worked, over a path that is not the best any more.
    case betterPath(PathID)
    /// The work asked for another connection.
    case requested
    /// The connection before broke, in the error's words.
    case failed(String)
}

/// What may be spent on getting a connection again.
public struct ReconnectionBudget: Sendable, Hashable {
    /// Failures in a row: attempts that came to nothing, and connections on which no progress was made.
    public var attempts: Int
    /// Time in a row without a connection that works.
    public var duration: Duration

    /// A budget of failures in a row, and of time without a connection.
    public init(attempts: Int = 8, within duration: Duration = .seconds(60)) {
        self.attempts = max(1, attempts)
        self.duration = duration
    }
}

/// Decides when to connect again, and when the user changes over.
package struct ReconnectionMachine: Sendable {
    package typealias AttemptID = Int

    package struct Configuration: Sendable, Hashable {
        package var budget = ReconnectionBudget()
        package var backoff = Backoff()
        /// How long the user may go on with a connection that works, once a better one is there.
        package var grace: Duration = .seconds(2)
        /// How long a path that was lost is not moved to, the first time.
        package var mistrust: Duration = .seconds(2)
        /// What that does not grow beyond.
        package var longestMistrust: Duration = .seconds(300)

        package init() {}
    }

    /// Which paths an attempt may take, beside what the policy says.
    package enum Route: Sendable, Hashable {
        case any
        /// All but this one, if there is another.
        case avoiding(PathID)
        /// This one alone.
        case over(PathID)
    }

    package enum Action: Sendable, Hashable {
        case connect(AttemptID, Route)
        /// Cancel the attempt; if it connected meanwhile, close that connection.
        case abandon(AttemptID)
        /// Tell the user that the next connection is there.
        case askUserToLeave
        /// Cancel the user's work on the connection, and close that.
        case stopUser
        /// Close the connection before this one and call the user with it.
        case use(AttemptID, ReconnectionCause)
        /// The user's own end counts.
        case finish
        /// Stop everything: the budget is spent. The last failure's words.
        case fail(String)
    }

    /// How a user's call ended that has no value to show.
    package enum UserEnd: Sendable, Hashable {
        case reconnect
        case failed(String)
    }

    private struct Opening {
        var id: AttemptID
        var route: Route
        var cause: ReconnectionCause
        var isConnected = false
        /// The connection's, once there is one.
        var path: PathID?
    }

    private struct Use {
        var path: PathID
        var since: MonotonicTime
        var trouble: PathTrouble?
        var betterPath: PathID?
        var hasProgress = false
        var isAskedToLeave = false
        var isStopped = false
        var graceEnd: MonotonicTime?
    }

    private struct Mistrust {
        var times = 0
        var until = MonotonicTime.zero
    }

    /// Until it is looked again, should a path appear without being told.
    private static let pauseWithoutPath = Duration.seconds(1)

    private let configuration: Configuration
    private var use: Use?
    private var opening: Opening?
    private var backoff: BackoffMachine
    /// The attempt that waits, and until when.
    private var waiting: (until: MonotonicTime, cause: ReconnectionCause)?
    private var withoutConnectionSince: MonotonicTime?
    private var mistrust: [PathID: Mistrust] = [:]
    private var nextID: AttemptID = 0
    private var lastFailure = "no connection"
    package private(set) var isFinished = false

    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        backoff = BackoffMachine(configuration.backoff)
    }

    package var nextDeadline: MonotonicTime? {
        guard !isFinished else { return nil }
        return [waiting?.until, use?.graceEnd, betterPathDeadline, budgetEnd].compactMap { $0 }.min()
    }

    private var budgetEnd: MonotonicTime? {
        // While a connection waits for its user to come over, there is one.
        opening?.isConnected == true
            ? nil : withoutConnectionSince?.advanced(by: configuration.budget.duration)
    }

    /// When the better path that was told is trusted enough.
    private var betterPathDeadline: MonotonicTime? {
        guard opening == nil, let use, use.trouble == nil, let path = use.betterPath else { return nil }
        return mistrust[path]?.until ?? .zero
    }

    /// Whether the connection in use is known not to work.
    package var isInTrouble: Bool { use?.trouble != nil }

    // MARK: Inputs

    package mutating func begin(at now: MonotonicTime) -> [Action] {
        withoutConnectionSince = now
        return open(.any, .first)
    }

    /// An attempt has a connection, over this path.
    package mutating func connected(
        _ id: AttemptID, over path: PathID, at now: MonotonicTime
    ) -> [Action] {
        guard !isFinished, var next = opening, next.id == id, !next.isConnected else { return [] }
        (next.isConnected, next.path) = (true, path)
        opening = next
        guard var use else { return change(at: now) }
        guard !use.isAskedToLeave else { return [] }
        use.isAskedToLeave = true
        var actions = [Action.askUserToLeave]
        if use.trouble != nil {
            use.isStopped = true
            actions.append(.stopUser)
        } else {
            use.graceEnd = now.advanced(by: configuration.grace)
        }
        self.use = use
        return actions
    }

    /// An attempt came to nothing.
    ///
    /// - Parameters:
    ///   - id: the attempt's.
    ///   - reason: the error's words.
    ///   - isWithoutPath: whether there was no path to try.
    ///   - random: from 0 up to 1, for the wait.
    ///   - now: the time of the call.
    package mutating func connectFailed(
        _ id: AttemptID, reason: String, isWithoutPath: Bool = false, random: Double, at now: MonotonicTime
    ) -> [Action] {
        guard !isFinished, let failed = opening, failed.id == id, !failed.isConnected else { return [] }
        opening = nil
        if case .over(let path) = failed.route {
            distrust(path, at: now)
            if let use, let trouble = use.trouble {
                return open(.avoiding(use.path), .pathLost(trouble))
            }
            return use == nil ? open(.any, .requested) : []
        }
        lastFailure = reason
        // That there is no other path is no failure of the one there is.
        if case .avoiding = failed.route { return open(.any, failed.cause) }
        if isWithoutPath, failed.cause != .first {
            // One that appears ends the wait.
            waiting = (now.advanced(by: Self.pauseWithoutPath), failed.cause)
            return timeReached(now)
        }
        return retry(failed.cause, random: random, at: now)
    }

    /// The connection in use is not viable any more, or is again.
    package mutating func viability(_ trouble: PathTrouble?, at now: MonotonicTime) -> [Action] {
        guard !isFinished, var use, !use.isStopped else { return [] }
        let old = use.trouble
        use.trouble = trouble
        self.use = use
        guard let trouble else {
            guard old != nil else { return [] }
            withoutConnectionSince = nil
            waiting = nil
            // What is connected already is taken; the path has shown what it is worth.
            guard let opening, !opening.isConnected else { return [] }
            return abandon()
        }
        guard old == nil else { return [] }
        withoutConnectionSince = now
        if use.since.duration(to: now) > .seconds(60) { mistrust[use.path] = nil }
        distrust(use.path, at: now)
        if use.isAskedToLeave {
            self.use?.isStopped = true
            self.use?.graceEnd = nil
            return [.stopUser]
        }
        // An attempt over the better path is under way: that will do.
        if opening != nil { return [] }
        return open(.avoiding(use.path), .pathLost(trouble))
    }

    /// Another path would be better than the one in use, or none any more.
    package mutating func betterPath(_ path: PathID?, at now: MonotonicTime) -> [Action] {
        guard !isFinished, use != nil else { return [] }
        use?.betterPath = path
        if path == nil, let opening, !opening.isConnected, case .over = opening.route, use?.trouble == nil {
            return abandon()
        }
        return timeReached(now)
    }

    /// The user got somewhere: what failed before is forgiven.
    package mutating func progressed() {
        use?.hasProgress = true
        backoff.succeeded()
    }

    /// The user is done for good: with a value, or with an error that is the caller's.
    package mutating func userFinished() -> [Action] {
        guard !isFinished else { return [] }
        isFinished = true
        return (opening == nil ? [] : abandon()) + [.finish]
    }

    /// The user gave the connection back, or it broke.
    package mutating func userEnded(_ end: UserEnd, random: Double, at now: MonotonicTime) -> [Action] {
        guard !isFinished, let ended = use else { return [] }
        use = nil
        if opening?.isConnected == true { return change(at: now) }
        withoutConnectionSince = withoutConnectionSince ?? now
        let cause: ReconnectionCause
        switch end {
        case .reconnect: cause = ended.trouble.map { .pathLost($0) } ?? .requested
        case .failed(let reason):
            cause = ended.trouble.map { .pathLost($0) } ?? .failed(reason)
            lastFailure = reason
        }
        if opening != nil || waiting != nil { return [] }
        if ended.hasProgress { return open(.any, cause) }
        return retry(cause, random: random, at: now)
    }

    /// A path appeared that was not there: what waits is tried at once.
    package mutating func pathAppeared(at now: MonotonicTime) -> [Action] {
        guard !isFinished, let waiting else { return [] }
        self.waiting = nil
        return open(.any, waiting.cause)
    }

    package mutating func timeReached(_ now: MonotonicTime) -> [Action] {
        guard !isFinished else { return [] }
        if let end = budgetEnd, now >= end { return fail() }
        if let waiting, now >= waiting.until {
            self.waiting = nil
            return open(.any, waiting.cause)
        }
        if let end = use?.graceEnd, now >= end {
            use?.graceEnd = nil
            use?.isStopped = true
            return [.stopUser]
        }
        if let deadline = betterPathDeadline, now >= deadline, let path = use?.betterPath {
            return open(.over(path), .betterPath(path))
        }
        return []
    }

    // MARK: Steps

    private mutating func open(_ route: Route, _ cause: ReconnectionCause) -> [Action] {
        let id = nextID
        nextID += 1
        waiting = nil
        opening = Opening(id: id, route: route, cause: cause)
        return [.connect(id, route)]
    }

    private mutating func abandon() -> [Action] {
        guard let opening else { return [] }
        self.opening = nil
        return [.abandon(opening.id)]
    }

    /// The user changes over to the connection that is there.
    private mutating func change(at now: MonotonicTime) -> [Action] {
        guard let next = opening, let path = next.path else { return [] }
        opening = nil
        withoutConnectionSince = nil
        use = Use(path: path, since: now)
        return [.use(next.id, next.cause)]
    }

    private mutating func retry(
        _ cause: ReconnectionCause, random: Double, at now: MonotonicTime
    ) -> [Action] {
        let delay = backoff.failed(random: random)
        if backoff.failures >= configuration.budget.attempts { return fail() }
        waiting = (now.advanced(by: delay), cause)
        return timeReached(now)
    }

    private mutating func fail() -> [Action] {
        isFinished = true
        let actions = opening == nil ? [] : abandon()
        return actions + (use == nil ? [] : [.stopUser]) + [.fail(lastFailure)]
    }

    private mutating func distrust(_ path: PathID, at now: MonotonicTime) {
        var entry = mistrust[path] ?? Mistrust()
        let time = min(configuration.mistrust * (1 << min(entry.times, 16)), configuration.longestMistrust)
        entry.times += 1
        entry.until = now.advanced(by: time)
        mistrust[path] = entry
    }
}
