import PathCore
import Testing

@Suite("The ledger of budgets")
struct BudgetLedgerTests {
    private static let budget = PathBudget.bytes(10_000_000, per: .day, on: .expensive)
    private static let piece: UInt64 = 65_536

    /// Noon of a day.
    private func noon(_ day: Int64) -> BudgetClock { BudgetClock(localSeconds: day * 86_400 + 43_200) }

    private func book(
        _ ledger: inout BudgetLedger, _ wanted: UInt64, spent: UInt64 = 0, day: Int64 = 20_000
    ) -> UInt64 {
        ledger.book(Self.budget, spent: spent, wanted: wanted, piece: Self.piece, at: noon(day))
    }

    @Test("gives no more than the limit, however it is asked")
    func limit() {
        var ledger = BudgetLedger()
        var given: UInt64 = 0
        for round in 0..<10_000 { given += book(&ledger, UInt64(round % 7) * 100_000 + 1) }
        #expect(given == Self.budget.limit)
        #expect(ledger.remaining(Self.budget, at: noon(20_000)) == 0)
        #expect(book(&ledger, 1, spent: .max) == 0, "a debt is booked in full, and does not overflow")
        #expect(ledger.remaining(Self.budget, at: noon(20_000)) == 0)
    }

    @Test("leaves something for others until little is left")
    func pieces() {
        var ledger = BudgetLedger()
        #expect(book(&ledger, .max) == 2_500_000)
        #expect(book(&ledger, 100) == 100)
        ledger.giveBack(2_500_100, to: Self.budget, of: 20_000, at: noon(20_000))
        #expect(book(&ledger, 0, spent: 9_900_000) == 0)
        #expect(book(&ledger, .max) == Self.piece)
        #expect(book(&ledger, .max) == 100_000 - Self.piece)
        #expect(book(&ledger, .max) == 0)
    }

    @Test("begins anew with a later period, and not with a clock that is set back")
    func clock() {
        var ledger = BudgetLedger()
        _ = book(&ledger, 0, spent: 10_000_000, day: 20_000)
        func left(_ day: Int64) -> UInt64 { ledger.remaining(Self.budget, at: noon(day)) }
        #expect(left(20_000) == 0 && left(20_001) == 10_000_000)
        #expect(left(19_999) == 0 && left(19_998) == 0, "set back by a day or two")
        #expect(left(19_000) == 0, "set back by years")
        // It was set back, something was booked, and it is right again: the same day is no new one.
        _ = book(&ledger, 0, spent: 5, day: 19_999)
        #expect(left(20_000) == 0)
        #expect(left(20_001) == 10_000_000)
        // A clock that was years ahead is corrected: the account does not wait for years.
        _ = book(&ledger, 0, spent: 10_000_000, day: 25_000)
        #expect(left(20_000) == 0, "what was used stays used")
        _ = book(&ledger, 0, spent: 1, day: 20_000)
        #expect(left(20_000) == 0 && left(20_001) == 10_000_000)
    }

    @Test("counts days, weeks from Monday, and months")
    func periods() {
        func clock(_ day: Int64, _ second: Int64 = 0) -> BudgetClock {
            BudgetClock(localSeconds: day * 86_400 + second)
        }
        // 2024-02-29 was day 19,782, a Thursday.
        #expect(clock(19_782).number(.month) == clock(19_782 - 28).number(.month))
        #expect(clock(19_783).number(.month) == clock(19_782).number(.month) + 1)
        #expect(clock(19_782 - 29).number(.month) == clock(19_782).number(.month) - 1)
        #expect(clock(19_785).number(.week) == clock(19_782).number(.week), "Sunday")
        #expect(clock(19_786).number(.week) == clock(19_782).number(.week) + 1, "Monday")
        #expect(clock(-1).number(.day) == -1 && clock(-1, 86_399).number(.day) == -1)
        #expect(clock(19_782, 86_399).untilNext(.day) == .seconds(1))
        #expect(clock(19_782).untilNext(.week) == .seconds(4 * 86_400))
        #expect(clock(19_782, 3_600).untilNext(.month) == .seconds(82_800))
        var months: Set<Int64> = []
        for day in stride(from: Int64(-800_000), to: 800_000, by: 1) {
            months.insert(clock(day).number(.month))
        }
        #expect(months.count == Int((months.max() ?? 0) - (months.min() ?? 0)) + 1)
    }

    @Test("comes back from its text as it was")
    func text() {
        var ledger = BudgetLedger()
        let budgets: [PathBudget] = [
            Self.budget, .bytes(1, per: .month, on: .constrained, name: "a b\n\\ü"),
            .bytes(.max, per: .week, on: .interfaces(["wwan0", "a,b c"]), name: "x"),
        ]
        for budget in budgets {
            _ = ledger.book(budget, spent: 7, wanted: 0, piece: Self.piece, at: noon(20_000))
        }
        let read = BudgetLedger.parse(ledger.text)
        #expect(read.ledger == ledger && read.unreadable == 0)
        #expect(read.ledger.entries.count == 3)
    }

    @Test(
        "skips lines that are none, and keeps the others",
        arguments: [
            "garbage", "1 2 3 day expensive", "-1 2 3 day expensive x", "1 2 3 hour expensive x",
            "1 2 3 day cheap x", "1 2 3 day interfaces: x", "1 2 3 day expensive \\x",
            "1 2 99999999999999999 day expensive x", "1 2 -9223372036854775808 day expensive x",
            "1 2 3 day expensive ", "\0\0\0\0",
            "1 2 3 day expensive \(String(repeating: "x", count: 33))",
        ])
    func damaged(_ line: String) {
        let read = BudgetLedger.parse("# comment\n\(line)\n5 10 20000 day expensive default\n")
        #expect(read.unreadable == 1)
        #expect(read.ledger.entries[Self.budget.account]?.used == 5)
    }

    @Test("takes no more accounts than a person has, and drops those of last year")
    func capacity() {
        var ledger = BudgetLedger()
        for number in 0..<300 {
            let budget = PathBudget.bytes(10, per: .day, on: .expensive, name: "n\(number)")
            _ = ledger.book(budget, spent: 1, wanted: 0, piece: Self.piece, at: noon(20_000))
        }
        #expect(ledger.entries.count == BudgetLedger.capacity)
        #expect(ledger.text.utf8.count < BudgetLedger.fileLimit)
        ledger.clean(at: noon(20_366))
        #expect(ledger.entries.count == BudgetLedger.capacity)
        ledger.clean(at: noon(20_367))
        #expect(ledger.entries.isEmpty)
    }

    @Test("gives back only to the period in which it was booked")
    func giveBack() {
        var ledger = BudgetLedger()
        _ = book(&ledger, 100, day: 20_000)
        ledger.giveBack(100, to: Self.budget, of: 19_999, at: noon(20_000))
        #expect(ledger.entries[Self.budget.account]?.used == 100)
        ledger.giveBack(1_000, to: Self.budget, of: 20_000, at: noon(20_000))
        #expect(ledger.entries[Self.budget.account]?.used == 0)
    }

    @Test("is asked by names of 1 to 32 bytes")
    func names() {
        let long = PathBudget.bytes(1, per: .day, on: .expensive, name: String(repeating: "ü", count: 40))
        #expect(long.name.utf8.count == 32)
        #expect(PathBudget.bytes(1, per: .day, on: .expensive, name: "").name == "default")
    }

    @Test(
        "of a machine whose clock is not set yet goes on where it was, and loses nothing when the clock is set"
    )
    func unsetClock() {
        let boot = BudgetClock(localSeconds: 100)
        var ledger = BudgetLedger()
        _ = ledger.book(Self.budget, spent: 600, wanted: 0, piece: 1, at: noon(20_000))
        _ = ledger.book(Self.budget, spent: 50, wanted: 0, piece: 1, at: boot)
        ledger.clean(at: boot)
        #expect(ledger.entry(Self.budget.account, at: boot)?.used == 650)
        #expect(ledger.entry(Self.budget.account, at: noon(20_000))?.used == 650)
        #expect(ledger.entry(Self.budget.account, at: noon(20_001))?.used == 0)

        var new = BudgetLedger()
        _ = new.book(Self.budget, spent: 70, wanted: 0, piece: 1, at: boot)
        new.clean(at: noon(20_000))
        #expect(new.entry(Self.budget.account, at: noon(20_000))?.used == 70)
        #expect(new.period(of: Self.budget, at: noon(20_000)) == 20_000)
    }

    @Test("of interfaces can be read back whatever they are called, and is not kept where it covers none")
    func interfaceNames() {
        let long = String(repeating: "x", count: 65)
        for names in [["wwan0"], ["a,b", "c d"], ["", "wwan0"], [long, "wwan0"], ["µ\\x\n"]] as [Set<String>]
        {
            let budget = PathBudget.bytes(1_000, per: .day, on: .interfaces(names))
            var ledger = BudgetLedger()
            #expect(ledger.book(budget, spent: 0, wanted: 100, piece: 100, at: noon(20_000)) == 100)
            let (read, unreadable) = BudgetLedger.parse(ledger.text)
            #expect(unreadable == 0 && read == ledger, "\(names)")
            #expect(read.remaining(budget, at: noon(20_000)) == 900)
        }
        for names in [[], [""], [long]] as [Set<String>] {
            var ledger = BudgetLedger()
            let budget = PathBudget.bytes(1_000, per: .day, on: .interfaces(names))
            #expect(ledger.book(budget, spent: 10, wanted: 100, piece: 100, at: noon(20_000)) == 0)
            #expect(ledger.entries.isEmpty)
        }
    }

    @Test("is refused where the file would grow beyond what is read")
    func fileLimit() {
        var ledger = BudgetLedger()
        for number in 0..<BudgetLedger.capacity {
            let names = Set((0..<20).map { "interface-\(number)-\($0)-\(String(repeating: "x", count: 40))" })
            let budget = PathBudget.bytes(1_000, per: .day, on: .interfaces(names))
            _ = ledger.book(budget, spent: 0, wanted: 100, piece: 100, at: noon(20_000))
        }
        #expect(ledger.text.utf8.count < BudgetLedger.fileLimit && ledger.entries.count > 10)
    }
}
