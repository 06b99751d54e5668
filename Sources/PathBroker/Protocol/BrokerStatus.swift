import PathCore

/// Why a client was dropped.
package enum BrokerDrop: String, Sendable, Hashable, CaseIterable {
    case tooManyClients = "too_many_clients"
    case tooFast = "too_fast"
    case malformed
    case version
    case slowReader = "slow_reader"
}

/// What the daemon is doing, and has done since it started.
package struct BrokerStatus: Sendable, Hashable {
    package struct Client: Sendable, Hashable {
        package var process: Int32
        package var user: UInt32
        package var connections: Int
        package var prepares: UInt64
        package var orders: UInt64
        package var refusals: UInt64
    }

    /// Those that the one who asks may see: its own, and for root all. By the numbers of their processes.
    package var clients: [Client] = []
    /// Clients of all users.
    package var clientCount = 0
    /// Connections of all users that are attached.
    package var connectionCount = 0
    package var prepares: UInt64 = 0
    package var orders: UInt64 = 0
    package var events: UInt64 = 0
    /// How often a client held a socket up, so that the watchdog put the setting back.
    package var heldUp: UInt64 = 0
    /// How often each refusal was given.
    package var refusals: [BrokerRefusal: UInt64] = [:]
    /// How often clients were dropped, by the reason.
    package var drops: [BrokerDrop: UInt64] = [:]

    package init() {}

    var json: JSONObject {
        var object = JSONObject()
        object.put("client_count", clientCount)
        object.put("connection_count", connectionCount)
        object.put("prepares", prepares)
        object.put("orders", orders)
        object.put("events", events)
        object.put("held_up", heldUp)
        var refused = JSONObject()
        for (refusal, count) in refusals.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            refused.put(refusal.rawValue, count)
        }
        object.put("refusals", refused)
        var dropped = JSONObject()
        for (drop, count) in drops.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            dropped.put(drop.rawValue, count)
        }
        object.put("drops", dropped)
        object.put("clients", clients.map(\.json))
        return object
    }

    /// One JSON object on one line.
    package var jsonLine: String { json.line }

    init?(_ object: SmallJSON) {
        guard let clientCount = object["client_count"]?.number(Int.self),
            let connectionCount = object["connection_count"]?.number(Int.self),
            let list = object["clients"]?.elements
        else { return nil }
        self.clientCount = clientCount
        self.connectionCount = connectionCount
        prepares = object["prepares"]?.number() ?? 0
        orders = object["orders"]?.number() ?? 0
        events = object["events"]?.number() ?? 0
        heldUp = object["held_up"]?.number() ?? 0
        for refusal in BrokerRefusal.allCases {
            refusals[refusal] = object["refusals"]?[refusal.rawValue]?.number()
        }
        for drop in BrokerDrop.allCases { drops[drop] = object["drops"]?[drop.rawValue]?.number() }
        clients = list.compactMap { Client($0) }
    }
}

extension BrokerStatus.Client {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.put("pid", process)
        object.put("uid", user)
        object.put("connections", connections)
        object.put("prepares", prepares)
        object.put("orders", orders)
        object.put("refusals", refusals)
        return object
    }

    fileprivate init?(_ object: SmallJSON) {
        guard let process = object["pid"]?.number(Int32.self), let user = object["uid"]?.number(UInt32.self),
            let connections = object["connections"]?.number(Int.self)
        else { return nil }
        self.init(
            process: process, user: user, connections: connections,
            prepares: object["prepares"]?.number() ?? 0, orders: object["orders"]?.number() ?? 0,
            refusals: object["refusals"]?.number() ?? 0)
    }
}
