import CommandSupport
import Glibc
import LinuxNet
import PathCore
import TestSupport
import Testing

@Suite("mppaths budget")
struct BudgetTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func budget(_ arguments: String...) async throws -> Program.Result {
        try await Program.run(
            [Commands.mppaths, "budget"] + arguments, environment: ["MULTIPATH_HOME": folder.file("home")])
    }

    private func write(_ text: String) throws {
        try folder.makeFolder("home")
        try folder.write(text, to: "home/budgets")
        chmod(folder.file("home/budgets"), 0o600)
    }

    @Test("says that there is none, shows what is used, as JSON too, and resets it")
    func shows() async throws {
        let none = try await budget()
        #expect(none.status == 0)
        #expect(none.outputText == "# \(folder.file("home/budgets"))\nno program has used a budget yet\n")
        let day = BudgetClock.now.number(.day)
        try write(
            """
            10000000 10000000 \(day) day expensive default
            2500000 50000000 \(day) day interfaces:wwan0 fetch\\x1B

            """)
        let shown = try await budget()
        let lines = shown.outputText.split(separator: "\n")
        #expect(lines.count == 3, "\(shown.outputText)")
        #expect(
            lines.contains {
                $0.hasPrefix("default: 10.0 of 10.0 MB of this day on expensive paths; spent for ")
            })
        #expect(lines.contains { $0.contains("2.5 of 50.0 MB of this day on wwan0; 47.5 MB left for ") })
        #expect(!shown.outputText.contains("\u{1B}"))
        let json = try await budget("--json")
        #expect(json.outputText.contains(#""left":0"#) && json.outputText.contains(#""left":47500000"#))
        #expect(json.outputText.contains(#""interfaces":["wwan0"]"#))
        let unknown = try await budget("reset", "defualt")
        #expect(unknown.status == 2 && unknown.errors.contains("no budget is named 'defualt'"))
        #expect(try await budget("reset", "default").outputText.hasPrefix("1 budget reset;"))
        #expect(try await budget().outputText.contains("default: 0.0 of 10.0 MB"))
        #expect(try await budget("reset").outputText.hasPrefix("2 budgets reset;"))
    }

    @Test("tells of lines that can't be read, and of a file that others may write")
    func damaged() async throws {
        try write("garbage\n")
        let damaged = try await budget()
        #expect(damaged.status == 0 && damaged.errors.contains("1 lines can't be read"))
        chmod(folder.file("home/budgets"), 0o666)
        let loose = try await budget()
        #expect(loose.status == 1 && loose.errors.contains("another user can write it"))
    }

    @Test("as an option is so many bytes a period, and paths")
    func argument() throws {
        #expect(
            try BudgetArgument(parsing: "50MB/day").budget == .bytes(50_000_000, per: .day, on: .expensive))
        #expect(
            try BudgetArgument(parsing: "7/week:constrained").budget
                == .bytes(7, per: .week, on: .constrained))
        #expect(
            try BudgetArgument(parsing: "1GB/month:wwan0,wwan1").budget
                == .bytes(1_000_000_000, per: .month, on: .interfaces(["wwan0", "wwan1"])))
        for text in [
            "", "50MB", "50XB/day", "MB/day", "5MB/year", "99999999999GB/day", "5MB/day:", "5/day:a,,b",
        ] {
            #expect(throws: BudgetArgument.Malformed.self) { try BudgetArgument(parsing: text) }
        }
    }
}
