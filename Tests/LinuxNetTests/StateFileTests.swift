import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("A file in the state folder")
struct StateFileTests {
    private let folder: TemporaryFolder
    private let file: StateFile

    init() throws {
        folder = try TemporaryFolder()
        file = StateFile(folder.file("state/budgets"), limit: 1_000)
    }

    @Test("is in the folder that is named, or below the user's state folder")
    func places() {
        func path(_ variables: [String: String]) -> String? {
            SettingsFile.path(
                "x", below: (variable: "XDG_STATE_HOME", inHome: ".local/state"), variable: { variables[$0] }
            ) { nil }
        }
        #expect(path(["MULTIPATH_HOME": "/lab", "HOME": "/home/u"]) == "/lab/x")
        #expect(path(["XDG_STATE_HOME": "/s", "HOME": "/home/u"]) == "/s/multipath/x")
        #expect(path(["XDG_STATE_HOME": "s", "HOME": "/home/u"]) == "/home/u/.local/state/multipath/x")
        #expect(path([:]) == nil)
    }

    @Test("is made with its folder, for its user alone, and read as it was written")
    func writes() throws {
        #expect(try file.read() == nil)
        try file.update { old in (old ?? "") + "one\n" }
        try file.update { old in (old ?? "") + "two\n" }
        try file.update { _ in nil }
        #expect(try file.read() == "one\ntwo\n")
        var status = stat()
        #expect(stat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test(
        "is put aside and begun anew where it is no file of the user's own",
        arguments: ["loose", "large", "link", "folder"])
    func foreign(kind: String) throws {
        try folder.makeFolder("state")
        switch kind {
        case "loose":
            try folder.write("trust me\n", to: "state/budgets")
            chmod(file.path, 0o666)
        case "large": try folder.write(String(repeating: "x", count: 1_001), to: "state/budgets")
        case "link":
            try folder.write("elsewhere\n", to: "elsewhere")
            symlink(folder.file("elsewhere"), file.path)
        default: try folder.makeFolder("state/budgets")
        }
        #expect(throws: SystemError.self) { try file.read() }
        try file.update { old in
            #expect(old == nil)
            return "new\n"
        }
        #expect(try file.read() == "new\n")
        #expect(access(file.damagedPath, F_OK) == 0)
        if kind == "link" { #expect(try folder.text("elsewhere") == "elsewhere\n") }
    }

    @Test("of budgets keeps the lines that can be read, and the damaged text beside")
    func damagedBudgets() throws {
        let budgets = BudgetFile(file.path)
        let budget = PathBudget.bytes(1_000, per: .day, on: .expensive)
        let clock = BudgetClock(localSeconds: 20_000 * 86_400)
        try folder.makeFolder("state")
        try folder.write("7 1000 20000 day expensive default\n\u{1}garbage\n", to: "state/budgets")
        chmod(file.path, 0o600)
        let given = try budgets.update { $0.book(budget, spent: 1, wanted: 10, piece: 5, at: clock) }
        #expect(given == 10)
        let read = try budgets.read()
        #expect(read.unreadable == 0 && read.ledger.entry(budget.account, at: clock)?.used == 18)
        #expect(try folder.text("state/budgets.damaged").contains("garbage"))
    }

    @Test("is changed by many at once without a loss")
    func together() async throws {
        let budgets = BudgetFile(folder.file("state/together"))
        let budget = PathBudget.bytes(1_000_000, per: .day, on: .expensive)
        let clock = BudgetClock(localSeconds: 20_000 * 86_400)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 {
                        _ = try? budgets.update { $0.book(budget, spent: 3, wanted: 0, piece: 1, at: clock) }
                    }
                }
            }
        }
        #expect(try budgets.read().ledger.entry(budget.account, at: clock)?.used == 240)
    }
}
