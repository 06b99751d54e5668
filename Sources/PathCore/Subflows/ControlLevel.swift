/// How far this process may steer the subflows of MPTCP connections, and why no further.
public enum ControlLevel: Sendable, Hashable, CustomStringConvertible {
    /// Each connection's own subflows are made, preferred and given up on their own.
    case perConnection
    /// The same, done by `mpathd` for this process, which lacks CAP_NET_ADMIN.
    case perConnectionByBroker
    /// The kernel's list of endpoints is changed, which goes for every connection of the network namespace. Only where the
    /// program asks for it, for a socket that other code made (`scope: .networkNamespace`).
    case systemWide(because: ControlLimit)
    /// Nothing is changed: the kernel's path manager does what it is set to.
    case observeOnly(because: ControlLimit)

    /// What a probe of the machine found. Each nil means that nothing stands in the way.
    package struct Facts: Sendable, Hashable {
        /// Why there is no MPTCP.
        package var transport: ControlLimit?
        /// Why the path manager takes no orders.
        package var commands: ControlLimit?
        /// Why sockets can't be given the userspace path manager.
        package var selection: ControlLimit?

        package init(
            transport: ControlLimit? = nil, commands: ControlLimit? = nil, selection: ControlLimit? = nil
        ) {
            self.transport = transport
            self.commands = commands
            self.selection = selection
        }
    }

    /// The level that the facts allow.
    package init(_ facts: Facts) {
        let limit = facts.transport ?? facts.commands ?? facts.selection
        self = limit.map(ControlLevel.observeOnly(because:)) ?? .perConnection
    }

    /// What keeps it from being higher.
    public var limit: ControlLimit? {
        switch self {
        case .perConnection, .perConnectionByBroker: nil
        case .systemWide(let limit), .observeOnly(let limit): limit
        }
    }

    /// Whether each connection's own subflows are steered, by this process or by `mpathd`.
    public var isPerConnection: Bool { self == .perConnection || self == .perConnectionByBroker }

    /// A name for machines to read: "per_connection", "per_connection_by_broker", "system_wide", "observe_only".
    public var name: String {
        switch self {
        case .perConnection: "per_connection"
        case .perConnectionByBroker: "per_connection_by_broker"
        case .systemWide: "system_wide"
        case .observeOnly: "observe_only"
        }
    }

    public var description: String {
        switch self {
        case .perConnection: "steers each connection's subflows"
        case .perConnectionByBroker: "steers each connection's subflows through mpathd"
        case .systemWide(let limit): "steers the endpoints of the whole network namespace: \(limit)"
        case .observeOnly(let limit): "only observes: \(limit)"
        }
    }
}

/// What stands in the way of steering subflows.
public enum ControlLimit: Sendable, Hashable, CustomStringConvertible {
    /// The kernel is built without MPTCP.
    case noMPTCP
    /// The sysctl net.mptcp.enabled is 0.
    case mptcpDisabled
    /// The process lacks CAP_NET_ADMIN in the user namespace that owns the network namespace.
    case noPrivilege
    /// The program has more rights than its user, by a set-user-ID bit or its file's capabilities: it leaves the
    /// network namespace's settings alone, because any user could kill it in the middle of a change.
    case elevatedProgram
    /// The kernel has no path manager that takes orders for a connection (before Linux 5.19).
    case oldKernel
    /// The sysctl that selects the path manager may not be written; the reason in the kernel's words.
    case settingReadOnly(path: String, reason: String)
    /// There is no folder for a journal entry that says what that sysctl was, by which the next process repairs it where this
    /// one is killed in the middle of a change.
    case settingUnjournalled
    /// Another process held the lock around that sysctl for too long.
    case settingBusy
    /// The process lacks CAP_NET_ADMIN, and `mpathd` refused what it was asked: its name for the reason.
    case brokerRefused(String)
    /// The process lacks CAP_NET_ADMIN, and `mpathd` does not answer.
    case brokerSilent
    /// The connection was not made by this library, or not with these rights.
    case foreignSocket
    /// The connection is plain TCP, which has one path and keeps it.
    case plainTCP
    /// The program has not asked for this connection to be steered.
    case notRequested
    /// Something else failed: the operation and the kernel's words.
    case failed(String)

    /// Whether another attempt may find it gone: it is not the program's or the kernel's own.
    package var mayPass: Bool {
        switch self {
        case .mptcpDisabled, .settingReadOnly, .settingUnjournalled, .settingBusy, .brokerRefused,
            .brokerSilent,
            .failed:
            true
        case .noMPTCP, .noPrivilege, .elevatedProgram, .oldKernel, .foreignSocket, .plainTCP, .notRequested:
            false
        }
    }

    public var description: String {
        switch self {
        case .noMPTCP: "the kernel has no MPTCP"
        case .mptcpDisabled: "MPTCP is switched off (the sysctl net.mptcp.enabled is 0)"
        case .noPrivilege:
            "the process lacks CAP_NET_ADMIN for this network namespace (systemd's "
                + "AmbientCapabilities=CAP_NET_ADMIN gives it to a service), and no mpathd runs that would steer for it"
        case .elevatedProgram:
            "the program's file has more rights than its user; run it as a service with them, or as root"
        case .oldKernel: "the kernel can't have one connection's subflows steered (Linux 5.19 can)"
        case .settingReadOnly(let path, let reason): "\(path) can't be written: \(reason)"
        case .settingUnjournalled:
            "no folder is writable for a journal of what net.mptcp.path_manager was, in case the process is killed "
                + "(of /run, /dev/shm and systemd's RuntimeDirectory=)"
        case .settingBusy: "another process holds the path manager's setting"
        case .brokerRefused(let reason): "mpathd refused to steer for this process: \(reason)"
        case .brokerSilent: "mpathd does not answer"
        case .foreignSocket: "the kernel's path manager serves this socket"
        case .plainTCP: "plain TCP has one path, and keeps it"
        case .notRequested: "this connection was not asked to be steered"
        case .failed(let what): what
        }
    }
}
