/// Which paths a connection may use, and which of them it likes best. A path that is not allowed never
/// carries a byte, a SYN included. That holds for what is inside a tunnel too: one whose packets travel over a
/// prohibited interface, or one of a prohibited type, is refused. (A required interface is meant itself: a
/// tunnel over it does not do.)
public struct PathPolicy: Sendable, Hashable {
    /// Whether paths that cost money may be used: where nothing is said, by all that is not discretionary.
    public var allowsExpensivePaths: Bool {
        get { rules.value.saysExpensive ?? !isDiscretionary }
        set { rules.value.saysExpensive = newValue }
    }
    /// Whether the work has time, and no person waits for it: a prefetch, a backup. It uses no path that costs money unless
    /// `allowsExpensivePaths` says so. The traffic class `.background` sets this.
    public var isDiscretionary: Bool {
        get { rules.value.isDiscretionary }
        set { rules.value.isDiscretionary = newValue }
    }
    /// Whether paths on which data is to be saved may be used.
    public var allowsConstrainedPaths: Bool {
        get { rules.value.allowsConstrainedPaths }
        set { rules.value.allowsConstrainedPaths = newValue }
    }
    /// Types that may not be used.
    public var prohibitedInterfaceTypes: Set<InterfaceType> {
        get { rules.value.prohibitedInterfaceTypes }
        set { rules.value.prohibitedInterfaceTypes = newValue }
    }
    /// Interfaces that may not be used, by name.
    public var prohibitedInterfaces: Set<String> {
        get { rules.value.prohibitedInterfaces }
        set { rules.value.prohibitedInterfaces = newValue }
    }
    /// If set, only the interface with this name.
    public var requiredInterface: String? {
        get { rules.value.requiredInterface }
        set { rules.value.requiredInterface = newValue }
    }
    /// If set, the interface with this name comes first where it is allowed.
    public var preferredInterface: String? {
        get { rules.value.preferredInterface }
        set { rules.value.preferredInterface = newValue }
    }
    /// How many bytes may go over some paths in a period; nil for any number. When it is spent those paths are not allowed.
    public var budget: PathBudget? {
        get { rules.value.budget }
        set { rules.value.budget = newValue }
    }

    /// Shared: a connection's machines have a handful of copies of its policy, and most policies say nothing.
    private var rules: CopyOnWrite<Rules>

    private struct Rules: Sendable, Hashable {
        /// What was said of paths that cost money.
        var saysExpensive: Bool?
        var isDiscretionary = false
        var allowsConstrainedPaths = true
        var prohibitedInterfaceTypes: Set<InterfaceType> = []
        var prohibitedInterfaces: Set<String> = []
        var requiredInterface: String?
        var preferredInterface: String?
        var budget: PathBudget?
    }

    private static let noRules = CopyOnWrite(Rules())

    /// A policy that allows every path.
    public init() { rules = Self.noRules }

    /// Why a path is not allowed.
    public enum Refusal: String, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The path costs money, and the policy allows none that does.
        case expensive
        /// Data is to be saved on the path, and the policy allows none of those.
        case constrained
        /// Its type, or the type of what carries it, is prohibited.
        case prohibitedType = "prohibited_type"
        /// The interface, or what carries it, is prohibited by name.
        case prohibited
        /// Another interface is required.
        case notRequired = "not_required"
        /// The policy's budget for such paths is spent.
        case budgetSpent = "budget_spent"

        public var description: String {
            switch self {
            case .expensive: "expensive"
            case .constrained: "constrained"
            case .prohibitedType: "its type is prohibited"
            case .prohibited: "prohibited"
            case .notRequired: "another interface is required"
            case .budgetSpent: "its budget is spent"
            }
        }
    }

    /// Why this interface may not be used, or nil if it may.
    public func refusal(of interface: PathInterface) -> Refusal? {
        if let requiredInterface, interface.name != requiredInterface { return .notRequired }
        if !prohibitedInterfaces.isEmpty,
            prohibitedInterfaces.contains(interface.name)
                || interface.carriers.contains(where: { prohibitedInterfaces.contains($0.name) })
        {
            return .prohibited
        }
        if !prohibitedInterfaceTypes.isEmpty,
            prohibitedInterfaceTypes.contains(interface.type.value)
                || interface.carriers.contains(where: { prohibitedInterfaceTypes.contains($0.type) })
        {
            return .prohibitedType
        }
        if !allowsExpensivePaths, interface.isExpensive { return .expensive }
        if !allowsConstrainedPaths, interface.isConstrained { return .constrained }
        if let budget, interface.spentBudgets.contains(budget) { return .budgetSpent }
        return nil
    }

    /// The paths that may be used, the one that is liked best first: the preferred interface, then the snapshot's own
    /// order. Every choice of a path begins with this list.
    package func allowed(in snapshot: PathSnapshot) -> [PathInterface] { allowed(among: snapshot.interfaces) }

    /// The same of a part of the paths.
    package func allowed(among paths: [PathInterface]) -> [PathInterface] {
        var allowed = paths.filter { refusal(of: $0) == nil }
        if let preferredInterface, let place = allowed.firstIndex(where: { $0.name == preferredInterface }) {
            allowed.insert(allowed.remove(at: place), at: 0)
        }
        return allowed
    }

    /// Whether any path may be used.
    package func allowsAny(in snapshot: PathSnapshot) -> Bool {
        snapshot.interfaces.contains { refusal(of: $0) == nil }
    }
}
