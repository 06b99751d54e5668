import PathCore
import Testing

@Suite("The budget of readings")
struct ReadingBudgetTests {
    @Test("lets a burst through at once, and then one each interval")
    func burst() {
        var budget = ReadingBudget()
        let start = MonotonicTime(nanoseconds: 5_000_000_000)
        for _ in 0..<budget.burst { #expect(budget.take(at: start) == nil) }
        let next = start.advanced(by: budget.interval)
        #expect(budget.take(at: start) == next)
        #expect(budget.take(at: next.advanced(by: .nanoseconds(-1))) == next)
        #expect(budget.take(at: next) == nil)
        #expect(budget.take(at: next) == next.advanced(by: budget.interval))
    }

    @Test("is whole again after a quiet while, and no more than whole")
    func quiet() {
        var budget = ReadingBudget()
        var now = MonotonicTime(nanoseconds: 1)
        for _ in 0..<3 {
            for _ in 0..<budget.burst { #expect(budget.take(at: now) == nil) }
            #expect(budget.take(at: now) != nil)
            now = now.advanced(by: .seconds(60))
        }
    }
}
