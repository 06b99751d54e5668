import LinuxNet

/// Tells whether a connection's path still carries it, and whether there is a better one.
///
/// A plain TCP connection can't change its path; its user can be told soon. The kernel's tables are watched for
/// nothing; samples of TCP_INFO are taken only while bytes are outstanding (say `dataWasSent`) or awaited (say
/// `expectsData`). An MPTCP connection is told only that no path is left.
///
/// It holds a second descriptor of the socket, so that a number is never asked about that is somebody else's
/// by now. Whoever closes the first one calls `stop` at once: until then the connection stays open.
public final class ConnectionWatch: Sendable {
    /// What is told.
    public enum Event: Sendable, Hashable {
        /// The path works, or does not any more, and why.
        case viability(Bool, PathTrouble?)
        /// Another path would be chosen now: its interface; nil when there is none any more.
        case betterPath(String?)
    }

    private let runner: ViabilityRunner

    /// Watches a connected socket that stays its owner's.
    ///
    /// - Parameters:
    ///   - descriptor: a connected TCP or MPTCP socket.
    ///   - interface: the interface it is bound to; found by its local address unless given.
    ///   - families: in which its destination has addresses; its own peer's unless given.
    ///   - policy: which paths it may use.
    ///   - monitor: tells of the paths.
    /// - Throws: the kernel's error where there is no descriptor left, or none that is connected.
    public convenience init(
        descriptor: CInt, interface: String? = nil, families: Set<IPAddress.Family> = [],
        policy: PathPolicy = PathPolicy(), monitor: PathMonitor
    ) throws {
        try self.init(
            descriptor: descriptor, isMPTCP: TransportSample.isMPTCP(descriptor), interface: interface,
            families: families, policy: policy, monitor: monitor)
    }

    init(
        descriptor: CInt, isMPTCP: Bool, interface: String?, families: Set<IPAddress.Family>,
        policy: PathPolicy, monitor: PathMonitor
    ) throws(SystemError) {
        runner = try ViabilityRunner(
            descriptor, isMPTCP: isMPTCP, interface: interface, families: families, policy: policy,
            monitor: monitor)
        runner.start()
    }

    deinit { runner.stop() }

    /// Calls a closure with what is told from now on, on a thread that must not be held up. What is the case
    /// already is told first. Events come in order, and none after `stop` has returned and a few that were
    /// under way.
    public func observe(_ body: @escaping @Sendable (Event) -> Void) {
        runner.observe(body)
    }

    /// The connection's user has written something. It costs next to nothing.
    public func dataWasSent() { runner.dataWasSent() }

    /// Whether the connection's user waits for bytes: an answer, the rest of a download. While it is set,
    /// silence makes this ask whether the peer is still there, by a handshake over the same path that is closed
    /// at once: after about 100 ms of silence at first, then ever less often.
    public var expectsData: Bool {
        get { runner.expectsData }
        set { runner.expectsData = newValue }
    }

    /// Ends the watching and lets go of the socket.
    public func stop() { runner.stop() }
}

extension ConnectedSocket {
    /// Watches this connection. Ask for it before the descriptor is taken, and `stop` it with the connection.
    ///
    /// - Parameter policy: which paths the connection may use: the one it was made with.
    public func watch(policy: PathPolicy = PathPolicy()) throws -> ConnectionWatch {
        try ConnectionWatch(
            descriptor: socket.descriptor.number, isMPTCP: report.transport.isMPTCP,
            interface: report.interface, families: report.addresses.families, policy: policy,
            monitor: meter.pathMonitor)
    }
}

extension RaceEntrant {
    /// Watches this connection, should it win. Ask for it before the descriptor is taken.
    package func watch(policy: PathPolicy) throws -> ConnectionWatch {
        try ConnectionWatch(
            descriptor: socket.descriptor.number, isMPTCP: transport.isMPTCP,
            interface: candidate.interfaceName, families: [candidate.endpoint.address.family],
            policy: policy, monitor: meter.pathMonitor)
    }
}
