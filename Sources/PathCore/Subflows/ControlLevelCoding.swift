// A level of control lies flat in the report it is part of:
//
//   "control": "observe_only", "control_limit": "no_privilege", "control_reason": "the process lacks …"
//
// `control_limit` is null where nothing limits it. `control_reason` is for people, and not read back but for the
// limits that say more than their name; those add `control_path`.

extension ControlLevel: Codable {
    private enum Key: String, CodingKey {
        case control
        case limit = "control_limit"
        case reason = "control_reason"
        case path = "control_path"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(name, forKey: .control)
        try object.encode(limit?.name, forKey: .limit)
        switch limit {
        case .settingReadOnly(let path, let reason):
            try object.encode(path, forKey: .path)
            try object.encode(reason, forKey: .reason)
        case .brokerRefused(let reason): try object.encode(reason, forKey: .reason)
        case let limit: try object.encode(limit?.description, forKey: .reason)
        }
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        func limit() throws -> ControlLimit {
            switch try object.decode(String.self, forKey: .limit) {
            case "setting_read_only":
                return .settingReadOnly(
                    path: try object.decode(String.self, forKey: .path),
                    reason: try object.decode(String.self, forKey: .reason))
            case "broker_refused": return .brokerRefused(try object.decode(String.self, forKey: .reason))
            case "failed": return .failed(try object.decode(String.self, forKey: .reason))
            case let name:
                guard let limit = ControlLimit.plain.first(where: { $0.name == name }) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .limit, in: object, debugDescription: "'\(name)' is no limit of control")
                }
                return limit
            }
        }
        switch try object.decode(String.self, forKey: .control) {
        case "per_connection": self = .perConnection
        case "per_connection_by_broker": self = .perConnectionByBroker
        case "system_wide": self = .systemWide(because: try limit())
        case "observe_only": self = .observeOnly(because: try limit())
        case let name:
            throw DecodingError.dataCorruptedError(
                forKey: .control, in: object, debugDescription: "'\(name)' is no level of control")
        }
    }
}

extension ControlLimit {
    /// Those that their name says all about.
    fileprivate static let plain: [ControlLimit] = [
        .noMPTCP, .mptcpDisabled, .noPrivilege, .elevatedProgram, .oldKernel, .settingUnjournalled,
        .settingBusy, .brokerSilent, .foreignSocket, .plainTCP, .notRequested,
    ]

    /// A name for machines to read.
    public var name: String {
        switch self {
        case .noMPTCP: "no_mptcp"
        case .mptcpDisabled: "mptcp_disabled"
        case .noPrivilege: "no_privilege"
        case .elevatedProgram: "elevated_program"
        case .oldKernel: "old_kernel"
        case .settingReadOnly: "setting_read_only"
        case .settingUnjournalled: "setting_unjournalled"
        case .settingBusy: "setting_busy"
        case .brokerRefused: "broker_refused"
        case .brokerSilent: "broker_silent"
        case .foreignSocket: "foreign_socket"
        case .plainTCP: "plain_tcp"
        case .notRequested: "not_requested"
        case .failed: "failed"
        }
    }
}
