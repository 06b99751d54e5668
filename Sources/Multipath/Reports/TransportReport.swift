/// What carries a connection's bytes. A connection never changes this silently.
public enum Transport: Sendable, Hashable {
    /// Multipath TCP (RFC 8684).
    case mptcp
    /// Plain TCP, and why it is no MPTCP.
    case tcp(fallback: FallbackReason)

    /// Whether it is MPTCP.
    public var isMPTCP: Bool { self == .mptcp }

    /// "mptcp" or "tcp", for machines to read.
    public var name: String { isMPTCP ? "mptcp" : "tcp" }

    /// Why a connection is plain TCP; nil for MPTCP.
    public var fallbackReason: FallbackReason? {
        if case .tcp(let reason) = self { reason } else { nil }
    }
}

/// Why a connection is plain TCP.
public enum FallbackReason: String, Sendable, Hashable, Codable {
    /// The answer to MP_CAPABLE did not carry it: the peer does not speak MPTCP, or something on the way took
    /// the option out (RFC 8684 section 3.7). Also where the connection had fallen back before it was first looked at.
    case peer
    /// This kernel has no MPTCP, or `net.mptcp.enabled` is 0.
    case kernel
    /// A SYN with MP_CAPABLE went unanswered where a plain one was answered: likely something on the way drops
    /// those with the option.
    case middlebox
    /// The kernel has met such a middlebox before, and leaves the option out for a while
    /// (`net.mptcp.blackhole_timeout`).
    case blackholeMemory = "blackhole_memory"
    /// It began as MPTCP. Then a segment came without MPTCP's option, or with data that was changed on its way (RFC 8684
    /// section 3.7): something takes the option out or rewrites what is sent, or the peer's kernel gave MPTCP up. It goes
    /// on over the path it has.
    case afterHandshake = "after_handshake"
    /// The caller did not ask for MPTCP.
    case disabled
}

/// How a connection came about.
public struct EstablishmentReport: Sendable, Hashable {
    /// The host as the caller named it.
    public var host: String
    /// The port.
    public var port: UInt16
    /// What the connection is.
    public var transport: Transport
    /// How far the connection's subflows can be steered, and why no further.
    public var control: ControlLevel
    /// The mode the caller asked for.
    public var mode: MultipathMode
    /// The path of the attempt that won.
    public var path: PathID
    /// This end; nil where the socket was closed before it was asked for.
    public var local: IPEndpoint?
    /// The peer's endpoint.
    public var remote: IPEndpoint
    /// How long name resolution took.
    public var resolution: Duration
    /// The addresses that the host was found to have.
    public var addresses: [IPAddress]
    /// From the call until the winner was usable.
    public var duration: Duration
    /// The handshake's round trip, as the kernel measured it.
    public var handshakeRTT: Duration?
    /// Every attempt, in the order they started.
    public var attempts: [AttemptReport]
    /// The interfaces that took no part, and why.
    public var omissions: [PathOmission]
    /// The host's HTTPS records, where they were asked for (`ConnectionConfiguration.applicationProtocols`).
    public var serviceRecords: [ServiceRecord] = []
    /// The addresses that resolvers gave, and at which another host answered.
    public var refutedAnswers: [RefutedAnswer] = []
    /// How far the connection's packets bear the mark of their traffic class; nil for `.bestEffort`, which needs none.
    public var marking: TrafficMarking?

    /// The attempt that won.
    public var winner: AttemptReport? { attempts.first { $0.outcome == .won } }

    /// Why that one and no other, told by what became of the attempt that started first; nil without attempts.
    public var winReason: WinReason? {
        guard let first = attempts.first else { return nil }
        return switch first.outcome {
        case .won: .firstChoice
        case .failed: .firstChoiceFailed
        case .cancelled: first.connectedAfter == nil ? .firstChoiceSilent : .firstChoiceUnconfirmed
        }
    }
}

/// Why an attempt won. The first choice is the best path's best address with the preferred protocol, as far as
/// the caller's rules allow.
public enum WinReason: String, Sendable, Hashable, Codable {
    /// It was the first choice, and no other was ready before it.
    case firstChoice = "first_choice"
    /// The first choice failed.
    case firstChoiceFailed = "first_choice_failed"
    /// The first choice had not answered yet.
    case firstChoiceSilent = "first_choice_silent"
    /// The first choice was connected but not confirmed yet: its TLS handshake took longer, say.
    case firstChoiceUnconfirmed = "first_choice_unconfirmed"
}

/// One connection attempt.
public struct AttemptReport: Sendable, Hashable {
    /// The path whose interface the attempt was bound to.
    public var path: PathID
    /// Where it connected to.
    public var endpoint: IPEndpoint
    /// What it asked for.
    public var transport: TransportProtocol
    /// From the call until the attempt started.
    public var startedAfter: Duration
    /// How long it took, until it won, failed or was given up.
    public var duration: Duration
    /// From its start until the transport's handshake was complete; nil where it never was. What follows until
    /// `duration` is the confirmation, such as TLS, where the caller asked for one.
    public var connectedAfter: Duration?
    /// How it ended.
    public var outcome: Outcome

    /// How an attempt ended.
    public enum Outcome: Sendable, Hashable {
        /// It is the connection now.
        case won
        /// Another attempt won, or the race was over.
        case cancelled
        /// The error's words.
        case failed(String)
    }

    init(_ attempt: RaceMachine.Attempt, begun: MonotonicTime, now: MonotonicTime) {
        path = attempt.candidate.path
        endpoint = attempt.candidate.endpoint
        transport = attempt.candidate.transport
        startedAfter = begun.duration(to: attempt.started)
        duration = attempt.started.duration(to: attempt.ended ?? now)
        connectedAfter = attempt.connected.map { attempt.started.duration(to: $0) }
        switch attempt.outcome {
        case .won: outcome = .won
        case .pending, .cancelled: outcome = .cancelled
        case .failed(let reason): outcome = .failed(reason)
        case .pathLost: outcome = .failed("its path was lost")
        }
    }
}

/// An address that a resolver gave for the host, and at which another host answered: with TLS, one without the name's
/// certificate. The host itself was found at another address, so the answer was wrong, or poisoned.
public struct RefutedAnswer: Sendable, Hashable, Codable {
    /// What the resolver answered.
    public var address: IPAddress
    /// The path over which it was tried.
    public var path: PathID
    /// The resolver, by `Resolver.name`.
    public var resolver: String
    /// Why that is another host: TLS's words.
    public var reason: String

    /// A value of these parts.
    public init(address: IPAddress, path: PathID, resolver: String, reason: String) {
        self.address = address
        self.path = path
        self.resolver = resolver
        self.reason = reason
    }

    private enum CodingKeys: String, CodingKey {
        case address
        case path = "interface"
        case resolver, reason
    }
}
