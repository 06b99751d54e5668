// What the kernel says of sockets and connections that other processes name, as values: the broker decides by them.

/// What the kernel says of a descriptor that another process passed on. Nil stands for what it can't be asked.
package struct PassedSocketFacts: Sendable, Hashable {
    /// Whether its sender has taken it back: nothing else is known then.
    package var isWithdrawn = false
    /// AF_INET or AF_INET6.
    package var isInternet = false
    /// SOCK_STREAM of IPPROTO_MPTCP.
    package var isMPTCP = false
    /// Whether it is connected or listens.
    package var isInUse = false
    /// The network namespace's (SO_NETNS_COOKIE).
    package var namespace: UInt64?
    /// The socket's own, which no other socket has until the machine starts anew (SO_COOKIE).
    package var cookie: UInt64?
    /// By which its packets are routed (SO_MARK).
    package var mark: UInt32

    package init(
        isInternet: Bool = false, isMPTCP: Bool = false, isInUse: Bool = false, namespace: UInt64? = nil,
        cookie: UInt64? = nil, mark: UInt32 = 0
    ) {
        self.mark = mark
        self.isInternet = isInternet
        self.isMPTCP = isMPTCP
        self.isInUse = isInUse
        self.namespace = namespace
        self.cookie = cookie
    }
}

/// A connection as sock_diag tells it by its token.
package struct ConnectionFacts: Sendable, Hashable {
    /// The socket's cookie (SO_COOKIE).
    package var cookie: UInt64
    /// The user that made the socket.
    package var user: UInt32
    /// The peer's endpoint, as it was connected to.
    package var remote: IPEndpoint
    /// Subflows beside the first (`mptcpi_subflows`); nil where the kernel was not asked, or does not say.
    package var additionalSubflows: UInt8?

    package init(cookie: UInt64, user: UInt32, remote: IPEndpoint, additionalSubflows: UInt8? = nil) {
        self.cookie = cookie
        self.user = user
        self.remote = remote
        self.additionalSubflows = additionalSubflows
    }
}
