import PathCore

extension BrokerRequest {
    /// The packet of a request.
    package func packet(id: UInt32) -> [UInt8] {
        var object = JSONObject()
        object.put("v", BrokerProtocol.version)
        object.put("id", id)
        switch self {
        case .hello: object.put("op", "hello")
        case .prepare: object.put("op", "prepare")
        case .prepareBy(let time):
            object.put("op", "prepare")
            object.put("by", time.nanoseconds)
        case .attach(let token):
            object.put("op", "attach")
            object.put("token", token.value)
        case .detach(let token):
            object.put("op", "detach")
            object.put("token", token.value)
        case .order(let action, let token): action.put(token, into: &object)
        case .status: object.put("op", "status")
        }
        return Array(object.line.utf8)
    }

    /// A packet of a client's: anything may be in it.
    ///
    /// - Returns: the request's number, 0 where the packet has none, and the request or what is wrong with it.
    package static func read(_ bytes: [UInt8]) -> (id: UInt32, Result<BrokerRequest, BrokerRefusal>) {
        guard bytes.count <= BrokerProtocol.longestRequest else { return (0, .failure(.tooLong)) }
        guard let object = SmallJSON(packet: bytes), let id = object["id"]?.number(UInt32.self) else {
            return (0, .failure(.malformed))
        }
        guard let version = object["v"]?.number(Int.self), let name = object["op"]?.string else {
            return (id, .failure(.malformed))
        }
        guard version == BrokerProtocol.version else { return (id, .failure(.version)) }
        return (id, request(name, object))
    }

    private static func request(_ name: String, _ object: SmallJSON) -> Result<BrokerRequest, BrokerRefusal> {
        switch name {
        case "hello": return .success(.hello)
        case "prepare":
            guard let member = object["by"] else { return .success(.prepare) }
            guard let time = member.number(Int64.self), time >= 0 else { return .failure(.malformed) }
            return .success(.prepareBy(MonotonicTime(nanoseconds: time)))
        case "status": return .success(.status)
        case "attach", "detach", "create", "remove", "destroy", "priority", "announce": break
        default: return .failure(.unknownRequest)
        }
        guard let token = object["token"]?.number(UInt32.self).map(ConnectionToken.init) else {
            return .failure(.malformed)
        }
        switch name {
        case "attach": return .success(.attach(token))
        case "detach": return .success(.detach(token))
        default:
            guard let action = SubflowAction(name, object) else { return .failure(.malformed) }
            return .success(.order(action, token))
        }
    }
}

extension SubflowAction {
    fileprivate func put(_ token: ConnectionToken, into object: inout JSONObject) {
        switch self {
        case .create(let local, let isBackup, let remote):
            object.put("op", "create")
            local.put(into: &object)
            object.put("backup", isBackup)
            object.put("remote", remote.description)
        case .withdraw(let local):
            object.put("op", "remove")
            local.put(into: &object)
        case .destroy(let local, let remote):
            object.put("op", "destroy")
            object.put("local", local.description)
            object.put("remote", remote.description)
        case .reset(let local, let remote, let interface):
            // A daemon that knows no resets destroys it.
            object.put("op", "destroy")
            object.put("local", local.description)
            object.put("remote", remote.description)
            object.put("reset", interface)
        case .prioritize(let local, let remote, let isBackup):
            object.put("op", "priority")
            object.put("local", local.description)
            object.put("remote", remote.description)
            object.put("backup", isBackup)
        case .announce(let local):
            object.put("op", "announce")
            local.put(into: &object)
        }
        object.put("token", token.value)
    }

    fileprivate init?(_ name: String, _ object: SmallJSON) {
        switch name {
        case "create":
            guard let local = LocalAddress(object), let remote = object["remote"]?.endpoint,
                let isBackup = object["backup"]?.bool, local.address.family == remote.address.family
            else { return nil }
            self = .create(local, isBackup: isBackup, remote: remote)
        case "remove", "announce":
            guard let local = LocalAddress(object) else { return nil }
            self = name == "remove" ? .withdraw(local) : .announce(local)
        default:
            guard let local = object["local"]?.endpoint, let remote = object["remote"]?.endpoint,
                local.address.family == remote.address.family
            else { return nil }
            if name == "destroy" {
                guard let member = object["reset"] else {
                    self = .destroy(local: local, remote: remote)
                    return
                }
                guard let interface = member.interface else { return nil }
                self = .reset(local: local, remote: remote, interface: interface)
            } else {
                guard let isBackup = object["backup"]?.bool else { return nil }
                self = .prioritize(local: local, remote: remote, isBackup: isBackup)
            }
        }
    }
}

extension SubflowAction.LocalAddress {
    fileprivate func put(into object: inout JSONObject) {
        object.put("address", address.description)
        object.put("address_id", id)
        object.put("interface", interface)
    }

    fileprivate init?(_ object: SmallJSON) {
        guard let address = object["address"]?.string.flatMap({ IPAddress($0) }),
            let id = object["address_id"]?.number(UInt8.self)
        else { return nil }
        var interface: UInt32?
        if let member = object["interface"] {
            guard let index = member.interface else { return nil }
            interface = index
        }
        self.init(address, id: id, interface: interface)
    }
}

extension SmallJSON {
    var endpoint: IPEndpoint? { string.flatMap { IPEndpoint($0) } }

    /// The kernel takes an interface's index as a number with a sign.
    var interface: UInt32? {
        guard let index = number(Int32.self), index > 0 else { return nil }
        return UInt32(index)
    }
}
