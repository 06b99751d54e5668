// What a connection's traffic is for, and how its packets say so: the service classes of RFC 4594 section 2.3 (figure 3), and
// the lower effort of RFC 8622, each with the code point that those recommend.

/// What a connection carries, as the networks on the way are told by its packets' DSCP field (RFC 2474): in every attempt's
/// SYN and on every subflow.
///
/// A network does with it what it likes, from nothing at all to what the class asks for. Wi-Fi maps it onto its access
/// categories (RFC 8325), which is where it helps most.
public enum TrafficClass: String, Sendable, Hashable, Codable, CaseIterable {
    /// What has time, and is to get out of everything else's way: LE, code point 1 (RFC 8622). It is discretionary, too:
    /// see `PathPolicy.isDiscretionary`.
    case background
    /// Anything without a wish: CS0, code point 0. The packets stay as they are.
    case bestEffort = "best_effort"
    /// Large transfers whose end is awaited: AF11, code point 10.
    case bulk
    /// A person waits for each answer: AF21, code point 18.
    case interactive
    /// Audio and video that are buffered: AF31, code point 26.
    case streaming
    /// Video between people: AF41, code point 34.
    case conversationalVideo = "conversational_video"
    /// Speech between people: EF, code point 46 (RFC 3246).
    case voice
    /// What sets calls up and takes them down: CS5, code point 40.
    case signalling
    /// What keeps a network itself going: CS6, code point 48.
    case networkControl = "network_control"

    /// The code point, 0 to 63: the upper six bits of IPv4's type of service and of IPv6's traffic class.
    public var dscp: UInt8 {
        switch self {
        case .background: 1
        case .bestEffort: 0
        case .bulk: 10
        case .interactive: 18
        case .streaming: 26
        case .conversationalVideo: 34
        case .voice: 46
        case .signalling: 40
        case .networkControl: 48
        }
    }
}

/// How far a connection's packets bear the mark of its traffic class.
public struct TrafficMarking: Sendable, Hashable {
    /// What was asked for.
    public var trafficClass: TrafficClass
    /// The family whose packets bear no mark, because the kernel refuses it: Linux takes IPV6_TCLASS for no socket that was
    /// made for MPTCP, also where the connection became plain TCP (mptcp_setsockopt_v6, net/mptcp/sockopt.c). Nil where
    /// every subflow is marked.
    public var unmarkedFamily: IPAddress.Family?

    /// A value of these parts.
    public init(_ trafficClass: TrafficClass, unmarkedFamily: IPAddress.Family? = nil) {
        self.trafficClass = trafficClass
        self.unmarkedFamily = unmarkedFamily
    }
}

extension TrafficMarking: CustomStringConvertible {
    /// `voice (DSCP 46); IPv6 is not marked: the kernel refuses that for MPTCP`
    public var description: String {
        let words = trafficClass.rawValue.split(separator: "_").joined(separator: " ")
        let marked = "\(words) (DSCP \(trafficClass.dscp))"
        guard let unmarkedFamily else { return marked }
        let family = unmarkedFamily == .ipv4 ? "IPv4" : "IPv6"
        return "\(marked); \(family) is not marked: the kernel refuses that for MPTCP"
    }
}
