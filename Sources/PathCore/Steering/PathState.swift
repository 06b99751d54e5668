// A path's state, as one connection knows it:
//
//         data waits too long             probes go unanswered
//   good ─────────────────────► suspect ───────────────────────► failed ◄── the kernel's tables, another
//    ▲ ▲ ◄─────────────────────    it answers, or its data        │ │       connection, a subflow's end
//    │ │                           gets through                   │ │
//    │ └────────────── its data gets through after all, or ───────┘ │
//    │                 nothing else is left                         │ a subflow over it is complete
//    └─────────────── it kept answering ──────── validating ◄───────┘
//
// Every state but `failed` fails by the same evidence. Whether a path has a subflow is no part of its state: the
// `SubflowTable` knows that, and a second copy here would have to be kept equal.

enum PathState: Sendable {
    /// Nothing is known against it.
    case good(Good)
    /// Data waits there for longer than it ever should.
    case suspect(Suspect)
    /// It carries nothing.
    case failed(Failed)
    /// It failed and answers again, but has to keep that up for a while.
    case validating(Validating)
}

extension PathState {
    struct Good: Sendable {
        /// Since when; nil for a path that was never joined.
        private(set) var since: MonotonicTime?
        /// What it had failed by, where it was not failed after all.
        private(set) var revoked: PathTrouble?
        var probing: Probing?

        /// A path that is new.
        init() {}

        /// The suspicion was wrong.
        init(from suspect: Suspect) {
            since = suspect.goodSince
            probing = suspect.probing
        }

        /// It kept answering for as long as it had to.
        init(from validating: Validating, at now: MonotonicTime) {
            since = now
            probing = validating.probing
        }

        /// It was not failed after all, or there is nothing else.
        init(from failed: Failed, at now: MonotonicTime) { (since, revoked) = (now, failed.trouble) }

        /// A subflow over it is complete.
        mutating func joined(at now: MonotonicTime) { since = since ?? now }
    }

    struct Suspect: Sendable {
        let trouble: PathTrouble
        private(set) var goodSince: MonotonicTime?
        var probing: Probing?

        init(from good: Good, _ trouble: PathTrouble) {
            self.trouble = trouble
            goodSince = good.since
            probing = good.probing
        }

        mutating func joined(at now: MonotonicTime) { goodSince = goodSince ?? now }
    }

    struct Validating: Sendable {
        /// What made it fail.
        let overcame: PathTrouble
        private(set) var until: MonotonicTime
        private(set) var goodSince: MonotonicTime?
        var probing: Probing?

        init(from failed: Failed, until: MonotonicTime) {
            overcame = failed.trouble
            self.until = until
        }

        /// It has not kept answering: the time begins anew.
        mutating func restart(until: MonotonicTime) { self.until = until }

        mutating func joined(at now: MonotonicTime) { goodSince = goodSince ?? now }
    }

    struct Failed: Sendable {
        let trouble: PathTrouble
        /// A TCP probe was answered since.
        var isAwake = false
        /// Joins in a row that took too long, each of which was given twice the time of the one before.
        var slowJoins = 0

        init(from good: Good, _ trouble: PathTrouble) { self.trouble = trouble }
        init(from suspect: Suspect, _ trouble: PathTrouble) { self.trouble = trouble }
        init(from validating: Validating, _ trouble: PathTrouble) { self.trouble = trouble }
        /// The kernel's tables have something else against it: what comes back may be another network.
        init(from failed: Failed, tablesSay trouble: PathTrouble) { self.trouble = trouble }
    }
}

extension PathState {
    /// The probes that are under way; of a failed path there are none.
    var probing: Probing? {
        get {
            switch self {
            case .good(let good): good.probing
            case .suspect(let suspect): suspect.probing
            case .validating(let validating): validating.probing
            case .failed: nil
            }
        }
        set {
            switch self {
            case .good(var good):
                good.probing = newValue
                self = .good(good)
            case .suspect(var suspect):
                suspect.probing = newValue
                self = .suspect(suspect)
            case .validating(var validating):
                validating.probing = newValue
                self = .validating(validating)
            case .failed: break
            }
        }
    }

    /// Since when it has been good, or was until it became suspect.
    var goodSince: MonotonicTime? {
        switch self {
        case .good(let good): good.since
        case .suspect(let suspect): suspect.goodSince
        case .validating(let validating): validating.goodSince
        case .failed: nil
        }
    }

    var isGood: Bool { if case .good = self { true } else { false } }
    var hasFailed: Bool { if case .failed = self { true } else { false } }

    /// What is wrong with it.
    var trouble: PathTrouble? {
        switch self {
        case .suspect(let suspect): suspect.trouble
        case .failed(let failed): failed.trouble
        case .good, .validating: nil
        }
    }

    /// What it had failed by, where it was not failed after all.
    var revoked: PathTrouble? { if case .good(let good) = self { good.revoked } else { nil } }

    /// What made it fail, while it is validating.
    var overcame: PathTrouble? {
        if case .validating(let validating) = self { validating.overcame } else { nil }
    }
}
