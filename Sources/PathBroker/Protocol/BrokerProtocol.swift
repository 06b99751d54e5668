// What a client and `mpathd` say to each other, over a socket of sequenced packets. A packet is one JSON object.
//
//     client                                                      mpathd
//     {"v":1,"id":1,"op":"hello"}                              ─► {"id":1,"ok":true,"netns":4,"boot":"…","limits":{…}}
//     {"v":1,"id":2,"op":"prepare"}           + its socket     ─► {"id":2,"ok":true}
//                   or {…,"op":"prepare","by":…}: a time of CLOCK_MONOTONIC in ns, after which the socket is left as it is
//     {"v":1,"id":3,"op":"attach","token":7}  + its socket     ─► {"id":3,"ok":true}
//     {"v":1,"id":4,"op":"create","token":7,"address":"192.0.2.2","address_id":1,"interface":3,"remote":"203.0.113.1:443"}
//                                                              ─► {"id":4,"ok":true}
//                                                                 {"event":"subflow_established","token":7,…}
//     {"v":1,"id":5,"op":"destroy","token":8,…}                ─► {"id":5,"ok":false,"error":"foreign_token","text":"…"}
//
// - Every request has one answer, in the order of the requests. Events come in between, of attached connections alone.
// - A socket comes itself, or in an envelope: one end of a pair of local sockets (SOCK_SEQPACKET) in which it lies, behind a packet
//   of one byte, and whose other end is closed. What the client has taken back meanwhile is refused as too late.
// - A request that breaks a rule is refused with a name from `BrokerRefusal`, and changes nothing.
// - Unknown members of an object are ignored: a later version may add some. An `op` that is not known is refused.

import PathCore

/// Limits of the protocol itself. What a user may have stands in `BrokerLimits`.
package enum BrokerProtocol {
    /// The version of all that stands above. A client that names another one is refused.
    package static let version = 1
    /// The longest request in bytes; the longest that the library sends has some 250.
    package static let longestRequest = 1_024
    /// The longest answer: a status of 256 clients.
    package static let longestAnswer = 65_536
    /// The longest of those but a status.
    package static let longestEvent = 2_048
    /// Where the daemon listens unless it is told otherwise.
    package static let path = "/run/mpathd.sock"
    /// Names another path for clients.
    package static let environmentName = "MPATHD_SOCKET"
}

/// What a client asks for.
package enum BrokerRequest: Sendable, Hashable {
    /// The first request of a connection.
    case hello
    /// Have the kernel serve a socket by the userspace path manager. The socket comes with the packet: of this network
    /// namespace, MPTCP, neither connected nor listening.
    case prepare
    /// The same, for a socket that its program uses afterwards, answer or not: from the time on it is left as it is.
    case prepareBy(MonotonicTime)
    /// Take orders for a connection, and tell of it. Its socket comes with the packet: that proves whose it is.
    case attach(ConnectionToken)
    /// Take no more orders for it.
    case detach(ConnectionToken)
    /// One order, for a connection that is attached.
    case order(SubflowAction, ConnectionToken)
    /// What the daemon is doing: other users' clients are told of by number only.
    case status

    /// Whether a descriptor comes with it.
    package var takesDescriptor: Bool {
        switch self {
        case .prepare, .prepareBy, .attach: true
        case .hello, .detach, .order, .status: false
        }
    }

    /// Whether the descriptor is one that its program uses meanwhile, and may close.
    var passesSocketInUse: Bool {
        switch self {
        case .prepareBy, .attach: true
        case .hello, .prepare, .detach, .order, .status: false
        }
    }

    /// Whether it gives a socket the userspace path manager.
    var prepares: Bool {
        switch self {
        case .prepare, .prepareBy: true
        case .hello, .attach, .detach, .order, .status: false
        }
    }
}

/// Why the daemon does not do what it was asked to. The name is part of the protocol.
package enum BrokerRefusal: String, Error, Sendable, Hashable, CaseIterable {
    /// The packet is no JSON object, or lacks a member, or has one of the wrong kind.
    case malformed
    /// The packet is longer than `BrokerProtocol.longestRequest`, or its descriptors did not fit.
    case tooLong = "too_long"
    /// The client speaks another version.
    case version
    /// The first request was not `hello`.
    case noHello = "no_hello"
    /// There is no such `op`.
    case unknownRequest = "unknown_request"
    /// The request takes a descriptor, and none came.
    case noDescriptor = "no_descriptor"
    /// Descriptors came with a request that takes none, or more than one.
    case unwantedDescriptor = "unwanted_descriptor"
    /// The descriptor is no socket of IPv4 or IPv6.
    case noInternetSocket = "no_internet_socket"
    /// The socket was not opened for MPTCP.
    case noMPTCPSocket = "no_mptcp_socket"
    /// The socket belongs to another network namespace than the daemon.
    case otherNamespace = "other_namespace"
    /// The socket is connected, or listens.
    case socketInUse = "socket_in_use"
    /// The socket's owner held its lock, so that the setting had to be put back before the kernel looked at it; or has a
    /// call under way that does not end.
    case socketHeld = "socket_held"
    /// The token is no connection's that this client has attached, or that of another socket.
    case foreignToken = "foreign_token"
    /// The kernel's own path manager serves the connection.
    case foreignSocket = "foreign_socket"
    /// The peer's address is neither the one that was connected to nor one that the peer announced.
    case foreignRemote = "foreign_remote"
    /// The address to be announced is none of this machine's.
    case foreignAddress = "foreign_address"
    /// The routing rules for the client's user forbid the subflow, or lead nowhere.
    case noRoute = "no_route"
    /// The user has too many clients.
    case tooManyClients = "too_many_clients"
    /// The user has too many connections attached.
    case tooManyConnections = "too_many_connections"
    /// The connection has too many subflows.
    case tooManySubflows = "too_many_subflows"
    /// The user asks for too much in too short a time.
    case tooFast = "too_fast"
    /// Other processes held the path manager's setting for too long.
    case settingBusy = "setting_busy"
    /// The time until which the client wanted it is over, or it has taken its socket back: nothing was done.
    case tooLate = "too_late"
    /// The connection is not fully established yet (the kernel's ENOTCONN).
    case notReady = "not_ready"
    /// What was to be given up is gone already (the kernel's ESRCH).
    case alreadyGone = "already_gone"
    /// The kernel refused it otherwise; the answer has its words, and `errno`.
    case kernel

    /// For people.
    package var text: String {
        switch self {
        case .malformed: "the packet is no request"
        case .tooLong: "the packet is too long"
        case .version: "the daemon speaks version \(BrokerProtocol.version)"
        case .noHello: "say hello first"
        case .unknownRequest: "there is no such request"
        case .noDescriptor: "the request takes a socket"
        case .unwantedDescriptor: "the request takes no descriptor, or one at most"
        case .noInternetSocket: "the descriptor is no socket of IPv4 or IPv6"
        case .noMPTCPSocket: "the socket was not opened for MPTCP"
        case .otherNamespace: "the socket belongs to another network namespace"
        case .socketInUse: "the socket is connected or listens"
        case .socketHeld: "the socket's owner holds it up"
        case .foreignToken: "the connection is not attached here"
        case .foreignSocket: "the kernel's path manager serves this socket"
        case .foreignRemote: "the peer has not announced that address"
        case .foreignAddress: "this machine has no such address"
        case .noRoute: "the user's routing rules forbid it"
        case .tooManyClients: "the user has too many clients"
        case .tooManyConnections: "the user has too many connections"
        case .tooManySubflows: "the connection has too many subflows"
        case .tooFast: "too much was asked in too short a time"
        case .settingBusy: "another process holds the path manager's setting"
        case .tooLate: "the time for it is over"
        case .notReady: "the connection is not established yet"
        case .alreadyGone: "it is gone already"
        case .kernel: "the kernel refused it"
        }
    }
}

/// A refusal with what more is known of it.
package struct BrokerFailure: Error, Sendable, Hashable {
    package var refusal: BrokerRefusal
    /// The kernel's error number, for `kernel`.
    package var errno: Int32?
    /// What the kernel said.
    package var detail: String?

    package init(_ refusal: BrokerRefusal, errno: Int32? = nil, detail: String? = nil) {
        self.refusal = refusal
        self.errno = errno
        self.detail = detail
    }
}

/// What `hello` is answered with.
package struct BrokerWelcome: Sendable, Hashable {
    /// The network namespace whose connections the daemon steers (SO_NETNS_COOKIE).
    package var namespace: UInt64
    /// Of this start of the machine (/proc/sys/kernel/random/boot_id): cookies mean nothing beyond it.
    package var boot: String
    package var limits: BrokerLimits

    package init(namespace: UInt64, boot: String, limits: BrokerLimits) {
        self.namespace = namespace
        self.boot = boot
        self.limits = limits
    }
}

/// What the daemon sends.
package enum BrokerMessage: Sendable, Hashable {
    case welcome(id: UInt32, BrokerWelcome)
    case done(id: UInt32)
    case refused(id: UInt32, BrokerFailure)
    case status(id: UInt32, BrokerStatus)
    case event(SubflowEvent)
}
