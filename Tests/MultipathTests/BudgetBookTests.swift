import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A process's budgets")
struct BudgetBookTests {
    private final class Listener: BudgetListener {
        let number: UInt64
        let spent = Locked<Set<PathBudget>>([])

        init(_ number: UInt64 = 1) { self.number = number }

        func setSpent(_ budgets: Set<PathBudget>) { spent.withLock { $0 = budgets } }
    }

    private final class Meter: BudgetMeter {
        struct State {
            var bytes: UInt64 = 0
            var looks = 0
        }

        let budget: PathBudget
        let tells: Bool
        let state = Locked(State())

        init(_ budget: PathBudget, tells: Bool) { (self.budget, self.tells) = (budget, tells) }

        func look() -> BudgetLook {
            state.withLock { state in
                defer { state.bytes = 0 }
                state.looks += 1
                return BudgetLook(bytes: state.bytes, willTell: tells && state.bytes == 0)
            }
        }

        var looks: Int { state.withLock { $0.looks } }
        func use(_ bytes: UInt64) { state.withLock { $0.bytes += bytes } }
    }

    private static let day: Int64 = 20_500
    private let budget = PathBudget.bytes(1_000_000, per: .day, on: .expensive)
    private let folder: TemporaryFolder
    private let file: BudgetFile
    private let today = Locked(BudgetBookTests.day)
    private let thread = EventThread.shared

    init() throws {
        folder = try TemporaryFolder()
        file = BudgetFile(folder.file("budgets"))
    }

    private func book(_ change: (inout BudgetTuning) -> Void = { _ in }) -> BudgetBook {
        var tuning = BudgetTuning()
        (tuning.clockLook, tuning.keeping) = (.milliseconds(20), .milliseconds(30))
        change(&tuning)
        let (path, today) = (folder.file("budgets"), today)
        return BudgetBook(
            thread, shared: SharedBudgets(on: thread, at: { path }), tuning: tuning,
            clock: { BudgetClock(localSeconds: today.withLock { $0 } * 86_400 + 43_200) })
    }

    private func perform(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            thread.submit {
                body()
                continuation.resume()
            }
        }
    }

    private func policy() -> PathPolicy {
        var policy = PathPolicy()
        policy.budget = budget
        return policy
    }

    private func used() throws -> UInt64 { try file.read().ledger.entries[budget.account]?.used ?? 0 }

    @Test("are spent when all is used, stay so with a clock that is set back, and begin anew the next day")
    func days() async throws {
        let (book, listener, meter) = (book(), Listener(), Meter(budget, tells: false))
        await book.prepare(policy(), for: listener)
        await perform { book.begin(meter) }
        meter.use(1_000_000)
        try await Program.wait("spent") { listener.spent.withLock { $0 } == [budget] }
        try await Program.wait("booked") { try used() >= 1_000_000 }
        today.withLock { $0 -= 1 }
        try await Task.sleep(for: .milliseconds(100))
        #expect(listener.spent.withLock { $0 } == [budget])
        // A machine that has lost its time.
        today.withLock { $0 = 1 }
        try await Task.sleep(for: .milliseconds(100))
        #expect(listener.spent.withLock { $0 } == [budget])
        today.withLock { $0 = Self.day + 1 }
        try await Program.wait("open again") { listener.spent.withLock { $0 }.isEmpty }
        await perform { book.end(meter, using: 0) }
    }

    @Test("cost nothing while nothing moves, where connections say when it does")
    func idle() async throws {
        let (book, listener, meter) = (book(), Listener(), Meter(budget, tells: true))
        await book.prepare(policy(), for: listener)
        await perform { book.begin(meter) }
        let looks = meter.looks
        try await Task.sleep(for: .milliseconds(400))
        #expect(meter.looks == looks)
        // A burst is seen when its first bytes are told, however long it was idle.
        meter.use(1_000_000)
        await perform { book.dataMoves() }
        try await Program.wait("spent") { listener.spent.withLock { $0 } == [budget] }
        await perform { book.end(meter, using: 0) }
    }

    @Test("look ever less often at connections that do not say it")
    func untold() async throws {
        let (book, listener, meter) = (
            book { ($0.idleLook, $0.longestIdleLook) = (.milliseconds(5), .milliseconds(80)) }, Listener(),
            Meter(budget, tells: false)
        )
        await book.prepare(policy(), for: listener)
        await perform { book.begin(meter) }
        let begun = ContinuousClock.now
        try await Program.wait("some looks") { meter.looks >= 7 }
        #expect(ContinuousClock.now - begun >= .milliseconds(5 + 10 + 20 + 40 + 80))
        await perform { book.end(meter, using: 0) }
    }

    @Test("give nothing back to today that was booked yesterday")
    func midnight() async throws {
        let (book, listener, meter) = (book(), Listener(), Meter(budget, tells: true))
        await book.prepare(policy(), for: listener)
        await perform { book.begin(meter) }
        try await Program.wait("a piece is booked") { try used() == BudgetTuning.standard.piece }
        today.withLock { $0 += 1 }
        // Another process uses some of the new day.
        let (budget, noon) = (budget, BudgetClock(localSeconds: (Self.day + 1) * 86_400 + 43_200))
        try file.update { _ = $0.book(budget, spent: 70_000, wanted: 0, piece: 1, at: noon) }
        await perform { book.end(meter, using: 0) }
        try await Task.sleep(for: .milliseconds(200))
        let entry = try file.read().ledger.entry(budget.account, at: noon)
        // What this process books for the new day it gives back, too.
        #expect(
            entry?.period == Self.day + 1 && entry.map { $0.used >= 70_000 } == true,
            "\(String(describing: entry))")
    }

    @Test("take no listener for one that was told before it, and is gone")
    func identity() async throws {
        let book = book()
        for number in 1...200 as ClosedRange<UInt64> {
            let listener = Listener(number)
            #expect(!book.isReady(policy(), for: listener))
            await book.prepare(policy(), for: listener)
            #expect(book.isReady(policy(), for: listener))
        }
    }
}
