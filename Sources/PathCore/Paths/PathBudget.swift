/// How many bytes may go over some paths in a period, by all processes of a user together.
///
/// ```swift
/// configuration.budget = .bytes(50_000_000, per: .day, on: .expensive)
/// ```
///
/// What connections with a budget carry over its paths is booked in the user's state folder under the budget's account: its
/// name, its period and its paths. When the account has reached the limit those paths are not allowed
/// (`PathPolicy.Refusal.budgetSpent`) until the next period. Two programs that name the same account share it, each with
/// the limit that it says.
public struct PathBudget: Sendable, Hashable {
    /// How often the account begins anew, by the clock and the time zone of the machine.
    public enum Period: String, Sendable, Hashable, CaseIterable {
        /// At midnight.
        case day
        /// In the night to Monday (ISO 8601).
        case week
        /// On the first.
        case month
    }

    /// Which paths a budget is about.
    public enum Paths: Sendable, Hashable {
        /// Those that cost money, as `PathInterface.isExpensive` has it.
        case expensive
        /// Those on which data is to be saved.
        case constrained
        /// Interfaces by name, and tunnels over them.
        case interfaces(Set<String>)
    }

    /// Bytes in a period, both directions together.
    public var limit: UInt64
    /// How often the account begins anew.
    public var period: Period
    /// Which paths count.
    public var paths: Paths
    /// The account's name: 1 to 32 bytes of UTF-8, `default` unless set. What is longer is cut.
    public var name: String {
        didSet { name = Self.valid(name) }
    }

    /// A budget of so many bytes.
    ///
    /// - Parameters:
    ///   - limit: payload bytes in a period, sent, received and sent again, as `TransferReport` counts them; headers are not
    ///     among them.
    ///   - period: how often the account begins anew.
    ///   - paths: which paths count.
    ///   - name: the account's, 1 to 32 bytes.
    public static func bytes(
        _ limit: UInt64, per period: Period, on paths: Paths, name: String = "default"
    ) -> PathBudget {
        PathBudget(limit: limit, period: period, paths: paths, name: valid(name))
    }

    private static func valid(_ name: String) -> String {
        guard name.utf8.count > longestName else { return name.isEmpty ? "default" : name }
        var cut = Substring(name)
        while cut.utf8.count > longestName { cut = cut.dropLast() }
        return cut.isEmpty ? "default" : String(cut)
    }

    static let longestName = 32

    /// Whether what goes over this interface counts.
    public func covers(_ interface: PathInterface) -> Bool {
        switch paths {
        case .expensive: interface.isExpensive
        case .constrained: interface.isConstrained
        case .interfaces(let names):
            names.contains(interface.name) || interface.carriers.contains { names.contains($0.name) }
        }
    }

    package var account: BudgetAccount { BudgetAccount(name: name, period: period, paths: paths) }
}

/// What budgets book under.
package struct BudgetAccount: Sendable, Hashable {
    /// An interface has 15 bytes at most (IFNAMSIZ); a caller may write more.
    static let longestInterface = 64

    package var name: String
    package var period: PathBudget.Period
    package var paths: PathBudget.Paths

    package init(name: String, period: PathBudget.Period, paths: PathBudget.Paths) {
        self.name = name
        self.period = period
        self.paths = paths
        // No interface has such a name: it stands for nothing.
        if case .interfaces(let names) = paths {
            self.paths = .interfaces(
                names.filter { !$0.isEmpty && $0.utf8.count <= Self.longestInterface })
        }
    }

    /// Whether it covers anything, so that something can be booked.
    var canBeKept: Bool {
        if case .interfaces(let names) = paths { !names.isEmpty } else { true }
    }
}

extension PathBudget: CustomStringConvertible {
    /// `50000000 bytes a day on expensive paths (default)`
    public var description: String {
        "\(limit) bytes a \(period.rawValue) on \(paths) (\(name))"
    }
}

extension PathBudget.Paths: CustomStringConvertible {
    /// `expensive paths`, `constrained paths`, `wwan0, wwan1`
    public var description: String {
        switch self {
        case .expensive: "expensive paths"
        case .constrained: "constrained paths"
        case .interfaces(let names): names.sorted().joined(separator: ", ")
        }
    }
}
