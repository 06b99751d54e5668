// Which path carries a connection, and whether its caller's rules still allow that.
//
// The rules about paths hold for a connection's whole life: a path that was allowed when the connection came about may
// be refused in the middle of a stream, because its user marks the network constrained, or its allowance is spent.
//
//  1. The path of a plain TCP connection is the interface that it is bound to. That of an MPTCP connection is the one it
//     came about over, and from the first move on the one that carries its data.
//  2. A change is told when another path carries, or when the path's type, cost or constraint, one of their sources, or
//     whether it is allowed, is another. What was so from the beginning is not told.
//  3. A connection that leaves its path by itself (MPTCP that is steered) is told of a refusal only where it has nowhere to
//     go: no other path is allowed, or none works. Every other connection is told at once, with the path that would
//     be chosen now.
//  4. A refusal is told once for each of its reasons. It is over when the path is allowed again, or another carries.
//  5. A connection that is told and is to be closed then is closed once.
//
//  6. An interface that was unplugged and is plugged in again has another index, and is the same path to an MPTCP connection;
//     to plain TCP only where it has the connection's address again.
//
// Call order: `snapshot` first and as snapshots come; `leavesByItself`, `moved`, `stranded` and `recovered` as steering says.

/// Decides what a connection's user is told of the path that carries it, and when its rules end it.
package struct CarrierMachine: Sendable {
    package enum Action: Sendable, Hashable {
        /// The path that carries, or what is said of it, is another.
        case pathChanged(ConnectionPath)
        /// The path is not allowed any more, and the connection does not leave it.
        case notAllowed(PathRefusal)
        /// The connection is to end.
        case close(PathRefusal)
    }

    private var connection: FollowedConnection
    private let policy: PathPolicy
    private let response: PathRefusalAction
    private var usesDefaultRoute = false
    private var latest: PathSnapshot?
    private var isClosed = false
    /// Whether steering has no path that works.
    private var isStranded = false
    /// The path that carries, where no snapshot knows its interface yet.
    private var awaited: PathID?

    /// Whether steering leaves a path that is not allowed any more.
    package var leavesByItself = false
    /// What was told last, or held at the beginning; nil before the first snapshot that knows its interface.
    package private(set) var path: ConnectionPath?
    /// The refusal that holds, where it was told.
    package private(set) var refusal: PathRefusal?

    package init(_ connection: FollowedConnection, policy: PathPolicy, response: PathRefusalAction = .report)
    {
        self.connection = connection
        self.policy = policy
        self.response = response
    }

    // MARK: Inputs

    /// The machine's paths now.
    package mutating func snapshot(_ snapshot: PathSnapshot) -> [Action] {
        if latest == nil { usesDefaultRoute = connection.usesDefaultRoute(in: snapshot) }
        latest = snapshot
        findAgain(in: snapshot)
        return judge()
    }

    private mutating func findAgain(in snapshot: PathSnapshot) {
        if let awaited, let interface = snapshot.interface(awaited) {
            connection.interface = interface.index
            (self.awaited, refusal) = (nil, nil)
            return
        }
        guard snapshot.interface(connection.interface) == nil, let id = path?.id,
            let interface = snapshot.interface(id)
        else { return }
        let hasAddress = connection.local.flatMap { snapshot.interface(with: $0) }?.index == interface.index
        guard !connection.isTCP || hasAddress else { return }
        connection.interface = interface.index
        refusal = nil
    }

    /// Another path carries the data now.
    package mutating func moved(to path: PathID) -> [Action] {
        isStranded = false
        guard let interface = latest?.interface(path) else {
            awaited = path
            return []
        }
        connection.interface = interface.index
        (awaited, refusal) = (nil, nil)
        return judge()
    }

    /// The connection was MPTCP, and is plain TCP from now on.
    package mutating func fellBack() { connection.isTCP = true }

    /// Steering has no path left that works.
    package mutating func stranded() -> [Action] {
        isStranded = true
        return judge()
    }

    /// A path works again.
    package mutating func recovered() { isStranded = false }

    // MARK: Outputs

    private mutating func judge() -> [Action] {
        // Of an interface that is gone nothing is said; that it is gone is told by the connection's viability.
        guard let latest, let interface = latest.interface(connection.interface) else { return [] }
        let now = ConnectionPath(interface, policy: policy)
        var actions: [Action] = []
        if let path, path != now { actions.append(.pathChanged(now)) }
        path = now
        guard let reason = now.refusal else {
            refusal = nil
            return actions
        }
        let better = usesDefaultRoute ? connection.better(in: latest, policy) : nil
        if leavesByItself, better != nil, !isStranded { return actions }
        guard refusal?.reason != reason else { return actions }
        let refusal = PathRefusal(path: now.id, reason: reason, betterPath: better?.id)
        self.refusal = refusal
        actions.append(.notAllowed(refusal))
        if response == .close, !isClosed {
            isClosed = true
            actions.append(.close(refusal))
        }
        return actions
    }
}
