import Multipath

/// A connection's last word, as JSON: how it came about, what carried it, and how it ended.
public struct ReportDocument: Encodable, Sendable {
    private let host: String
    private let port: UInt16
    private let outcome: ConnectionOutcome

    public init(host: String, port: UInt16, outcome: ConnectionOutcome) {
        self.host = host
        self.port = port
        self.outcome = outcome
    }

    private enum Key: String, CodingKey {
        case host, port, mode, transport, control, attempts, omissions, paths, error, interface, addresses,
            tls
        case fallbackReason = "fallback_reason"
        case controlReason = "control_reason"
        case exitStatus = "exit_status"
        case duration = "duration_ms"
        case resolution = "resolution_ms"
        case establishment = "establishment_ms"
        case handshakeRTT = "handshake_rtt_ms"
        case bytesSent = "bytes_sent"
        case bytesReceived = "bytes_received"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(host, forKey: .host)
        try object.encode(port, forKey: .port)
        try object.encode(outcome.error, forKey: .error)
        try object.encode(outcome.status, forKey: .exitStatus)
        let established = outcome.establishment
        let transport = outcome.transfer?.transport ?? established?.transport
        try object.encode(transport.map { $0.isMPTCP ? "mptcp" : "tcp" }, forKey: .transport)
        try object.encode(transport?.fallbackReason?.rawValue, forKey: .fallbackReason)
        let control = outcome.transfer?.control ?? established?.control
        try object.encode(control?.name, forKey: .control)
        try object.encode(control?.limit?.description, forKey: .controlReason)
        try object.encode(outcome.attempts.map(AttemptDocument.init), forKey: .attempts)
        try object.encode(outcome.omissions.map(OmissionDocument.init), forKey: .omissions)
        try object.encode(outcome.transfer?.paths.map(PathTransferDocument.init) ?? [], forKey: .paths)
        if let established {
            try object.encode(established.mode.rawValue, forKey: .mode)
            try object.encode(established.interface, forKey: .interface)
            try object.encode(established.addresses.map(\.description), forKey: .addresses)
            try object.encode(established.resolution.inMilliseconds, forKey: .resolution)
            try object.encode(established.duration.inMilliseconds, forKey: .establishment)
            try object.encode(established.handshakeRTT?.inMilliseconds, forKey: .handshakeRTT)
        }
        if let tls = outcome.tls { try object.encode(TLSDocument(tls), forKey: .tls) }
        if let transfer = outcome.transfer {
            try object.encode(transfer.duration.inMilliseconds, forKey: .duration)
            try object.encode(transfer.bytesSent, forKey: .bytesSent)
            try object.encode(transfer.bytesReceived, forKey: .bytesReceived)
        }
    }
}

/// How a command's connection went, whether it came about or not.
public struct ConnectionOutcome: Sendable {
    public var establishment: EstablishmentReport?
    public var transfer: TransferReport?
    public var tls: TLSReport?
    public var attempts: [AttemptReport]
    public var omissions: [CandidateList.Omission] = []
    /// The error, in words; nil where all went well.
    public var error: String?
    public var status: Int32

    /// A connection that came about.
    public init(
        establishment: EstablishmentReport?, transfer: TransferReport, tls: TLSReport? = nil, error: String?,
        status: Int32
    ) {
        self.establishment = establishment
        self.transfer = transfer
        self.tls = tls
        attempts = establishment?.attempts ?? []
        self.error = error
        self.status = status
    }

    /// One that was never asked for: nobody can listen, say, or a signal came first.
    public init(error: String?, status: Int32) {
        attempts = []
        self.error = error
        self.status = status
    }

    /// One that did not come about.
    public init(failure: ConnectionError, status: Int32) {
        attempts = failure.attempts
        omissions = failure.omissions
        error = failure.description
        self.status = status
    }
}

/// A TLS handshake, for reports.
public struct TLSReport: Sendable, Hashable {
    /// `TLSv1.3`
    public var version: String
    /// What both ends agreed on (ALPN); nil where they agreed on nothing.
    public var applicationProtocol: String?
    /// From the transport's handshake until TLS's own was complete.
    public var handshake: Duration?

    public init(version: String, applicationProtocol: String?, handshake: Duration?) {
        self.version = version
        self.applicationProtocol = applicationProtocol
        self.handshake = handshake
    }
}

struct TLSDocument: Encodable {
    let version: String
    let alpn: String?
    let handshake: Double?

    enum CodingKeys: String, CodingKey {
        case version, alpn
        case handshake = "handshake_ms"
    }

    init(_ tls: TLSReport) {
        version = tls.version
        alpn = tls.applicationProtocol
        handshake = tls.handshake?.inMilliseconds
    }
}

struct AttemptDocument: Encodable {
    let interface: String
    let address: String
    let port: UInt16
    let transport: String
    let start: Double
    let duration: Double
    let connected: Double?
    let outcome: String
    let error: String?

    enum CodingKeys: String, CodingKey {
        case interface, address, port
        case transport = "protocol"
        case start = "start_ms"
        case duration = "duration_ms"
        case connected = "connected_ms"
        case outcome, error
    }

    init(_ attempt: AttemptReport) {
        interface = attempt.interface
        address = attempt.endpoint.address.description
        port = attempt.endpoint.port
        transport = attempt.transport.rawValue
        start = attempt.startedAfter.inMilliseconds
        duration = attempt.duration.inMilliseconds
        connected = attempt.connectedAfter?.inMilliseconds
        switch attempt.outcome {
        case .won: (outcome, error) = ("won", nil)
        case .cancelled: (outcome, error) = ("cancelled", nil)
        case .failed(let reason): (outcome, error) = ("failed", reason)
        }
    }
}

/// An interface that takes no part, and why, as JSON.
public struct OmissionDocument: Encodable, Sendable {
    let interface: String
    let reason: String
    let refusal: String?

    public init(_ omission: CandidateList.Omission) {
        interface = omission.interface
        reason = omission.reason
        refusal = omission.refusal?.rawValue
    }
}

struct PathTransferDocument: Encodable {
    let interface: String
    let subflows: Int
    let sent: UInt64
    let received: UInt64
    let retransmitted: UInt64
    let smoothedRTT: Double
    let minimumRTT: Double?

    enum CodingKeys: String, CodingKey {
        case interface, subflows
        case sent = "bytes_sent"
        case received = "bytes_received"
        case retransmitted = "bytes_retransmitted"
        case smoothedRTT = "rtt_ms"
        case minimumRTT = "min_rtt_ms"
    }

    init(_ path: TransferReport.PathTransfer) {
        interface = path.interface
        subflows = path.subflows
        sent = path.bytesSent
        received = path.bytesReceived
        retransmitted = path.bytesRetransmitted
        smoothedRTT = path.smoothedRTT.inMilliseconds
        minimumRTT = path.minimumRTT?.inMilliseconds
    }
}
