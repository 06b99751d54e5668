// What a race is told, and what it says.

extension RaceMachine {
    /// Numbers the attempts in the order they start, from 0.
    package typealias AttemptID = Int

    /// The race's times.
    package struct Configuration: Sendable, Hashable {
        /// How long an attempt is alone before the next one starts, where nothing is known of the path: 250 ms,
        /// RFC 8305's default. Kept within 10 ms and 2 s, that RFC's bounds.
        package var attemptDelay: Duration = .milliseconds(250)
        /// How long the whole may take, name resolution included.
        package var timeout: Duration = .seconds(10)
        /// Whether a complete handshake must be confirmed before it wins.
        package var needsConfirmation = false

        package init() {}
    }

    /// A path's part in the race.
    package struct Branch: Sendable, Hashable {
        package var interface: InterfaceIndex
        /// In the order in which they start.
        package var candidates: [Candidate]
        /// How long one of its attempts is alone before the next one starts.
        package var attemptDelay: Duration

        package init(interface: InterfaceIndex, candidates: [Candidate], attemptDelay: Duration) {
            self.interface = interface
            self.candidates = candidates
            self.attemptDelay = attemptDelay
        }

        var boundedDelay: Duration { min(max(attemptDelay, .milliseconds(10)), .seconds(2)) }

        /// Plain TCP comes behind MPTCP, and only has a chance where that is dropped on the way: all the waiting
        /// up to there is for nothing then, and what remains of it can be shorter.
        var fallbackDelay: Duration {
            // A duration's own arithmetic is of any number, and takes its time.
            MonotonicTime.zero.duration(
                to: MonotonicTime(nanoseconds: boundedDelay.wholeNanoseconds * 4 / 5))
        }
    }

    /// What the runner has to do. Each is one simple thing.
    package enum Action: Sendable, Hashable {
        case start(AttemptID, Candidate)
        /// Close its descriptor; nothing is to be reported about it any more.
        case cancel(AttemptID)
        /// Its handshake is complete: find out whether it is usable, then say `confirmed` or `failed`.
        case confirm(AttemptID)
        case win(AttemptID)
        case fail(Failure)
    }

    /// Why there is no winner.
    package enum Failure: Sendable, Hashable {
        case resolution(ResolutionError)
        /// No path was allowed or led there, so nothing was attempted.
        case noCandidate
        case allFailed
        case timedOut
        case cancelled
    }

    /// What happened to an attempt, for the report.
    package struct Attempt: Sendable, Hashable {
        package var candidate: Candidate
        package var started: MonotonicTime
        /// When its handshake was complete.
        package var connected: MonotonicTime?
        package var ended: MonotonicTime?
        package var outcome: Outcome
        /// Another host than the one that was meant answers there.
        package var isRefuted = false

        package enum Outcome: Sendable, Hashable {
            case pending
            case won
            /// The race was over, or given up, before this attempt was.
            case cancelled
            /// The error's words.
            case failed(String)
            /// Its path went away, or may not be used any more.
            case pathLost
        }

        /// Whether it has shown that this candidate leads to another host.
        func refutes(_ other: Candidate) -> Bool {
            isRefuted && candidate.interface == other.interface && candidate.endpoint == other.endpoint
        }
    }
}
