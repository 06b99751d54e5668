// The path of a connection that lives: what its user may know of it, and why it may not be used any more.

/// The path that carries a connection, and what is said of it now.
///
/// Each tag comes with its source, as in `PathInterface`. Decide by `isConstrained` first: it is the user's word.
/// `isExpensive` is the system's. The type says least, and ages badly.
public struct ConnectionPath: Sendable, Hashable, Identifiable {
    /// Names the path.
    public var id: PathID
    /// The kernel's number of the interface.
    public var index: InterfaceIndex
    /// The interface's type, and where that is known from.
    public var type: Verdict<InterfaceType>
    /// Whether traffic costs money or uses up an allowance.
    public var expensive: Verdict<Expense>
    /// Whether the user asked to save data here (Low Data Mode).
    public var constrained: Verdict<Bool>
    /// Why the connection's policy does not allow this path now; nil where it does.
    public var refusal: PathPolicy.Refusal?

    /// What is said of an interface, and what a policy says to that.
    public init(_ interface: PathInterface, policy: PathPolicy = PathPolicy()) {
        id = interface.id
        index = interface.index
        type = interface.type
        expensive = interface.expensive
        constrained = interface.constrained
        refusal = policy.refusal(of: interface)
    }

    /// Whether it is known or guessed to be expensive.
    public var isExpensive: Bool { expensive.value.isExpensive }
    /// Whether data is to be saved on it (Low Data Mode).
    public var isConstrained: Bool { constrained.value }
}

extension ConnectionPath: CustomStringConvertible {
    /// `wlan0 (wifi, constrained by settings)`
    public var description: String {
        var words = [type.value.rawValue]
        if isExpensive { words.append("expensive by \(expensive.source.rawValue)") }
        if isConstrained { words.append("constrained by \(constrained.source.rawValue)") }
        return "\(id) (\(words.joined(separator: ", ")))"
    }
}

/// A connection's path is one that its policy does not allow any more.
public struct PathRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The path that carries the connection.
    public var path: PathID
    /// Why the policy does not allow it.
    public var reason: PathPolicy.Refusal
    /// The path that would be chosen now; nil where no path that leads to the peer is allowed.
    public var betterPath: PathID?

    /// A value of these parts.
    public init(path: PathID, reason: PathPolicy.Refusal, betterPath: PathID? = nil) {
        self.path = path
        self.reason = reason
        self.betterPath = betterPath
    }

    /// `wlan0 is not allowed any more: constrained; wwan0 is`
    public var description: String {
        "\(path) is not allowed any more: \(reason); \(betterPath.map { "\($0) is" } ?? "no other path is")"
    }
}

/// What happens to a connection whose path is not allowed any more, and which can't leave it: plain TCP; MPTCP that is not
/// steered, or that finds no other allowed path.
public enum PathRefusalAction: String, Sendable, Hashable, CaseIterable {
    /// Its user is told (`ConnectionEvent.pathNotAllowed`), and decides.
    case report
    /// Its user is told, and it ends at once: what was not sent is dropped, and the peer gets a reset.
    case close
}
