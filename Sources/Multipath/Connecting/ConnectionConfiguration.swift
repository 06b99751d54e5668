/// What a caller wants of a connection. The rules about paths (`allowsExpensivePaths`,
/// `allowsConstrainedPaths`, `prohibitedInterfaceTypes`, `prohibitedInterfaces`, `requiredInterface`,
/// `preferredInterface`) are those of `PathPolicy`, and are set here as if they were this value's own.
@dynamicMemberLookup
public struct ConnectionConfiguration: Sendable {
    /// What to do when a path goes bad.
    public var mode: MultipathMode = .handover
    /// Which paths may be used, and which is liked best.
    public var policy = PathPolicy() {
        didSet { if trafficClass == .background { policy.isDiscretionary = true } }
    }
    /// What the connection carries, which every attempt's SYN and every subflow tells the networks on the way (DSCP). With
    /// `.background` the connection is discretionary, too, and uses no expensive path unless `allowsExpensivePaths` says so.
    public var trafficClass: TrafficClass = .bestEffort {
        didSet {
            guard (trafficClass == .background) != (oldValue == .background) else { return }
            policy.isDiscretionary = trafficClass == .background
        }
    }
    /// What is asked for. With `.mptcp` among them MPTCP is tried first wherever this kernel has it (RFC 8684), and plain
    /// TCP beside it, for a way that drops MPTCP's SYNs; `[.tcp]` is a race of plain TCP.
    public var protocols: Set<TransportProtocol> = [.mptcp, .tcp]

    /// What the caller will offer by ALPN (RFC 7301), where it speaks HTTP: `["h2", "http/1.1"]`. With any, the host's HTTPS
    /// records (RFC 9460) are asked for beside its addresses, by a resolver that can (`InterfaceResolver`): the addresses that
    /// a record names for one of these protocols can be tried before the host's own are answered. They are in the report.
    public var applicationProtocols: [String] = []

    /// How long connecting may take, name resolution and the race's milestone included. 10 s unless set.
    public var connectTimeout: Duration = .seconds(10)
    /// How long an attempt is alone before the next one starts, where nothing is known of its path: 250 ms unless set
    /// (RFC 8305 section 5). Kept within 10 ms and 2 s, that RFC's bounds.
    public var attemptDelay: Duration = .milliseconds(250)
    /// How long an MPTCP connection that is steered may be without any path before it is given up. 60 s unless set.
    public var pathLossTimeout: Duration = .seconds(60)

    /// Whether to wait, up to the timeout, where no path is allowed or there is none; the connection is then
    /// made as soon as one appears. Otherwise that is an error at once. `ConnectionObservation.waiting` tells of it.
    public var waitsForPath = false

    /// What happens where the connection's path becomes one that `policy` does not allow, and the connection can't leave it:
    /// plain TCP, or MPTCP with no other allowed path. It is reported unless set.
    public var whenPathIsRefused: PathRefusalAction = .report

    /// The defaults.
    public init() {}

    /// The rules about paths.
    public subscript<Value>(dynamicMember member: WritableKeyPath<PathPolicy, Value>) -> Value {
        get { policy[keyPath: member] }
        set { policy[keyPath: member] = newValue }
    }

    /// Whether MPTCP is asked for.
    var wantsMPTCP: Bool { protocols.contains(.mptcp) }
}
