/// What a check comes to: one fault, in one sentence, and what to do about it.
public struct Diagnosis: Sendable, Hashable {
    /// What is wrong, the worse before the less bad. The raw values are those of the JSON.
    public enum Fault: String, Sendable, Hashable, CaseIterable {
        /// Nothing is.
        case none
        /// There is no path at all.
        case noPath = "no_path"
        /// A path comes and goes.
        case flapping
        /// A portal wants to be dealt with first.
        case captivePortal = "captive_portal"
        /// A name server gives a wrong address.
        case lyingNameServer = "lying_name_server"
        /// No name server knows the name.
        case noSuchName = "no_such_name"
        /// A path is up and delivers nothing.
        case pathSilent = "path_silent"
        /// One family of addresses gets no answer over a path, and the other does.
        case familySilent = "address_family_silent"
        /// The port is blocked, and the host is there.
        case portBlocked = "port_blocked"
        /// Nothing listens on the port.
        case refused
        /// A path does not lead to the host.
        case unreachable
        /// Full packets are lost without a word.
        case packetsTooLarge = "path_mtu_black_hole"
        /// The certificate is another host's, or not trusted.
        case wrongCertificate = "wrong_certificate"
        /// TLS fails otherwise.
        case tlsFailed = "tls_failed"
        /// Something on the way takes MPTCP out.
        case mptcpStripped = "mptcp_stripped"
        /// Something on the way drops packets with MPTCP.
        case mptcpDropped = "mptcp_dropped"
        /// Packets are lost.
        case lossy
        /// A queue on the way is full.
        case queueFull = "queue_full"
        /// Answers take long.
        case slow
        /// Something on the way forgets idle connections.
        case idleForgotten = "idle_forgotten"
        /// Name servers do not answer.
        case namesUnanswered = "names_unanswered"
    }

    /// What is wrong.
    public var fault: Fault
    /// The interface that it concerns; nil where it concerns the host or every path.
    public var path: String?
    /// What is wrong, in one sentence.
    public var sentence: String
    /// What to do about it, in one or two; empty where nothing is to be done.
    public var advice: String

    /// A verdict of these parts.
    public init(_ fault: Fault, path: String? = nil, _ sentence: String, advice: String = "") {
        self.fault = fault
        self.path = path
        self.sentence = sentence
        self.advice = advice
    }

    /// Whether nothing is wrong.
    public var isHealthy: Bool { fault == .none }

    /// 0 where nothing is wrong, 1 where something is, 3 where there is no path.
    public var exitStatus: Int32 {
        switch fault {
        case .none: 0
        case .noPath: 3
        default: 1
        }
    }
}
