/// What happens to a connection: an element of `ConnectionEvents`.
public enum ConnectionEvent: Sendable, Hashable {
    /// The connection came about, and how. A connection that was accepted has no such event.
    case established(EstablishmentReport)
    /// The connection is plain TCP, and why: from its beginning, or from now on (`FallbackReason.afterHandshake`).
    case fallback(FallbackReason)
    /// The connection's path does not carry it any more, and why, or carries it again. For MPTCP: no path is left.
    case viabilityChanged(isViable: Bool, reason: PathTrouble?)
    /// A plain TCP connection made now would take another path; nil when that is over.
    case betterPathAvailable(PathID?)
    /// Another path carries the connection now, or its tags (type, cost, constraint, their sources, whether it is allowed)
    /// are others.
    case pathChanged(ConnectionPath)
    /// The connection's path is one that its policy does not allow any more, and the connection does not leave it by
    /// itself: plain TCP at once, with the path that would be chosen now; MPTCP that is steered where it has nowhere to go.
    /// `ConnectionConfiguration.whenPathIsRefused` says whether the connection ends then.
    case pathNotAllowed(PathRefusal)
    /// No path is left that the connection may use, and it waits for one: the reason for each interface.
    case waiting([PathOmission])
    /// What happens to the subflows of an MPTCP connection that is steered.
    case steering(SteeringEvent)
    /// The consumer read too slowly: so many events were dropped here. What holds at this moment follows, as for a
    /// new consumer, then what happens from now on.
    case dropped(Int)
    /// The connection has ended, with all that it carried. No event follows.
    case closed(TransferReport)
}

extension ConnectionEvent: CustomStringConvertible {
    /// The event in words: `the path does not carry the connection: no answer`.
    public var description: String {
        switch self {
        case .established(let report): "\(report)"
        case .fallback(let reason): "\(Transport.tcp(fallback: reason))"
        case .viabilityChanged(true, _): "the path carries the connection again"
        case .viabilityChanged(false, let reason):
            "the path does not carry the connection" + (reason.map { ": \($0.words)" } ?? "")
        case .betterPathAvailable(let path?): "\(path) would be a better path"
        case .betterPathAvailable(nil): "no other path would be better any more"
        case .pathChanged(let path):
            "the path is \(path)" + (path.refusal.map { ", not allowed: \($0)" } ?? "")
        case .pathNotAllowed(let refusal): "\(refusal)"
        case .waiting(let omissions):
            "waiting for a path" + (omissions.isEmpty ? "" : " (\(Self.list(omissions)))")
        case .steering(let event): "\(event)"
        case .dropped(let count): "\(count) event\(count == 1 ? " was" : "s were") read too late, and dropped"
        case .closed(let report): "closed; \(report)"
        }
    }

    /// The event's name in JSON, such as `viability`.
    public var name: String {
        switch self {
        case .established: "established"
        case .fallback: "fallback"
        case .viabilityChanged: "viability"
        case .betterPathAvailable: "better_path"
        case .pathChanged: "path"
        case .pathNotAllowed: "path_not_allowed"
        case .waiting: "waiting"
        case .steering(let event): event.name
        case .dropped: "dropped"
        case .closed: "closed"
        }
    }

    /// What JSON says beside the name. Reports stand for themselves: `EstablishmentReport` and `TransferReport`
    /// are `Encodable`.
    public var fields: [String: String] {
        switch self {
        case .established, .closed: [:]
        case .fallback(let reason): ["reason": reason.rawValue]
        case .viabilityChanged(let isViable, let reason):
            ["viable": "\(isViable)", "reason": reason?.rawValue ?? ""]
        case .betterPathAvailable(let path): ["interface": path?.name ?? ""]
        case .pathChanged(let path): path.fields
        case .pathNotAllowed(let refusal):
            [
                "interface": refusal.path.name, "reason": refusal.reason.rawValue,
                "better_path": refusal.betterPath?.name ?? "",
            ]
        case .waiting(let omissions): ["interfaces": Self.list(omissions)]
        case .steering(let event): event.fields
        case .dropped(let count): ["count": "\(count)"]
        }
    }

    private static func list(_ omissions: [PathOmission]) -> String {
        omissions.map(\.description).joined(separator: "; ")
    }
}

extension ConnectionPath {
    /// For machines to read; `refusal` is empty where the path is allowed.
    fileprivate var fields: [String: String] {
        [
            "interface": id.name, "type": type.value.rawValue, "expensive": "\(isExpensive)",
            "expensive_source": expensive.source.rawValue, "constrained": "\(isConstrained)",
            "constrained_source": constrained.source.rawValue, "refusal": refusal?.rawValue ?? "",
        ]
    }
}
