import PathCore
import SteeringSimulation
import Testing

/// Wi-Fi carries, cellular is expensive. No probe is answered.
@Suite("A download that stands still")
struct RepairTests {
    /// When the path was probed and when it was given up, in milliseconds, where bytes come in until 300 ms.
    ///
    /// - Parameter repairs: when a segment comes in that is behind a lost one.
    private func course(repairs: Set<Int64> = []) -> (probes: [Int64], failed: Int64?) {
        var machine = HandFed.machine()
        var (received, early, lastAt) = (UInt64(0), UInt32(0), Int64(0))
        var probes: [Int64] = []
        for time in 1...2000 as ClosedRange<Int64> {
            if time <= 300, time.isMultiple(of: 5) { (received, lastAt) = (received + 10_000, time) }
            if repairs.contains(time) { early += 1 }
            let actions =
                machine.sample(
                    HandFed.download(received: received, early: early, since: .milliseconds(time - lastAt)),
                    at: at(time)) + machine.timeReached(at(time))
            for action in actions {
                if case .startProbe = action { probes.append(time) }
                if case .tell(.failed) = action { return (probes, time) }
            }
        }
        return (probes, nil)
    }

    @Test("is asked about twice before data goes to a path that costs something, and then given up")
    func silent() throws {
        let course = course()
        #expect(course.probes.count == 2)
        #expect(325...400 ~= (try #require(course.failed)))
    }

    @Test("is asked about once more for each segment that comes in behind the lost one, eight times in all")
    func repaired() throws {
        let last = try #require(course().probes.last)
        let once = course(repairs: [last + 2])
        #expect(once.probes.count == 3)
        let repairs = Set(stride(from: last + 2, to: 2000, by: 2))
        let always = course(repairs: repairs)
        #expect(always.probes.count == 8)
        let failed = try #require(always.failed)
        #expect(try failed > #require(once.failed))
        // Each of those goes after twice the time of the one before.
        let spaces = zip(always.probes.dropFirst(3), always.probes.dropFirst(2)).map { $0 - $1 }
        #expect(zip(spaces.dropFirst(), spaces).allSatisfy { $0 >= $1 * 2 - 2 }, "\(always.probes)")
    }
}
