import PathCore

extension BrokerMessage {
    /// The packet of a message.
    package var packet: [UInt8] {
        var object = JSONObject()
        switch self {
        case .welcome(let id, let welcome):
            object.put("id", id)
            object.put("ok", true)
            welcome.put(into: &object)
        case .done(let id):
            object.put("id", id)
            object.put("ok", true)
        case .refused(let id, let failure):
            object.put("id", id)
            object.put("ok", false)
            object.put("error", failure.refusal.rawValue)
            object.put("text", failure.detail ?? failure.refusal.text)
            object.put("errno", failure.errno)
        case .status(let id, let status):
            object.put("id", id)
            object.put("ok", true)
            object.put("status", status.json)
        case .event(let event): event.put(into: &object)
        }
        return Array(object.line.utf8)
    }

    /// Reads a message of the daemon's; nil for one that is none, or that this library does not know.
    package init?(_ bytes: [UInt8]) {
        guard let object = SmallJSON(packet: bytes) else { return nil }
        if object["event"] != nil {
            guard let event = SubflowEvent(object) else { return nil }
            self = .event(event)
            return
        }
        guard let id = object["id"]?.number(UInt32.self), let isDone = object["ok"]?.bool else { return nil }
        guard isDone else {
            // A later daemon may have other reasons.
            let refusal = object["error"]?.string.flatMap(BrokerRefusal.init(rawValue:)) ?? .kernel
            self = .refused(
                id: id,
                BrokerFailure(refusal, errno: object["errno"]?.number(), detail: object["text"]?.string))
            return
        }
        if let welcome = BrokerWelcome(object) {
            self = .welcome(id: id, welcome)
        } else if let status = object["status"].flatMap({ BrokerStatus($0) }) {
            self = .status(id: id, status)
        } else {
            self = .done(id: id)
        }
    }
}

extension BrokerWelcome {
    fileprivate func put(into object: inout JSONObject) {
        object.put("version", BrokerProtocol.version)
        object.put("netns", namespace)
        object.put("boot", boot)
        object.put("limits", limits.json)
    }

    fileprivate init?(_ object: SmallJSON) {
        guard let namespace = object["netns"]?.number(UInt64.self), let boot = object["boot"]?.string,
            let limits = object["limits"].flatMap({ BrokerLimits($0) })
        else { return nil }
        self.init(namespace: namespace, boot: boot, limits: limits)
    }
}

// MARK: Events

extension SubflowEvent {
    fileprivate func put(into object: inout JSONObject) {
        object.put("event", name)
        object.put("token", token?.value)
        switch self {
        case .created(_, let subflow, let isServer, let deniesJoin),
            .established(_, let subflow, let isServer, let deniesJoin):
            subflow.put(into: &object)
            object.put("server", isServer)
            object.put("denies_join", deniesJoin)
        case .announced(_, let id, let remote):
            object.put("remote_id", id)
            object.put("remote", remote.description)
        case .removed(_, let id): object.put("remote_id", id)
        case .subflowEstablished(_, let subflow, let error):
            subflow.put(into: &object)
            object.put("errno", error)
        case .subflowClosed(_, let subflow, let end):
            subflow.put(into: &object)
            object.put("errno", end.error)
            object.put("reset", end.reset?.code)
            object.put("transient", end.isTransient)
        case .subflowPriority(_, let subflow): subflow.put(into: &object)
        case .listenerCreated(let endpoint), .listenerClosed(let endpoint):
            object.put("local", endpoint.description)
        case .closed, .lost: break
        }
    }

    private var name: String {
        switch self {
        case .created: "created"
        case .established: "established"
        case .closed: "closed"
        case .announced: "announced"
        case .removed: "removed"
        case .subflowEstablished: "subflow_established"
        case .subflowClosed: "subflow_closed"
        case .subflowPriority: "subflow_priority"
        case .listenerCreated: "listener_created"
        case .listenerClosed: "listener_closed"
        case .lost: "lost"
        }
    }

    fileprivate init?(_ object: SmallJSON) {
        let name = object["event"]?.string
        if name == "lost" {
            self = .lost
            return
        }
        guard let token = object["token"]?.number(UInt32.self).map(ConnectionToken.init) else { return nil }
        let id = object["remote_id"]?.number(UInt8.self)
        switch (name, id, SubflowFacts(object)) {
        case ("closed", _, _): self = .closed(token)
        case ("announced", let id?, _):
            guard let remote = object["remote"]?.endpoint else { return nil }
            self = .announced(token, remoteID: id, remote)
        case ("removed", let id?, _): self = .removed(token, remoteID: id)
        case ("created", _, let subflow?), ("established", _, let subflow?):
            let isServer = object["server"]?.bool ?? false
            let deniesJoin = object["denies_join"]?.bool ?? false
            self =
                name == "created"
                ? .created(token, subflow, isServer: isServer, deniesJoinToFirst: deniesJoin)
                : .established(token, subflow, isServer: isServer, deniesJoinToFirst: deniesJoin)
        case ("subflow_established", _, let subflow?):
            self = .subflowEstablished(token, subflow, error: object["errno"]?.number())
        case ("subflow_closed", _, let subflow?):
            self = .subflowClosed(
                token, subflow,
                SubflowEnd(
                    error: object["errno"]?.number(),
                    reset: object["reset"]?.number(UInt8.self).map(ResetReason.init(code:)),
                    isTransient: object["transient"]?.bool ?? false))
        case ("subflow_priority", _, let subflow?): self = .subflowPriority(token, subflow)
        default: return nil
        }
    }
}

extension SubflowFacts {
    fileprivate func put(into object: inout JSONObject) {
        object.put("local", local.description)
        object.put("remote", remote.description)
        object.put("local_id", localID)
        object.put("remote_id", remoteID)
        if let isBackup { object.put("backup", isBackup) }
        object.put("interface", interface)
    }

    fileprivate init?(_ object: SmallJSON) {
        guard let local = object["local"]?.endpoint, let remote = object["remote"]?.endpoint else {
            return nil
        }
        self.init(
            local: local, remote: remote, localID: object["local_id"]?.number(),
            remoteID: object["remote_id"]?.number(), isBackup: object["backup"]?.bool,
            interface: object["interface"]?.number())
    }
}
