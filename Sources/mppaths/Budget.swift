import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

/// `mppaths budget`: what the user's programs have used of their budgets.
struct Budget: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what programs have used of their budgets for paths, or reset it.",
        discussion: """
            Programs that have a budget (so many bytes a day on expensive paths, say) book
            what they use in $XDG_STATE_HOME/multipath/budgets or
            ~/.local/state/multipath/budgets; where MULTIPATH_HOME names a folder, in that
            folder's file. Where a budget is spent, its paths are not used until the next
            period, or until it is reset: running programs take that over at once.

            What a running program has booked ahead counts as used.

            EXAMPLES
              mppaths budget
              mppaths budget --json | jq '.budgets[] | select(.left == 0)'
              mppaths budget reset            all of them
              mppaths budget reset prefetch   those of this name

            JSON
              One object: file, and budgets, each with name, period (day, week, month),
              paths (expensive, constrained, or interfaces), interfaces, used, limit (what
              was asked for last), left, and seconds_left of the period
            """,
        subcommands: [ShowBudgets.self, ResetBudgets.self], defaultSubcommand: ShowBudgets.self)

    fileprivate static func file() throws -> BudgetFile {
        guard let path = BudgetFile.standardPath() else {
            throw MessageError(
                "there is no home directory to keep budgets in: set HOME, XDG_STATE_HOME or MULTIPATH_HOME")
        }
        return BudgetFile(path)
    }
}

struct ShowBudgets: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what is used.", shouldDisplay: false)

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let file = try Budget.file()
        do {
            let (ledger, unreadable) = try file.read()
            let document = BudgetDocument(path: file.file.path, ledger, at: .now)
            try Diagnostics.tryWrite(json ? JSONLine.text(document) : document.text, to: .output)
            if unreadable > 0 {
                Diagnostics.write("mppaths: \(file.file.path): \(unreadable) lines can't be read")
            }
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }
}

struct ResetBudgets: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Set what is used to nothing, of all budgets or of those of a name.")

    @Argument(help: ArgumentHelp("The budgets' name.", valueName: "NAME"))
    var name: String?

    func run() throws {
        let file = try Budget.file()
        do {
            let names = try file.read().ledger.entries.keys.map(\.name)
            if let name, !names.contains(name) {
                let known = Set(names).sorted().map(TerminalText.safe)
                let list = known.isEmpty ? "there is none yet" : "there are \(known.joined(separator: ", "))"
                throw ValidationError("no budget is named '\(TerminalText.safe(name))': \(list)")
            }
            let count = try file.update { ledger in
                let accounts = ledger.entries.keys.filter { name == nil || $0.name == name }
                for account in accounts { ledger.reset(account) }
                return accounts.count
            }
            try Diagnostics.tryWrite(
                "\(count) budget\(count == 1 ? "" : "s") reset; running programs take it over at once",
                to: .output)
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }
}

/// What is used, for people and for programs.
struct BudgetDocument: Encodable {
    private struct Line: Encodable {
        let account: BudgetAccount
        let used: UInt64
        let limit: UInt64
        let secondsLeft: Int64

        private enum Key: String, CodingKey {
            case name, period, paths, interfaces, used, limit, left
            case secondsLeft = "seconds_left"
        }

        var left: UInt64 { limit > used ? limit - used : 0 }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(account.name, forKey: .name)
            try object.encode(account.period.rawValue, forKey: .period)
            var interfaces: [String]?
            switch account.paths {
            case .expensive: try object.encode("expensive", forKey: .paths)
            case .constrained: try object.encode("constrained", forKey: .paths)
            case .interfaces(let names):
                try object.encode("interfaces", forKey: .paths)
                interfaces = names.sorted()
            }
            try object.encode(interfaces, forKey: .interfaces)
            try object.encode(used, forKey: .used)
            try object.encode(limit, forKey: .limit)
            try object.encode(left, forKey: .left)
            try object.encode(secondsLeft, forKey: .secondsLeft)
        }
    }

    private enum Key: String, CodingKey { case file, budgets }

    private let path: String
    private let lines: [Line]

    init(path: String, _ ledger: BudgetLedger, at clock: BudgetClock) {
        self.path = path
        lines =
            ledger.entries.keys.compactMap { account in
                ledger.entry(account, at: clock).map {
                    Line(
                        account: account, used: $0.used, limit: $0.limit,
                        secondsLeft: clock.untilNext(account.period).wholeNanoseconds / 1_000_000_000)
                }
            }
            .sorted { ($0.account.name, "\($0.account)") < ($1.account.name, "\($1.account)") }
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(path, forKey: .file)
        try object.encode(lines, forKey: .budgets)
    }

    /// `default: 1.2 of 50.0 MB of this day on expensive paths, 48.8 MB left for 7 h`
    var text: String {
        guard !lines.isEmpty else { return "# \(path)\nno program has used a budget yet" }
        let words = lines.map { line in
            let account = line.account
            let rest =
                line.left == 0
                ? "spent for \(Self.time(line.secondsLeft))"
                : "\(Self.megabytes(line.left)) MB left for \(Self.time(line.secondsLeft))"
            return TerminalText.safe(
                "\(account.name): \(Self.megabytes(line.used)) of \(Self.megabytes(line.limit)) MB of this "
                    + "\(account.period.rawValue) on \(account.paths); \(rest)")
        }
        return (["# \(path)"] + words).joined(separator: "\n")
    }

    private static func megabytes(_ bytes: UInt64) -> String {
        let tenths = bytes / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func time(_ seconds: Int64) -> String {
        switch seconds {
        case ..<3_600: "\(max(seconds / 60, 1)) min"
        case ..<(2 * 86_400): "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}
