import PathCore
import Testing

@Suite("The coalescer")
struct CoalescerTests {
    /// Delivery times of changes that come at these times, in milliseconds.
    private func deliveries(of changes: [Int64], urgent: Set<Int64> = []) -> [Int64] {
        var coalescer = Coalescer()
        var delivered: [Int64] = []
        func runTimers(until limit: MonotonicTime) {
            while let deadline = coalescer.nextDeadline, deadline < limit {
                if coalescer.timeReached(deadline) { delivered.append(deadline.nanoseconds / 1_000_000) }
            }
        }
        for change in changes {
            runTimers(until: at(change))
            if coalescer.changed(isUrgent: urgent.contains(change), at: at(change)) {
                delivered.append(change)
            }
        }
        runTimers(until: at(1_000_000))
        return delivered
    }

    @Test("delivers a change once nothing more has come for the quiet period")
    func quiet() {
        #expect(deliveries(of: [0]) == [50])
        #expect(deliveries(of: [0, 20, 40]) == [90])
        #expect(deliveries(of: [0, 200]) == [50, 250])
    }

    @Test("delivers what waits after the maximum wait, though changes never stop")
    func churn() {
        #expect(deliveries(of: Array(stride(from: 0, through: 600, by: 10))) == [250, 510, 650])
    }

    @Test("delivers an urgent change at once, and what waited with it")
    func urgent() {
        #expect(deliveries(of: [0, 20], urgent: [20]) == [20])
        #expect(deliveries(of: [0, 20, 30], urgent: [20]) == [20, 80])
    }

    @Test("has no deadline while nothing waits")
    func idle() {
        var coalescer = Coalescer()
        #expect(coalescer.nextDeadline == nil)
        let early = coalescer.timeReached(at(1_000))
        let urgent = coalescer.changed(isUrgent: true, at: at(1_000))
        #expect([early, urgent] == [false, true])
        #expect(coalescer.nextDeadline == nil)
    }
}
