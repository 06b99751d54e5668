// The accounts of a user's budgets, as the state folder keeps them:
//
//     1234567 50000000 20414 day expensive default
//
// Bytes booked, the limit that was asked for last (for people; it decides nothing), the period's number, the period, the paths,
// the name. A process books bytes before it uses them, a piece at a time, and gives back what is left: so what a killed
// process had booked counts as used, and several processes together use no more than was booked.
//
// The clock. A later period than the booked one begins the account anew. An earlier one does not: a clock that is set back ends
// nothing. The account waits in its later period until the clock is there again, where that is two periods at most (a
// journey to the west, a correction); beyond that the later clock was the wrong one, and the account goes back with the
// clock and keeps what was used. A clock that shows a time before this was written ends nothing and begins nothing: what is
// booked by it counts for the period in which the clock is set.

/// What was booked, by account.
package struct BudgetLedger: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package var used: UInt64
        package var limit: UInt64
        /// The period's number (`BudgetClock`).
        package var period: Int64

        package init(used: UInt64, limit: UInt64, period: Int64) {
            self.used = used
            self.limit = limit
            self.period = period
        }
    }

    package private(set) var entries: [BudgetAccount: Entry] = [:]

    /// More is no such file.
    package static let fileLimit = 64 * 1024
    /// Of the file so much is left for numbers that grow.
    private static let reserve = 16 * 1024
    /// More accounts than a person has; one beyond that is refused.
    package static let capacity = 256
    /// How far ahead of the clock an account may be.
    private static let patience: Int64 = 2

    package init() {}

    // MARK: Booking

    /// What is booked in the present period.
    package func entry(_ account: BudgetAccount, at clock: BudgetClock) -> Entry? {
        guard var entry = entries[account] else { return nil }
        guard clock.isPlausible else { return entry }
        let now = clock.number(account.period)
        if !BudgetClock.isPlausible(entry.period, account.period) {
            entry.period = now
        } else if now > entry.period {
            (entry.used, entry.period) = (0, now)
        } else if entry.period - now > Self.patience {
            entry.period = now
        }
        return entry
    }

    /// The period in which is booked now: the clock's, as a rule.
    package func period(of budget: PathBudget, at clock: BudgetClock) -> Int64 {
        entry(budget.account, at: clock)?.period ?? clock.number(budget.period)
    }

    /// What may still be booked.
    package func remaining(_ budget: PathBudget, at clock: BudgetClock) -> UInt64 {
        let used = entry(budget.account, at: clock)?.used ?? 0
        return budget.limit > used ? budget.limit - used : 0
    }

    /// Books bytes.
    ///
    /// - Parameters:
    ///   - spent: bytes that were used without having been booked.
    ///   - wanted: bytes that will be used.
    ///   - piece: of what is left a quarter is given, so that others get some, but a piece at least.
    /// - Returns: how many of the wanted bytes may be used.
    package mutating func book(
        _ budget: PathBudget, spent: UInt64, wanted: UInt64, piece: UInt64, at clock: BudgetClock
    ) -> UInt64 {
        let account = budget.account
        guard entries[account] != nil || entries.count < Self.capacity, account.canBeKept else { return 0 }
        var entry =
            entry(account, at: clock)
            ?? Entry(used: 0, limit: budget.limit, period: clock.number(account.period))
        entry.limit = budget.limit
        entry.used = entry.used.addingOrMost(spent)
        let left = budget.limit > entry.used ? budget.limit - entry.used : 0
        let given = min(wanted, left, max(left / 4, piece))
        entry.used = entry.used.addingOrMost(given)
        let before = entries[account]
        entries[account] = entry
        guard before != nil || text.utf8.count <= Self.fileLimit - Self.reserve else {
            entries[account] = nil
            return 0
        }
        return given
    }

    /// Takes back what was booked and not used. Of an earlier period nothing is left to give back.
    package mutating func giveBack(
        _ bytes: UInt64, to budget: PathBudget, of period: Int64, at clock: BudgetClock
    ) {
        guard var entry = entry(budget.account, at: clock), entry.period == period else { return }
        entry.used = entry.used > bytes ? entry.used - bytes : 0
        entries[budget.account] = entry
    }

    /// Sets accounts to nothing used; nil for all.
    package mutating func reset(_ account: BudgetAccount?) {
        for key in entries.keys where account == nil || key == account { entries[key]?.used = 0 }
    }

    /// Drops what is of no use any more: accounts that no process has used for a year.
    package mutating func clean(at clock: BudgetClock) {
        guard clock.isPlausible else { return }
        entries = entries.filter { account, entry in
            guard BudgetClock.isPlausible(entry.period, account.period) else { return true }
            let periods: Int64 =
                switch account.period {
                case .day: 366
                case .week: 53
                case .month: 12
                }
            return clock.number(account.period) - entry.period <= periods
        }
    }

    // MARK: Text

    /// - Returns: with how many lines could not be read.
    package static func parse(_ text: String) -> (ledger: BudgetLedger, unreadable: Int) {
        var ledger = BudgetLedger()
        var unreadable = 0
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let (account, entry) = parse(line), ledger.entries.count < capacity else {
                unreadable += 1
                continue
            }
            ledger.entries[account] = entry
        }
        return (ledger, unreadable)
    }

    private static func parse(_ line: Substring) -> (BudgetAccount, Entry)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, let used = UInt64(words[0]), let limit = UInt64(words[1]),
            let number = Int64(words[2]), number.magnitude < 1 << 40,
            let period = PathBudget.Period(rawValue: String(words[3])), let paths = paths(words[4]),
            let name = StateWord.unescaped(words[5], limit: PathBudget.longestName)
        else { return nil }
        return (
            BudgetAccount(name: name, period: period, paths: paths),
            Entry(used: used, limit: limit, period: number)
        )
    }

    private static func paths(_ word: Substring) -> PathBudget.Paths? {
        switch word {
        case "expensive": return .expensive
        case "constrained": return .constrained
        default:
            guard word.hasPrefix(interfaces) else { return nil }
            let words = word.dropFirst(interfaces.count).split(
                separator: ",", omittingEmptySubsequences: false)
            let names = words.compactMap { StateWord.unescaped($0, limit: BudgetAccount.longestInterface) }
            return names.count == words.count && !names.isEmpty ? .interfaces(Set(names)) : nil
        }
    }

    private static let interfaces = "interfaces:"

    private static func word(_ paths: PathBudget.Paths) -> String {
        switch paths {
        case .expensive: "expensive"
        case .constrained: "constrained"
        case .interfaces(let names):
            interfaces
                + names.sorted().map { StateWord.escaped($0, alsoEscaping: [UInt8(ascii: ",")]) }
                .joined(separator: ",")
        }
    }

    /// The file's text.
    package var text: String {
        let lines = entries.map { account, entry in
            "\(entry.used) \(entry.limit) \(entry.period) \(account.period.rawValue) \(Self.word(account.paths)) "
                + StateWord.escaped(account.name)
        }
        return
            (["# What budgets have used. Programs write this; 'mppaths budget' shows and resets it."]
            + lines.sorted()).joined(separator: "\n") + "\n"
    }
}

extension UInt64 {
    func addingOrMost(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    func subtractingOrZero(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
