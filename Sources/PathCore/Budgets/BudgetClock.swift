/// The periods of budgets, counted from 1970 by the clock on the wall.
package struct BudgetClock: Sendable, Hashable {
    /// Seconds since 1970 as a clock on the wall shows them: of UTC, with the time zone's distance added.
    package var localSeconds: Int64

    package init(localSeconds: Int64) { self.localSeconds = localSeconds }

    private static let day: Int64 = 86_400
    /// The first of January 2024, which is before this was written: a machine without a battery says something earlier until
    /// it has asked for the time.
    private static let earliest = BudgetClock(localSeconds: 19_723 * day)

    /// Whether it can be the time at all.
    package var isPlausible: Bool { localSeconds >= Self.earliest.localSeconds }

    /// Whether a period can be one in which this runs.
    static func isPlausible(_ number: Int64, _ period: PathBudget.Period) -> Bool {
        number >= earliest.number(period)
    }

    private var days: Int64 { Self.divide(localSeconds, Self.day) }

    /// Rounded down, also before 1970.
    private static func divide(_ number: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }

    /// The number of the period that it is now.
    package func number(_ period: PathBudget.Period) -> Int64 {
        switch period {
        case .day: days
        // The first of January 1970 was a Thursday.
        case .week: Self.divide(days + 3, 7)
        case .month: Self.month(ofDay: days)
        }
    }

    /// How long it is until the next period, at least a second.
    package func untilNext(_ period: PathBudget.Period) -> Duration {
        let now = number(period)
        var next = days + 1
        while BudgetClock(localSeconds: next * Self.day).number(period) == now { next += 1 }
        return .seconds(max(next * Self.day - localSeconds, 1))
    }

    /// Months since January of the year 0 (Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days): years
    /// begin in March there, so that the leap day is the last.
    private static func month(ofDay day: Int64) -> Int64 {
        let shifted = day + 719_468
        let era = divide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        return (yearOfEra + era * 400) * 12 + monthFromMarch + 2
    }
}
