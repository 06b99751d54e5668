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
        case host, port, error, transport, control, attempts, omissions, paths, path, tls
        case exitStatus = "exit_status"
        case fallbackReason = "fallback_reason"
        case controlReason = "control_reason"
    }

    /// The reports' own keys side by side: where a connection has changed what carries it, the later word counts.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        if outcome.establishment == nil, outcome.transfer == nil {
            for key in [Key.transport, .fallbackReason, .control, .controlReason] {
                try object.encodeNil(forKey: key)
            }
        }
        if outcome.establishment == nil, outcome.failure == nil {
            for key in [Key.attempts, .omissions] { try object.encode([String](), forKey: key) }
        }
        if outcome.transfer == nil { try object.encode([String](), forKey: .paths) }
        try outcome.failure?.encode(to: encoder)
        try outcome.establishment?.encode(to: encoder)
        try outcome.transfer?.encode(to: encoder)
        try object.encode(host, forKey: .host)
        try object.encode(port, forKey: .port)
        try object.encode(outcome.error, forKey: .error)
        try object.encode(outcome.status, forKey: .exitStatus)
        try object.encode(outcome.path.map(Path.init), forKey: .path)
        if let tls = outcome.tls { try object.encode(tls, forKey: .tls) }
    }
}

extension ReportDocument {
    /// The path that carried the connection last, with its tags and their sources.
    private struct Path: Encodable {
        let path: ConnectionPath

        private enum Key: String, CodingKey {
            case id = "interface"
            case type, expensive, constrained, refusal
            case expensiveSource = "expensive_source"
            case constrainedSource = "constrained_source"
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(path.id, forKey: .id)
            try object.encode(path.type.value.rawValue, forKey: .type)
            try object.encode(path.isExpensive, forKey: .expensive)
            try object.encode(path.expensive.source.rawValue, forKey: .expensiveSource)
            try object.encode(path.isConstrained, forKey: .constrained)
            try object.encode(path.constrained.source.rawValue, forKey: .constrainedSource)
            try object.encode(path.refusal?.rawValue, forKey: .refusal)
        }
    }
}

/// How a command's connection went, whether it came about or not.
public struct ConnectionOutcome: Sendable {
    public var establishment: EstablishmentReport?
    public var transfer: TransferReport?
    /// The path that carried the connection last; nil where its interface is gone.
    public var path: ConnectionPath?
    public var tls: TLSReport?
    public var failure: ConnectionError?
    /// The error, in words; nil where all went well.
    public var error: String?
    public var status: Int32

    /// For people: how it came about, and what each path carried; nothing where nothing was asked for.
    ///
    /// - Parameter withHeadline: whether the line `connected to …` comes first.
    public func text(withHeadline: Bool) -> String {
        var lines = establishment?.raceLines ?? failure?.attemptLines ?? []
        if establishment != nil, !withHeadline { lines.removeFirst() }
        if let tls { lines.append("  tls         \(tls)") }
        lines += transfer?.lines ?? []
        return lines.map(TerminalText.safe).joined(separator: "\n")
    }

    /// A connection that came about.
    public init(
        establishment: EstablishmentReport?, transfer: TransferReport, path: ConnectionPath? = nil,
        tls: TLSReport? = nil, error: String?, status: Int32
    ) {
        self.establishment = establishment
        self.transfer = transfer
        self.path = path
        self.tls = tls
        self.error = error
        self.status = status
    }

    /// One that was never asked for: listening failed, say, or a signal came first.
    public init(error: String?, status: Int32) {
        self.error = error
        self.status = status
    }

    /// One that did not come about.
    public init(failure: ConnectionError, status: Int32) {
        self.failure = failure
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

extension TLSReport: Encodable {
    private enum Key: String, CodingKey {
        case version, alpn
        case handshake = "handshake_ms"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(version, forKey: .version)
        try object.encode(applicationProtocol, forKey: .alpn)
        try object.encode(milliseconds: handshake, forKey: .handshake)
    }
}

extension TLSReport: CustomStringConvertible {
    /// `TLSv1.3, ALPN h2, handshake 12 ms`
    public var description: String {
        let parts: [String?] = [
            version, applicationProtocol.map { "ALPN \($0)" }, handshake.map { "handshake \($0.shortText)" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}
