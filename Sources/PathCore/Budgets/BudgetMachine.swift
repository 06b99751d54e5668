// One budget in one process: what it has booked, what it has used, and whether the budget is spent.
//
// Bytes are booked ahead, as many as are used in a second at the present rate, and at least a piece. What a connection uses
// comes off that. More is booked when half of it is used. While a booking is under way its user goes on, into debt, which
// the next booking pays: the file may take its time, and a budget with plenty left must not stop a stream for that.
//
// The budget is spent when what is booked and what is left in the ledger together are no more than what will still come: what
// is used until the next look and until the paths are left, and what is on its way by then, which is a round trip's worth
// (queues included) at the present rate. It is open again when clearly more than that is left.
//
// Call order: `ledger` first, then `used` and `booked` as they come. `isSpent` holds after each.

/// Decides when a process books, and when a budget is spent.
package struct BudgetMachine: Sendable {
    package enum Action: Sendable, Hashable {
        /// Book so many bytes, and those that were used without.
        case book(wanted: UInt64, spent: UInt64)
        /// Give back what was booked in a period and is not used.
        case giveBack(UInt64, period: Int64)
    }

    package let budget: PathBudget
    private let tuning: BudgetTuning
    /// Booked and not used; negative where more was used.
    package private(set) var booked: Int64 = 0
    /// What the ledger has left; nil before it was read.
    package private(set) var remaining: UInt64?
    /// The period that bytes were booked in last; nil before that.
    package private(set) var period: Int64?
    private var isBooking = false
    /// Whether what is booked is to be given back when the booking that is under way has come.
    private var givesBack = false
    /// Whether any connection uses the budget.
    private var isUsed = false
    package private(set) var isSpent = false
    /// The rest at which it was found spent: it isn't open again until there is twice as much.
    private var spentBelow: UInt64 = 0
    /// Bytes a second, smoothed.
    package private(set) var rate: UInt64 = 0
    /// What was used since the rate was measured last.
    private var measuring: (bytes: UInt64, since: MonotonicTime)?
    /// The longest round trip of the connections that use it.
    private var roundTrip = Duration.zero
    /// When it was told of used bytes last, and how late that has come of late: a busy machine looks when it can.
    private var looked: MonotonicTime?
    private var lateness = Duration.zero

    package init(_ budget: PathBudget, tuning: BudgetTuning = .standard) {
        self.budget = budget
        self.tuning = tuning
    }

    // MARK: Inputs

    /// What the ledger has left now.
    ///
    /// - Parameter period: the account's present one.
    package mutating func ledger(remaining: UInt64, period: Int64) -> [Action] {
        begin(period)
        self.remaining = remaining
        judge()
        return bookAhead()
    }

    /// A connection uses the budget from now on.
    package mutating func begun() -> [Action] {
        isUsed = true
        givesBack = false
        return bookAhead()
    }

    /// Connections have used so many bytes since the last time.
    ///
    /// - Parameter roundTrip: the longest of theirs, with what waits in queues; zero where that is not known.
    package mutating func used(
        _ bytes: UInt64, roundTrip: Duration = .zero, at now: MonotonicTime
    ) -> [Action] {
        noteLateness(at: now)
        measure(bytes, at: now)
        if roundTrip > .zero { self.roundTrip = roundTrip }
        booked -= Int64(clamping: bytes)
        judge()
        return bookAhead()
    }

    /// A look has shown nothing, or the next one was not planned: how long it takes says nothing of lateness.
    package mutating func rested() { looked = nil }

    /// A booking has been written.
    ///
    /// - Parameters:
    ///   - bytes: how many were given.
    ///   - spent: the debt that it paid.
    ///   - remaining: what the ledger has left after it.
    ///   - period: in which it was booked.
    package mutating func booked(
        _ bytes: UInt64, spent: UInt64, remaining: UInt64, period: Int64
    ) -> [Action] {
        isBooking = false
        begin(period)
        booked += Int64(clamping: bytes) + Int64(clamping: spent)
        self.remaining = remaining
        judge()
        let back = givesBack ? unused() : []
        return back.isEmpty ? bookAhead() : back
    }

    /// No connection uses the budget any more.
    package mutating func unused() -> [Action] {
        isUsed = false
        // What comes is not wanted any more.
        givesBack = isBooking
        guard booked > 0, !isBooking, let period else { return [] }
        defer { (booked, rate, measuring) = (0, 0, nil) }
        return [.giveBack(UInt64(booked), period: period)]
    }

    // MARK: Outputs

    /// When to look next at what connections have carried.
    ///
    /// - Parameter idleLooks: how many looks in a row have shown nothing new.
    package func lookAfter(idleLooks: Int) -> Duration {
        if idleLooks > 0 {
            return min(tuning.idleLook * (1 << min(idleLooks - 1, 16)), tuning.longestIdleLook)
        }
        func time(_ bytes: UInt64, at rate: UInt64, share: UInt64) -> Duration {
            .milliseconds(Int64(clamping: min(bytes, 1 << 50) * 1_000 / max(rate, 1) / share))
        }
        let ahead = UInt64(max(booked, 0))
        let all = ahead.addingOrMost(remaining ?? 0).subtractingOrZero(tail)
        let untilSpent = time(all, at: max(rate, tuning.assumedRate), share: tuning.lookShare)
        // What is used without having been booked is lost to the books if this process is killed.
        let untilUnbooked = time(ahead, at: rate, share: tuning.lookShare)
        return min(max(min(untilSpent, untilUnbooked), tuning.shortestLook), tuning.longestLook)
    }

    // MARK: Within

    /// What was booked in an earlier period and not used is lost with it.
    private mutating func begin(_ period: Int64) {
        if let before = self.period, before != period {
            booked = min(booked, 0)
            spentBelow = rest
        }
        self.period = period
    }

    private mutating func measure(_ bytes: UInt64, at now: MonotonicTime) {
        guard let begun = measuring else {
            measuring = (0, now)
            return
        }
        let sum = begun.bytes.addingOrMost(bytes)
        let time = begun.since.duration(to: now)
        // Bytes come in bursts: of a shorter time the rate is not known. That of a stream that begins is at least this.
        let least = rate == 0 ? max(time, tuning.rateTime) : time
        guard least >= tuning.rateTime else {
            measuring = (sum, begun.since)
            return
        }
        let new = UInt64(min(Double(sum) / least.inSeconds, 1e12))
        // A stream that begins counts at once, one that pauses is forgotten slowly.
        if rate == 0 {
            rate = new
        } else {
            rate = new > rate ? (rate + new) / 2 : (rate * 7 + new) / 8
        }
        measuring = time >= tuning.rateTime ? (0, now) : (sum, begun.since)
    }

    private mutating func noteLateness(at now: MonotonicTime) {
        defer { looked = now }
        guard let looked else { return }
        let late = looked.duration(to: now) - lookAfter(idleLooks: 0)
        // One that comes late is not alone; the others are forgotten slowly. After a pause nothing was late.
        guard late <= tuning.longestLateness else { return }
        lateness = max(late, lateness * 7 / 8, .zero)
    }

    private var piece: UInt64 {
        let ahead = UInt64(Double(rate) * tuning.ahead.inSeconds)
        return min(max(ahead, tuning.piece), tuning.largestPiece)
    }

    private mutating func bookAhead() -> [Action] {
        guard !isBooking, let remaining, remaining > 0 || booked < 0,
            booked < Int64(piece / 2), (isUsed && !isSpent) || booked < 0
        else { return [] }
        isBooking = true
        let debt = UInt64(max(-booked, 0))
        return [.book(wanted: isSpent ? 0 : piece, spent: debt)]
    }

    /// What counts as nothing.
    private var rest: UInt64 { min(tuning.piece / 4, budget.limit / tuning.restShare) }

    /// What will still come in when the paths are to be left now.
    private var tail: UInt64 {
        let time = tuning.tail + lateness + min(roundTrip, tuning.longestRoundTrip)
        return min(UInt64(Double(rate) * time.inSeconds), budget.limit / tuning.tailShare)
    }

    private mutating func judge() {
        guard let remaining else { return }
        let (left, overflow) = booked.addingReportingOverflow(Int64(clamping: remaining))
        let available = overflow ? Int64.max : left
        if isSpent {
            // Twice as much is enough, so that it doesn't flap; a budget that is nearly whole is enough in any case.
            let enough = min(spentBelow * 2, budget.limit - budget.limit / 4)
            isSpent = available <= Int64(clamping: max(enough, 1))
        } else {
            spentBelow = max(rest, tail)
            isSpent = available <= Int64(clamping: spentBelow)
        }
        if isSpent { rate = 0 }
    }
}
