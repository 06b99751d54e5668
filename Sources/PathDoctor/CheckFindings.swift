// What a check finds, path by path. Plain values: the verdict is worked out of them alone.

public import Multipath

/// All that a check of a destination found.
public struct CheckFindings: Sendable {
    /// The host as the user wrote it.
    public var host: String
    /// The port.
    public var port: UInt16
    /// The paths, the preferred one first.
    public var paths: [PathFindings] = []
    /// The interfaces that are no paths, and why.
    public var omissions: [PathOmission] = []
    /// What the system's resolver says (getaddrinfo: hosts file, resolv.conf); nil where the host is an address.
    public var systemName: NameFinding?
    /// The interfaces that ceased to be paths while the check ran.
    public var lost: Set<String> = []
    /// Whether this kernel makes MPTCP sockets.
    public var kernelSpeaksMPTCP = true

    /// Findings of a destination, of which nothing is known yet.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// What was found over one path.
public struct PathFindings: Sendable {
    /// The interface's name.
    public var interface: String
    /// Its type.
    public var type: InterfaceType
    /// Whether it costs money.
    public var isExpensive = false
    /// Whether data is to be saved on it.
    public var isConstrained = false
    /// The name servers of the path, each asked over it.
    public var names: [NameFinding] = []
    /// The address that was tried; nil where there is none of the path's families.
    public var address: IPAddress?
    /// Plain TCP.
    public var tcp = TCPFinding.untried
    /// The host's address of the other family, where that one gets no answer and `address` does.
    public var deadAddress: IPAddress?
    /// Whether the path carried nothing for some seconds, and then did.
    public var paused = false
    /// Whether an address at which another path reaches the host takes a connection over this path, where this path's own
    /// address takes none; nil where that was not asked.
    public var reachesOthersAddress: Bool?
    /// Whether the host answers over this path on some other port, where it does not on the one that was asked for.
    public var answersElsewhere = false
    /// MPTCP.
    public var mptcp = MPTCPFinding.untried
    /// TLS; untried where the port is not one of it.
    public var tls = TLSFinding.untried
    /// What answered where no host is.
    public var portal = PortalFinding.none
    /// Whether full packets arrive.
    public var packets = PacketFinding.untried
    /// Round trips and losses.
    public var quality = QualityFinding()
    /// The largest packet that the kernel sends there, in bytes.
    public var pathMTU: Int?
    /// What passed over the interface meanwhile, in bits a second, both ways.
    public var traffic: Double = 0
    /// Whether an idle connection was forgotten on the way; nil where that was not asked.
    public var idle: IdleFinding?

    /// Findings of a path, of which nothing is known yet.
    public init(interface: String, type: InterfaceType) {
        self.interface = interface
        self.type = type
    }
}

/// What one name server says, or (without one) the system's resolver.
public struct NameFinding: Sendable, Hashable {
    /// Nil for the system's resolver.
    public var server: IPAddress?
    /// How long it took.
    public var duration: Duration
    /// What was answered.
    public var answer: Answer

    /// What a name server answers.
    public enum Answer: Sendable, Hashable {
        /// The addresses of both families.
        case addresses([IPAddress])
        /// There is no such name.
        case noSuchName
        /// There is no answer, in the resolver's words.
        case failed(String)
    }

    /// A value of these parts.
    public init(server: IPAddress?, duration: Duration, answer: Answer) {
        self.server = server
        self.duration = duration
        self.answer = answer
    }

    /// The addresses; none where there is no answer.
    public var addresses: [IPAddress] { if case .addresses(let addresses) = answer { addresses } else { [] } }
}

/// How a handshake of TCP went.
public enum TCPFinding: Sendable, Hashable {
    /// There was no address to try.
    case untried
    /// It was completed, after this time.
    case connected(Duration)
    /// The host, or a firewall in its name, refused it.
    case refused
    /// Nothing answered.
    case silent
    /// A router on the way, or this machine, says that it leads nowhere: the error's words.
    case unreachable(String)

    /// Whether it was completed.
    public var isConnected: Bool { if case .connected = self { true } else { false } }
}

/// Whether the host speaks MPTCP over this path.
public enum MPTCPFinding: Sendable, Hashable {
    /// It was not asked.
    case untried
    /// It does.
    case works
    /// The answer had no MPTCP option (RFC 8684 section 3.7).
    case absent
    /// A SYN with the option is not answered, and one without it is.
    case dropped
    /// This kernel leaves the option out for a while, because SYNs with it were dropped somewhere lately: of this path that
    /// says nothing (net.mptcp.blackhole_timeout).
    case withheld
}

/// How a handshake of TLS went, and whose certificate was shown.
public enum TLSFinding: Sendable, Hashable {
    /// The port is not one of TLS, or there was no connection.
    case untried
    /// It was completed, and the certificate is one for the host.
    case trusted(version: String, names: [String], Duration)
    /// The certificate is not trusted, or for other names: why, and whose it is.
    case refused(reason: String, names: [String])
    /// HTTP answered, in the clear: its first line.
    case plainHTTP(String)
    /// It failed for another reason: its words.
    case failed(String)
    /// The connection was made, and nothing answered TLS's first message.
    case silent

    /// Whether the host proved its name.
    public var isTrusted: Bool { if case .trusted = self { true } else { false } }
}

/// What answered where no host is: at an address for documentation (RFC 5737).
public enum PortalFinding: Sendable, Hashable {
    /// Nothing, as it should be.
    case none
    /// A page that sends the user elsewhere, or one of its own: a captive portal (RFC 8910). Where it sends to, if it says so.
    case page(status: String, location: String?)
    /// An error: a proxy that takes every connection, and is no portal.
    case proxy(status: String)
}

/// Whether packets of full size arrive.
public enum PacketFinding: Sendable, Hashable {
    /// The port's protocol is not known, so that nothing long could be sent.
    case untried
    /// They do.
    case arrive
    /// They are lost without a word, and small ones are not (RFC 2923 section 2.1).
    case lost
}

/// How the path answered a series of handshakes that are broken off half-way.
public struct QualityFinding: Sendable, Hashable {
    /// How many were begun.
    public var sent = 0
    /// The round trips of those whose first packet was answered, in ascending order.
    public var roundTrips: [Duration] = []

    /// Nothing was sent yet.
    public init() {}

    /// A series of so many, of which these were answered.
    public init(sent: Int, roundTrips: [Duration]) {
        self.sent = sent
        self.roundTrips = roundTrips.sorted()
    }

    /// A series of so many.
    ///
    /// - Parameters:
    ///   - inTime: how long the answers took that came before the kernel sent a SYN again.
    ///   - late: the same of those that came later. They were late where others were as well, and else were lost and sent again.
    package init(sent: Int, inTime: [Duration], late: [Duration]) {
        let isSlow = inTime.max().map { $0 >= Self.lateNeighbour } ?? true
        self.init(sent: sent, roundTrips: isSlow ? inTime + late : inTime)
    }
    /// Where one answer takes more than a second, the longest of the others takes at least this.
    private static let lateNeighbour = Duration.milliseconds(500)

    /// The share whose first packet, or its answer, was lost, from 0 to 1.
    public var loss: Double { sent == 0 ? 0 : Double(sent - roundTrips.count) / Double(sent) }
    /// The round trip in the middle.
    public var median: Duration? { roundTrips.isEmpty ? nil : roundTrips[roundTrips.count / 2] }
    /// The shortest one.
    public var shortest: Duration? { roundTrips.first }
    /// The longest one.
    public var longest: Duration? { roundTrips.last }

    /// Whether the path changed meanwhile: one handshake was lost, or the round trips are far apart. A fault that comes and goes
    /// may begin just then, or have ended. (A queue that is full all the time is told as it is.)
    package var isUneasy: Bool {
        guard let shortest, let median, let longest else { return false }
        let isWide = longest - shortest >= Self.wideSpread && longest >= shortest * 3
        return loss > 0 || isWide && median < shortest * 4
    }
    private static let wideSpread = Duration.milliseconds(60)

    /// The one of two series that shows more of a fault.
    package func worse(_ other: QualityFinding) -> QualityFinding {
        if loss != other.loss { return loss > other.loss ? self : other }
        return (median ?? .zero) >= (other.median ?? .zero) ? self : other
    }
}

/// What became of a connection that was idle for a while.
public enum IdleFinding: Sendable, Hashable {
    /// It still was there.
    case remembered(after: Duration)
    /// Something on the way had forgotten it: a NAT, a firewall.
    case forgotten(after: Duration)
    /// The server ended it before, after so long: of the way that says nothing.
    case ended(after: Duration)
}
