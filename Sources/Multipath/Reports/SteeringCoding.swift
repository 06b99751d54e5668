// The part of reports that tells of steering, as JSON. See ReportCoding.swift for the form.

extension TransferReport.Move: Codable {
    private enum Key: String, CodingKey {
        case from, to, reason, text
        case after = "after_ms"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(milliseconds: after, forKey: .after)
        try object.encode(from, forKey: .from)
        try object.encode(to, forKey: .to)
        try object.encode(reason, forKey: .reason)
        try object.encode(reason.description, forKey: .text)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        self.init(
            after: try object.decode(millisecondsForKey: .after),
            from: try object.decode(PathID.self, forKey: .from),
            to: try object.decode(PathID.self, forKey: .to),
            reason: try object.decode(MoveReason.self, forKey: .reason))
    }
}

extension MoveReason: Codable {
    private enum Key: String, CodingKey {
        case kind, trouble, refusal, error, reset, transient
        case latency = "latency_ms"
        case insteadOf = "instead_of_ms"
    }

    private enum Kind: String, Codable {
        case trouble, refused, preferred, latency, stalled, ended, stuck, unneeded
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        switch self {
        case .trouble(let trouble):
            try object.encode(Kind.trouble, forKey: .kind)
            try object.encode(trouble.rawValue, forKey: .trouble)
        case .refused(let refusal):
            try object.encode(Kind.refused, forKey: .kind)
            try object.encode(refusal.rawValue, forKey: .refusal)
        case .latency(let new, let old):
            try object.encode(Kind.latency, forKey: .kind)
            try object.encode(milliseconds: new, forKey: .latency)
            try object.encode(milliseconds: old, forKey: .insteadOf)
        case .ended(let end):
            try object.encode(Kind.ended, forKey: .kind)
            try object.encode(end.error, forKey: .error)
            try object.encode(end.reset?.code, forKey: .reset)
            try object.encode(end.isTransient, forKey: .transient)
        case .preferred: try object.encode(Kind.preferred, forKey: .kind)
        case .stalled: try object.encode(Kind.stalled, forKey: .kind)
        case .stuck: try object.encode(Kind.stuck, forKey: .kind)
        case .unneeded: try object.encode(Kind.unneeded, forKey: .kind)
        }
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        func known<Value: RawRepresentable<String>>(_ key: Key) throws -> Value {
            let name = try object.decode(String.self, forKey: key)
            guard let value = Value(rawValue: name) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: object, debugDescription: "'\(name)' is not known")
            }
            return value
        }
        switch try object.decode(Kind.self, forKey: .kind) {
        case .trouble: self = .trouble(try known(.trouble))
        case .refused: self = .refused(try known(.refusal))
        case .latency:
            self = .latency(
                try object.decode(millisecondsForKey: .latency),
                insteadOf: try object.decode(millisecondsForKey: .insteadOf))
        case .ended:
            self = .ended(
                SubflowEnd(
                    error: try object.decodeIfPresent(Int32.self, forKey: .error),
                    reset: try object.decodeIfPresent(UInt8.self, forKey: .reset).map(ResetReason.init),
                    isTransient: try object.decode(Bool.self, forKey: .transient)))
        case .preferred: self = .preferred
        case .stalled: self = .stalled
        case .stuck: self = .stuck
        case .unneeded: self = .unneeded
        }
    }
}
