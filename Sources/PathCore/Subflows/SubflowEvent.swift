// What the kernel's MPTCP path manager says of connections and their subflows, as values. The kernel sends
// them to the multicast group `mptcp_pm_events` (include/uapi/linux/mptcp_pm.h, RFC 8684).

/// Names an MPTCP connection among those of its network namespace: a hash of the local key (RFC 8684
/// section 3.2). MPTCP_INFO tells a socket's own.
public struct ConnectionToken: Sendable, Hashable, CustomStringConvertible {
    /// The kernel's number.
    public var value: UInt32

    /// A token of that number.
    public init(_ value: UInt32) { self.value = value }

    public var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

/// A subflow as an event names it. An IPv4-mapped address is shown as the IPv4 one.
package struct SubflowFacts: Sendable, Hashable {
    package var local: IPEndpoint
    package var remote: IPEndpoint
    /// The addresses' ids (RFC 8684 section 3.2): 0 for the first subflow's address. nil where the event has none.
    package var localID: UInt8?
    package var remoteID: UInt8?
    /// Whether the peer asked for it to be backup. What this side asked for is not told.
    package var isBackup: Bool?
    /// What the subflow is bound to; nil for none.
    package var interface: UInt32?

    package init(
        local: IPEndpoint, remote: IPEndpoint, localID: UInt8? = nil, remoteID: UInt8? = nil,
        isBackup: Bool? = nil, interface: UInt32? = nil
    ) {
        self.local = local
        self.remote = remote
        self.localID = localID
        self.remoteID = remoteID
        self.isBackup = isBackup
        self.interface = interface
    }
}

/// Why a subflow ended, as far as the kernel says: nothing at all for an end by FIN.
public struct SubflowEnd: Sendable, Hashable {
    /// The socket's error, an errno; nil for none.
    public var error: Int32?
    /// What an MP_TCPRST said, the peer's or ours; nil where there was none.
    public var reset: ResetReason?
    /// The T flag of MP_TCPRST: its sender thinks that trying again later may help.
    public var isTransient: Bool

    /// An end with what is known of it.
    public init(error: Int32? = nil, reset: ResetReason? = nil, isTransient: Bool = false) {
        self.error = error
        self.reset = reset
        self.isTransient = isTransient
    }
}

/// The reasons of MP_TCPRST (RFC 8684 section 3.6).
public enum ResetReason: Sendable, Hashable, CustomStringConvertible {
    /// No reason is given (RFC 8684 section 3.6).
    case unspecified
    /// The option was wrong.
    case mptcpSpecific
    /// The peer has no room for another, in memory or in its limits.
    case lackOfResources
    /// The peer's policy forbids a subflow here.
    case prohibited
    /// The peer has too much unsent data to accept another.
    case tooMuchOutstandingData
    /// The path performs too badly.
    case unacceptablePerformance
    /// Something on the way changes the connection's packets.
    case middleboxInterference
    /// One that RFC 8684 does not name.
    case other(UInt8)

    /// The reason of that code.
    public init(code: UInt8) {
        switch code {
        case 0: self = .unspecified
        case 1: self = .mptcpSpecific
        case 2: self = .lackOfResources
        case 3: self = .prohibited
        case 4: self = .tooMuchOutstandingData
        case 5: self = .unacceptablePerformance
        case 6: self = .middleboxInterference
        default: self = .other(code)
        }
    }

    /// The number it has in MP_TCPRST.
    public var code: UInt8 {
        switch self {
        case .unspecified: 0
        case .mptcpSpecific: 1
        case .lackOfResources: 2
        case .prohibited: 3
        case .tooMuchOutstandingData: 4
        case .unacceptablePerformance: 5
        case .middleboxInterference: 6
        case .other(let code): code
        }
    }

    public var description: String {
        switch self {
        case .unspecified: "for no stated reason"
        case .mptcpSpecific: "for an error in the MPTCP options"
        case .lackOfResources: "for lack of resources"
        case .prohibited: "as prohibited by policy"
        case .tooMuchOutstandingData: "for too much outstanding data"
        case .unacceptablePerformance: "for unacceptable performance"
        case .middleboxInterference: "for a middlebox that interferes"
        case .other(let code): "for reason \(code)"
        }
    }
}

/// What happened to a connection of this network namespace, this process's or another one's.
package enum SubflowEvent: Sendable, Hashable {
    /// The handshake's first half is done. `isServer`: the peer connected to us. `deniesJoinToFirst`: the peer
    /// takes no further subflow at the address that was connected to (the C flag, RFC 8684 section 3.1).
    case created(ConnectionToken, SubflowFacts, isServer: Bool, deniesJoinToFirst: Bool)
    case established(ConnectionToken, SubflowFacts, isServer: Bool, deniesJoinToFirst: Bool)
    case closed(ConnectionToken)
    /// The peer has another address (ADD_ADDR).
    case announced(ConnectionToken, remoteID: UInt8, IPEndpoint)
    /// The peer took an address back (RM_ADDR).
    case removed(ConnectionToken, remoteID: UInt8)
    /// Another subflow's handshake is complete.
    case subflowEstablished(ConnectionToken, SubflowFacts, error: Int32?)
    case subflowClosed(ConnectionToken, SubflowFacts, SubflowEnd)
    /// The peer changed the subflow's priority (MP_PRIO). What this side changes is not told.
    case subflowPriority(ConnectionToken, SubflowFacts)
    case listenerCreated(IPEndpoint)
    case listenerClosed(IPEndpoint)
    /// Events were dropped, because the queue was full: whatever is known of subflows is to be read again.
    case lost

    /// The connection it is about; nil for listeners, and for `lost`.
    package var token: ConnectionToken? {
        switch self {
        case .created(let token, _, _, _), .established(let token, _, _, _), .closed(let token),
            .announced(let token, _, _), .removed(let token, _), .subflowEstablished(let token, _, _),
            .subflowClosed(let token, _, _), .subflowPriority(let token, _):
            token
        case .listenerCreated, .listenerClosed, .lost: nil
        }
    }
}

extension SubflowEvent {
    /// Whether a peer can have the kernel say it at any time, and as often as it likes: ADD_ADDR, RM_ADDR, MP_PRIO (RFC 8684
    /// sections 3.4.1, 3.4.2 and 3.3.8).
    package var isPeersChoice: Bool {
        switch self {
        case .announced, .removed, .subflowPriority: true
        default: false
        }
    }
}
