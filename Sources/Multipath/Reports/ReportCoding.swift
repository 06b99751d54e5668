// Reports as JSON, and whatever else a Codable value can become. The form is that of `mpconnect --json`: keys in
// snake_case; addresses, protocols, modes and reasons as words; durations as milliseconds in keys that end with
// `_ms`, read back to the nanosecond. A transport and a level of control lie flat in what they belong to:
// "transport": "tcp", "fallback_reason": "peer", "control": "observe_only". Some keys are written for
// readers of the JSON and follow from the others, so they are not read back: `control_reason`, `win_reason`, and the
// totals of bytes.

extension Transport: Codable {
    private enum Key: String, CodingKey {
        case transport
        case fallbackReason = "fallback_reason"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(name, forKey: .transport)
        try object.encode(fallbackReason, forKey: .fallbackReason)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        switch try object.decode(TransportProtocol.self, forKey: .transport) {
        case .mptcp: self = .mptcp
        case .tcp: self = .tcp(fallback: try object.decode(FallbackReason.self, forKey: .fallbackReason))
        }
    }
}

extension EstablishmentReport: Codable {
    private enum Key: String, CodingKey {
        case host, port, mode, local, remote, addresses, attempts, omissions, marking
        case path = "interface"
        case resolution = "resolution_ms"
        case duration = "establishment_ms"
        case handshakeRTT = "handshake_rtt_ms"
        case winReason = "win_reason"
        case refutedAnswers = "refuted_answers"
        case serviceRecords = "service_records"
    }

    public func encode(to encoder: any Encoder) throws {
        try transport.encode(to: encoder)
        try control.encode(to: encoder)
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(host, forKey: .host)
        try object.encode(port, forKey: .port)
        try object.encode(mode, forKey: .mode)
        try object.encode(path, forKey: .path)
        try object.encode(local, forKey: .local)
        try object.encode(remote, forKey: .remote)
        try object.encode(milliseconds: resolution, forKey: .resolution)
        try object.encode(addresses, forKey: .addresses)
        try object.encode(milliseconds: duration, forKey: .duration)
        try object.encode(milliseconds: handshakeRTT, forKey: .handshakeRTT)
        try object.encode(attempts, forKey: .attempts)
        try object.encode(winReason, forKey: .winReason)
        try object.encode(omissions, forKey: .omissions)
        try object.encodeIfPresent(marking, forKey: .marking)
        if !serviceRecords.isEmpty { try object.encode(serviceRecords, forKey: .serviceRecords) }
        if !refutedAnswers.isEmpty { try object.encode(refutedAnswers, forKey: .refutedAnswers) }
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            host: try object.decode(String.self, forKey: .host),
            port: try object.decode(UInt16.self, forKey: .port),
            transport: try Transport(from: decoder), control: try ControlLevel(from: decoder),
            mode: try object.decode(MultipathMode.self, forKey: .mode),
            path: try object.decode(PathID.self, forKey: .path),
            local: try object.decodeIfPresent(IPEndpoint.self, forKey: .local),
            remote: try object.decode(IPEndpoint.self, forKey: .remote),
            resolution: try object.decode(millisecondsForKey: .resolution),
            addresses: try object.decode([IPAddress].self, forKey: .addresses),
            duration: try object.decode(millisecondsForKey: .duration),
            handshakeRTT: try object.decodeIfPresent(millisecondsForKey: .handshakeRTT),
            attempts: try object.decode([AttemptReport].self, forKey: .attempts),
            omissions: try object.decode([PathOmission].self, forKey: .omissions),
            serviceRecords: try object.decodeIfPresent([ServiceRecord].self, forKey: .serviceRecords) ?? [],
            refutedAnswers: try object.decodeIfPresent([RefutedAnswer].self, forKey: .refutedAnswers) ?? [],
            marking: try object.decodeIfPresent(TrafficMarking.self, forKey: .marking))
    }
}

extension AttemptReport: Codable {
    private enum Key: String, CodingKey {
        case address, port
        case path = "interface"
        case transport = "protocol"
        case startedAfter = "start_ms"
        case duration = "duration_ms"
        case connectedAfter = "connected_ms"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(path, forKey: .path)
        try object.encode(endpoint.address, forKey: .address)
        try object.encode(endpoint.port, forKey: .port)
        try object.encode(transport, forKey: .transport)
        try object.encode(milliseconds: startedAfter, forKey: .startedAfter)
        try object.encode(milliseconds: duration, forKey: .duration)
        try object.encode(milliseconds: connectedAfter, forKey: .connectedAfter)
        try outcome.encode(to: encoder)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        path = try object.decode(PathID.self, forKey: .path)
        endpoint = IPEndpoint(
            try object.decode(IPAddress.self, forKey: .address),
            port: try object.decode(UInt16.self, forKey: .port))
        transport = try object.decode(TransportProtocol.self, forKey: .transport)
        startedAfter = try object.decode(millisecondsForKey: .startedAfter)
        duration = try object.decode(millisecondsForKey: .duration)
        connectedAfter = try object.decodeIfPresent(millisecondsForKey: .connectedAfter)
        outcome = try Outcome(from: decoder)
    }
}

/// Flat in its attempt: "outcome": "failed", "error": "Connection refused".
extension AttemptReport.Outcome: Codable {
    private enum Key: String, CodingKey { case outcome, error }

    /// Without the error's words.
    public var name: String {
        switch self {
        case .won: "won"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(name, forKey: .outcome)
        var error: String?
        if case .failed(let reason) = self { error = reason }
        try object.encode(error, forKey: .error)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        switch try object.decode(String.self, forKey: .outcome) {
        case "won": self = .won
        case "cancelled": self = .cancelled
        case "failed": self = .failed(try object.decode(String.self, forKey: .error))
        case let name:
            throw DecodingError.dataCorruptedError(
                forKey: .outcome, in: object, debugDescription: "'\(name)' is no outcome of an attempt")
        }
    }
}

extension ConnectionError: Codable {
    private enum Key: String, CodingKey {
        case host, port, code, reason, attempts, omissions
        case duration = "establishment_ms"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(host, forKey: .host)
        try object.encode(port, forKey: .port)
        try object.encode(code.name, forKey: .code)
        try object.encode(reason, forKey: .reason)
        try object.encode(milliseconds: duration, forKey: .duration)
        try object.encode(attempts, forKey: .attempts)
        try object.encode(omissions, forKey: .omissions)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            // A later version may know more codes.
            Code(name: try object.decode(String.self, forKey: .code)),
            host: try object.decode(String.self, forKey: .host),
            port: try object.decode(UInt16.self, forKey: .port),
            reason: try object.decode(String.self, forKey: .reason),
            duration: try object.decode(millisecondsForKey: .duration),
            attempts: try object.decode([AttemptReport].self, forKey: .attempts),
            omissions: try object.decode([PathOmission].self, forKey: .omissions))
    }
}

extension TransferReport: Codable {
    private enum Key: String, CodingKey {
        case paths, marking
        case duration = "duration_ms"
        case bytesSent = "bytes_sent"
        case bytesReceived = "bytes_received"
        case moveCount = "move_count"
        case moves
        case isBetterOnNewConnection = "better_on_new_connection"
    }

    public func encode(to encoder: any Encoder) throws {
        try transport.encode(to: encoder)
        try control.encode(to: encoder)
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(milliseconds: duration, forKey: .duration)
        try object.encode(bytesSent, forKey: .bytesSent)
        try object.encode(bytesReceived, forKey: .bytesReceived)
        try object.encode(paths, forKey: .paths)
        try object.encode(moveCount, forKey: .moveCount)
        try object.encode(moves, forKey: .moves)
        try object.encode(isBetterOnNewConnection, forKey: .isBetterOnNewConnection)
        try object.encodeIfPresent(marking, forKey: .marking)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            transport: try Transport(from: decoder), control: try ControlLevel(from: decoder),
            duration: try object.decode(millisecondsForKey: .duration),
            paths: try object.decode([PathTransfer].self, forKey: .paths),
            moveCount: try object.decode(Int.self, forKey: .moveCount),
            moves: try object.decode([Move].self, forKey: .moves),
            // (Reports that were kept before there was such a word.)
            isBetterOnNewConnection: try object.decodeIfPresent(
                Bool.self, forKey: .isBetterOnNewConnection) ?? false,
            marking: try object.decodeIfPresent(TrafficMarking.self, forKey: .marking))
    }
}

extension TransferReport.PathTransfer: Codable {
    private enum Key: String, CodingKey {
        case subflows
        case path = "interface"
        case bytesSent = "bytes_sent"
        case bytesReceived = "bytes_received"
        case bytesRetransmitted = "bytes_retransmitted"
        case smoothedRTT = "rtt_ms"
        case minimumRTT = "min_rtt_ms"
        case timeActive = "active_ms"
        case unmarkedSubflows = "unmarked_subflows"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(path, forKey: .path)
        try object.encode(subflows, forKey: .subflows)
        try object.encode(bytesSent, forKey: .bytesSent)
        try object.encode(bytesReceived, forKey: .bytesReceived)
        try object.encode(bytesRetransmitted, forKey: .bytesRetransmitted)
        try object.encode(milliseconds: smoothedRTT, forKey: .smoothedRTT)
        try object.encode(milliseconds: minimumRTT, forKey: .minimumRTT)
        try object.encode(milliseconds: timeActive, forKey: .timeActive)
        if unmarkedSubflows > 0 { try object.encode(unmarkedSubflows, forKey: .unmarkedSubflows) }
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            path: try object.decode(PathID.self, forKey: .path),
            subflows: try object.decode(Int.self, forKey: .subflows),
            bytesSent: try object.decode(UInt64.self, forKey: .bytesSent),
            bytesReceived: try object.decode(UInt64.self, forKey: .bytesReceived),
            bytesRetransmitted: try object.decode(UInt64.self, forKey: .bytesRetransmitted),
            smoothedRTT: try object.decode(millisecondsForKey: .smoothedRTT),
            minimumRTT: try object.decodeIfPresent(millisecondsForKey: .minimumRTT),
            timeActive: try object.decode(millisecondsForKey: .timeActive),
            unmarkedSubflows: try object.decodeIfPresent(Int.self, forKey: .unmarkedSubflows) ?? 0)
    }
}
