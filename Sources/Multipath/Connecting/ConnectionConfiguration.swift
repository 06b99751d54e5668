/// What a connection does when a path goes bad.
public enum MultipathMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Survives losing its path, and costs nothing on the others until then.
    case handover
    /// Small messages see the lowest latency any allowed path offers.
    case interactive
    /// The most throughput all allowed paths give together.
    case aggregate
    /// Plain TCP on one path, still raced when connecting.
    case disabled
}

/// What a caller wants of a connection. The rules about paths (`allowsExpensivePaths`,
/// `allowsConstrainedPaths`, `prohibitedInterfaceTypes`, `prohibitedInterfaces`, `requiredInterface`,
/// `preferredInterface`) are those of `PathPolicy`, and are set here as if they were this value's own.
@dynamicMemberLookup
public struct ConnectionConfiguration: Sendable {
    public var mode: MultipathMode = .handover
    /// Which paths may be used, and which is liked best.
    public var policy = PathPolicy()
    /// Whether MPTCP is asked for; without it the race is one of plain TCP.
    public var usesMPTCP = true
    /// The race's times: the attempt delay, and the timeout of the whole.
    public var race = RaceMachine.Configuration()

    /// Whether to wait, up to the timeout, where no path is allowed or there is none; the connection is then
    /// made as soon as one appears. Otherwise that is an error at once.
    public var waitsForPath = false
    /// Called when a connection begins to wait for a path, with the reason for each interface. It is called on
    /// the thread that runs every race and monitor of the process, and must not block.
    public var whenWaiting: (@Sendable ([CandidateList.Omission]) -> Void)?

    public init() {}

    public subscript<Value>(dynamicMember member: WritableKeyPath<PathPolicy, Value>) -> Value {
        get { policy[keyPath: member] }
        set { policy[keyPath: member] = newValue }
    }

    /// How long connecting may take, name resolution included. 10 s unless set.
    public var connectTimeout: Duration {
        get { race.timeout }
        set { race.timeout = newValue }
    }
}
