/// What a connection is steered by.
package struct SteeringConfiguration: Sendable, Hashable {
    package var mode: MultipathMode
    package var policy: PathPolicy
    /// The peer connected to us. The end that connects makes the subflows: an accepting side can't reach a peer behind
    /// a translator, and two that both make them would fight. It only gives up what is proven dead.
    package var isAcceptor: Bool
    /// Whether orders reach this connection alone. Otherwise they go for every connection of the network namespace:
    /// no subflow takes another's place, and nothing is let go that another may need.
    package var isAlone: Bool
    /// How long a connection may be without any path.
    package var pathLossTimeout: Duration
    /// Whether a path can be probed whether it lives.
    var probes: Bool { !isAcceptor }

    /// Whether the writer tells when it writes, and the reader when it reads. Otherwise an idle connection is
    /// looked at once a second.
    package var hasHints: Bool
    /// Whether no writer or reader could tell: another program's. Then it is looked at the more often the shorter its data has
    /// been at rest.
    package var isLent: Bool

    package init(
        mode: MultipathMode, policy: PathPolicy = PathPolicy(), isAcceptor: Bool = false,
        isAlone: Bool = true,
        pathLossTimeout: Duration = SteeringTuning.pathLossTimeout, hasHints: Bool = true,
        isLent: Bool = false
    ) {
        self.mode = mode
        self.policy = policy
        self.isAcceptor = isAcceptor
        self.isAlone = isAlone
        self.pathLossTimeout = pathLossTimeout
        self.hasHints = hasHints && !isLent
        self.isLent = isLent
    }
}

/// The connection that is steered: what it is named by, and where it began.
package struct ConnectionIdentity: Sendable, Hashable {
    package var token: ConnectionToken
    package var local: IPEndpoint
    package var remote: IPEndpoint
    /// The interface of the first subflow; 0 where it is not known.
    package var interface: InterfaceIndex
    /// The peer's other addresses, such as its name has them.
    package var otherRemotes: [IPEndpoint]

    package init(
        token: ConnectionToken, local: IPEndpoint, remote: IPEndpoint, interface: InterfaceIndex,
        otherRemotes: [IPEndpoint] = []
    ) {
        self.token = token
        self.local = local
        self.remote = remote
        self.interface = interface
        self.otherRemotes = otherRemotes
    }
}
