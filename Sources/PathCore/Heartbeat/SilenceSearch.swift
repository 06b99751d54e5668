// How long a network keeps a silent connection: the search for it.
//
// What forgets is a translator or a firewall on the way (RFC 5382 section 5 asks for 2 hours and 4 minutes of TCP; many keep
// less than one minute). It says nothing when it does: the next packet is dropped, or answered by a reset. So the one way
// to know is to be silent for a while and to ask then. An answer proves that silence; none, asked twice, disproves it, and
// costs the connection.
//
//     nothing known      the first interval; nothing is risked before it was answered once
//     remembered         what an earlier process proved is tried next, by one connection. A lie costs that one. Of what
//                        was lost then no connection is made to try it again
//     no loss yet        twice the proven silence, up to the longest
//     lost               the geometric middle between proven and lost, until the one is 0.8 of the other
//
// From 30 s to 600 s that takes at most five doublings and three middles: eight.

/// What an earlier process found out about a network.
package struct RememberedSilence: Sendable, Hashable {
    /// The longest silence that was survived.
    package var proven: Duration
    /// The shortest longer one that was not; nil where there was none.
    package var lost: Duration?

    package init(proven: Duration, lost: Duration? = nil) {
        self.proven = proven
        self.lost = lost
    }
}

/// The search on one network. Time does not occur in it: it learns from silences of a length, each answered or not.
package struct SilenceSearch: Sendable, Hashable {
    package let tuning: HeartbeatTuning
    /// The longest silence after which this process got an answer.
    package private(set) var proven: Duration?
    /// The shortest longer one after which it got none.
    package private(set) var lost: Duration?
    /// What an earlier process proved, and this one has not tried yet.
    package private(set) var remembered: Duration?
    /// Losses in a row after silences that had been survived.
    private var lossesInARow = 0

    package init(tuning: HeartbeatTuning = .standard, remembered: RememberedSilence? = nil) {
        self.tuning = tuning
        if let remembered { remember(remembered) }
    }

    /// What an earlier process proved. It counts for nothing where this one knows better.
    package mutating func remember(_ known: RememberedSilence) {
        guard lost == nil, proven ?? .zero <= tuning.firstInterval, proven ?? .zero < known.proven else {
            return
        }
        remembered = min(max(known.proven, tuning.shortestInterval), tuning.longestInterval)
        if let tooLong = known.lost, tooLong > remembered ?? .zero { lost = tooLong }
    }

    /// The silence that costs nothing, as far as is known.
    package var interval: Duration {
        if let proven { return proven }
        if let remembered { return min(remembered, tuning.firstInterval) }
        guard let lost else { return tuning.firstInterval }
        return max(min(lost / tuning.growth, tuning.firstInterval), tuning.shortestInterval)
    }

    /// The next longer silence to try, by one connection at a time; nil where the search is over, or nothing was proven yet.
    package var trial: Duration? {
        guard let proven, proven < tuning.longestInterval else { return nil }
        if let remembered, remembered > proven, lost.map({ remembered < $0 }) ?? true { return remembered }
        guard let lost else { return min(proven * tuning.growth, tuning.longestInterval) }
        guard proven < lost * tuning.enough else { return nil }
        let middle = (Double(proven.wholeNanoseconds) * Double(lost.wholeNanoseconds)).squareRoot()
        return .nanoseconds(Int64(middle))
    }

    /// Whether nothing longer will be tried.
    package var isSettled: Bool { proven != nil && trial == nil }

    /// A ping after a silence was answered.
    package mutating func answered(after silence: Duration) {
        let silence = min(silence, tuning.longestInterval)
        lossesInARow = 0
        guard silence > proven ?? .zero else { return }
        proven = silence
        if let remembered, remembered <= silence { self.remembered = nil }
        // It is more generous than it was, or the loss had another reason.
        if let lost, lost <= silence { self.lost = nil }
    }

    /// A ping after a silence was answered by nothing, twice.
    package mutating func lost(after silence: Duration) {
        if let remembered, silence >= remembered { self.remembered = nil }
        if let proven, silence <= proven {
            lossesInARow += 1
            guard lossesInARow >= tuning.lossesBeforeSuspicion else { return }
            // It keeps less than it did.
            (self.proven, remembered, lost) = (nil, nil, silence)
        } else {
            let tooLong = min(lost ?? silence, silence)
            lost = tooLong
            if let remembered, remembered >= tooLong { self.remembered = nil }
        }
        lossesInARow = 0
    }
}
