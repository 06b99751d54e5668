import PathCore
import TestSupport
import Testing

/// Processes that share one budget, in simulated time: their connections use bytes at a rate, what they book takes its time, and
/// what is on its way when a budget is spent still comes.
private struct BudgetWorld {
    struct Process {
        var machine: BudgetMachine
        var rate: UInt64
        var used: UInt64 = 0
        var looked: MonotonicTime
        var sinceLook: UInt64 = 0
        /// Bytes stop so long after the budget was found spent.
        var stops: MonotonicTime?
        var isDead = false
    }

    let budget: PathBudget
    var ledger = BudgetLedger()
    var processes: [Process] = []
    var clock = BudgetClock(localSeconds: 20_000 * 86_400)
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var writing: Duration
    var tail: Duration
    private var bookings: [(at: MonotonicTime, process: Int, wanted: UInt64, spent: UInt64)] = []

    init(_ limit: UInt64, rates: [UInt64], writing: Duration, tail: Duration) {
        budget = .bytes(limit, per: .day, on: .expensive)
        (self.writing, self.tail) = (writing, tail)
        for rate in rates {
            var process = Process(machine: BudgetMachine(budget), rate: rate, looked: now)
            _ = process.machine.ledger(remaining: limit, period: 20_000)
            processes.append(process)
        }
        for index in processes.indices { follow(processes[index].machine.begun(), index) }
    }

    var used: UInt64 { processes.reduce(0) { $0 + $1.used } }

    mutating func run(for duration: Duration) {
        let end = now.advanced(by: duration)
        while now < end {
            now = now.advanced(by: .milliseconds(1))
            for index in processes.indices where !processes[index].isDead { step(index) }
            for booking in bookings where booking.at <= now { write(booking) }
            bookings.removeAll { $0.at <= now }
        }
    }

    private mutating func step(_ index: Int) {
        var process = processes[index]
        if process.stops.map({ now >= $0 }) != true {
            process.used += process.rate / 1_000
            process.sinceLook += process.rate / 1_000
        }
        if process.looked.duration(to: now)
            >= process.machine.lookAfter(idleLooks: process.sinceLook == 0 ? 1 : 0)
        {
            let actions = process.machine.used(process.sinceLook, roundTrip: tail, at: now)
            (process.sinceLook, process.looked) = (0, now)
            follow(actions, index)
        }
        if process.machine.isSpent {
            process.stops = process.stops ?? now.advanced(by: tail)
        } else {
            process.stops = nil
        }
        processes[index] = process
    }

    private mutating func follow(_ actions: [BudgetMachine.Action], _ index: Int) {
        for action in actions {
            guard case .book(let wanted, let spent) = action else { continue }
            bookings.append((now.advanced(by: writing), index, wanted, spent))
        }
    }

    private mutating func write(_ booking: (at: MonotonicTime, process: Int, wanted: UInt64, spent: UInt64)) {
        let given = ledger.book(
            budget, spent: booking.spent, wanted: booking.wanted, piece: BudgetTuning.standard.piece,
            at: clock)
        let remaining = ledger.remaining(budget, at: clock)
        for index in processes.indices where !processes[index].isDead {
            let actions =
                index == booking.process
                ? processes[index].machine.booked(
                    given, spent: booking.spent, remaining: remaining, period: clock.number(.day))
                : processes[index].machine.ledger(remaining: remaining, period: clock.number(.day))
            follow(actions, index)
        }
    }
}

@Suite("A budget")
struct BudgetMachineTests {
    @Test("does not take a pause of its stream for a look that came late")
    func pause() {
        var machine = BudgetMachine(.bytes(10_000_000, per: .day, on: .expensive))
        _ = machine.ledger(remaining: 10_000_000, period: 20_000)
        // Its booking never comes: it is in debt.
        _ = machine.begun()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for _ in 0..<40 {
            now = now.advanced(by: .milliseconds(10))
            _ = machine.used(25_000, at: now)
        }
        now = now.advanced(by: .milliseconds(100))
        machine.rested()
        _ = machine.used(2_500, at: now.advanced(by: .milliseconds(1)))
        // 80 ms of the stream are left.
        _ = machine.ledger(remaining: UInt64(-machine.booked) + 200_000, period: 20_000)
        #expect(!machine.isSpent)
        _ = machine.ledger(remaining: UInt64(-machine.booked) + 20_000, period: 20_000)
        #expect(machine.isSpent)
    }

    @Test("gives back what it has booked, also where it is spent, or where more is about to come")
    func givesBack() {
        let budget = PathBudget.bytes(1_000_000, per: .day, on: .expensive)
        var spent = BudgetMachine(budget)
        _ = spent.ledger(remaining: 1_000_000, period: 20_000)
        _ = spent.begun()
        _ = spent.booked(10_000, spent: 0, remaining: 0, period: 20_000)
        #expect(spent.isSpent)
        #expect(spent.unused() == [.giveBack(10_000, period: 20_000)])
        var booking = BudgetMachine(budget)
        _ = booking.ledger(remaining: 1_000_000, period: 20_000)
        _ = booking.begun()
        #expect(booking.unused().isEmpty)
        let back = booking.booked(65_536, spent: 0, remaining: 900_000, period: 20_000)
        #expect(back == [.giveBack(65_536, period: 20_000)])
        #expect(booking.booked == 0)
    }

    @Test(
        "is kept by processes together to 256 KiB, and little of it is left",
        arguments: [
            (rates: [2_500_000] as [UInt64], 10, 30), ([2_500_000, 2_500_000], 10, 30),
            ([1_250_000, 6_250_000], 20, 20), ([600_000, 600_000, 600_000, 600_000], 30, 60),
            ([100_000, 5_000_000], 50, 20),
        ])
    func kept(rates: [UInt64], writing: Int, tail: Int) {
        var world = BudgetWorld(
            10_000_000, rates: rates, writing: .milliseconds(writing), tail: .milliseconds(tail))
        world.run(for: .seconds(60))
        let stopped = world.processes.filter(\.machine.isSpent).count
        #expect(stopped == rates.count)
        #expect(world.used <= 10_000_000 + 256 * 1_024, "\(world.used)")
        #expect(world.used >= 9_000_000, "\(world.used)")
    }

    @Test(
        "is left early enough for what is on its way, whatever the rates and the round trips",
        arguments: 0..<60 as Range<UInt64>)
    func seeded(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = UInt64.random(in: 5_000_000...40_000_000, using: &random)
        let rates = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            UInt64.random(in: 100_000...6_250_000, using: &random)
        }
        // 50 Mbit/s are shared, and wait in one queue.
        let sum = rates.reduce(0, +)
        var world = BudgetWorld(
            limit, rates: rates.map { sum > 6_250_000 ? $0 * 6_250_000 / sum : $0 },
            writing: .milliseconds(Int64.random(in: 2...60, using: &random)),
            tail: .milliseconds(Int64.random(in: 10...220, using: &random)))
        world.run(for: .seconds(200))
        let stopped = world.processes.filter(\.machine.isSpent).count
        #expect(stopped == rates.count)
        #expect(world.used <= limit + 256 * 1_024, "\(limit): \(Int64(world.used) - Int64(limit))")
        #expect(world.used >= limit * 85 / 100, "\(limit): \(world.used)")
    }

    @Test("of a process that is killed loses what it had booked, and no more is used for that")
    func killed() {
        for death in stride(from: 100, to: 2_000, by: 100) {
            var world = BudgetWorld(
                10_000_000, rates: [2_500_000, 2_500_000], writing: .milliseconds(10), tail: .milliseconds(30)
            )
            world.run(for: .milliseconds(death))
            world.processes[0].isDead = true
            world.run(for: .seconds(30))
            #expect(world.used <= 10_000_000 + 256 * 1_024)
            #expect(world.used >= 4_000_000, "killed at \(death) ms: \(world.used)")
        }
    }

    @Test("is open again in the next period")
    func nextPeriod() {
        var world = BudgetWorld(
            1_000_000, rates: [1_000_000], writing: .milliseconds(5), tail: .milliseconds(20))
        world.run(for: .seconds(5))
        #expect(world.processes[0].machine.isSpent)
        world.clock.localSeconds += 86_400
        _ = world.processes[0].machine.ledger(
            remaining: world.ledger.remaining(world.budget, at: world.clock),
            period: world.clock.number(.day))
        #expect(!world.processes[0].machine.isSpent)
        world.run(for: .seconds(5))
        #expect(world.processes[0].machine.isSpent)
        #expect(world.used >= 1_800_000 && world.used <= 2_000_000 + 2 * 256 * 1_024)
    }

    @Test("is open again in the next period where half of it was kept for what was on its way")
    func nextPeriodOfFast() {
        var machine = BudgetMachine(.bytes(1_000_000, per: .day, on: .expensive))
        _ = machine.ledger(remaining: 1_000_000, period: 20_000)
        #expect(machine.begun() == [.book(wanted: 65_536, spent: 0)])
        _ = machine.booked(65_536, spent: 0, remaining: 934_464, period: 20_000)
        // 12.5 MB a second.
        for time in [30, 60] {
            _ = machine.used(375_000, roundTrip: .milliseconds(100), at: at(time))
        }
        _ = machine.booked(0, spent: 684_464, remaining: 250_000, period: 20_000)
        #expect(machine.isSpent)
        _ = machine.ledger(remaining: 1_000_000, period: 20_001)
        #expect(!machine.isSpent)
    }

    @Test("does nothing before it is used, and gives back what it has booked when it is used no more")
    func unused() {
        let budget = PathBudget.bytes(1_000_000, per: .day, on: .expensive)
        var machine = BudgetMachine(budget)
        #expect(machine.ledger(remaining: 1_000_000, period: 20_000) == [])
        #expect(!machine.isSpent && machine.unused() == [])
        #expect(machine.begun() == [.book(wanted: 65_536, spent: 0)])
        #expect(machine.used(1_000, at: MonotonicTime(nanoseconds: 1)) == [])
        #expect(machine.booked(65_536, spent: 0, remaining: 934_464, period: 20_000) == [])
        #expect(machine.unused() == [.giveBack(64_536, period: 20_000)])
        #expect(machine.ledger(remaining: 999_000, period: 20_000) == [])
    }

    @Test("gives nothing back to today of what was booked yesterday, and uses none of it today")
    func midnight() {
        let budget = PathBudget.bytes(1_000_000, per: .day, on: .expensive)
        var machine = BudgetMachine(budget)
        _ = machine.ledger(remaining: 1_000_000, period: 20_000)
        _ = machine.begun()
        _ = machine.booked(65_536, spent: 0, remaining: 934_464, period: 20_000)
        #expect(machine.unused() == [.giveBack(65_536, period: 20_000)], "its account is yesterday's by now")
        _ = machine.begun()
        _ = machine.booked(65_536, spent: 0, remaining: 934_464, period: 20_000)
        #expect(machine.ledger(remaining: 1_000_000, period: 20_001) == [.book(wanted: 65_536, spent: 0)])
        #expect(machine.booked == 0)
        _ = machine.booked(65_536, spent: 0, remaining: 934_464, period: 20_001)
        #expect(machine.unused() == [.giveBack(65_536, period: 20_001)])
    }

    @Test("that others have spent is spent at once, and open again when it was reset")
    func others() {
        var machine = BudgetMachine(.bytes(1_000_000, per: .day, on: .expensive))
        _ = machine.ledger(remaining: 0, period: 20_000)
        #expect(machine.isSpent)
        _ = machine.ledger(remaining: 1_000_000, period: 20_000)
        #expect(!machine.isSpent)
    }
}
