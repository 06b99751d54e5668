/// What happens to the subflows of a connection that is steered.
public enum SteeringEvent: Sendable, Hashable {
    /// A path has a subflow now, standing by or carrying.
    case joined(PathID)
    /// A path has none any more.
    case left(PathID, because: MoveReason)
    /// The data goes another way.
    case moved(from: PathID, to: PathID, because: MoveReason)
    /// A path that has data on it is too quiet; it is being asked whether it lives.
    case suspected(PathID, PathTrouble)
    /// It lives.
    case cleared(PathID)
    /// A path carries nothing any more.
    case failed(PathID, PathTrouble)
    /// A path that had failed answers again. It carries again when it has kept that up for a while.
    case answered(PathID)
    /// No path is left. The data is kept, and goes on as soon as an allowed path appears.
    case stranded
    /// The connection was without a path for as long as `pathLossTimeout` allows.
    case pathLossTimedOut(after: Duration)
}

extension SteeringEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .joined(let path): "\(path) joined"
        case .left(let path, let reason): "\(path) left: \(reason)"
        case .moved(let old, let new, let reason): "moved from \(old) to \(new): \(reason)"
        case .suspected(let path, let trouble): "\(path) is suspect: \(trouble.words)"
        case .cleared(let path): "\(path) is well"
        case .failed(let path, let trouble): "\(path) failed: \(trouble.words)"
        case .answered(let path): "\(path) answers again"
        case .stranded: "no path is left; waiting for one"
        case .pathLossTimedOut(let patience): "gave up after \(patience.inSeconds) s without a path"
        }
    }

    /// For machines to read: "moved".
    public var name: String {
        switch self {
        case .joined: "joined"
        case .left: "left"
        case .moved: "moved"
        case .suspected: "suspected"
        case .cleared: "cleared"
        case .failed: "failed"
        case .answered: "answered"
        case .stranded: "stranded"
        case .pathLossTimedOut: "path_loss_timed_out"
        }
    }

    /// For machines to read: what it is about.
    public var fields: [String: String] {
        switch self {
        case .joined(let path), .cleared(let path), .answered(let path): ["interface": path.name]
        case .left(let path, let reason): ["interface": path.name, "reason": "\(reason)"]
        case .moved(let old, let new, let reason):
            ["from": old.name, "to": new.name, "reason": "\(reason)"]
        case .suspected(let path, let trouble), .failed(let path, let trouble):
            ["interface": path.name, "reason": trouble.rawValue]
        case .stranded: [:]
        case .pathLossTimedOut(let patience): ["seconds": "\(patience.inSeconds)"]
        }
    }
}

/// Why data goes another way.
public enum MoveReason: Sendable, Hashable, CustomStringConvertible {
    /// The path it took is in trouble.
    case trouble(PathTrouble)
    /// The path it took is not allowed any more.
    case refused(PathPolicy.Refusal)
    /// A path that is liked better works, or works again.
    case preferred
    /// Another path answers sooner: the expected times of both.
    case latency(Duration, insteadOf: Duration)
    /// The path it took has become too slow all of a sudden.
    case stalled
    /// The peer, or something on the way, ended the subflow.
    case ended(SubflowEnd)
    /// The path answers, but its subflow does not get through any more: a translator forgot it, for one.
    case stuck
    /// The path is not needed just now, and costs something.
    case unneeded

    public var description: String {
        switch self {
        case .trouble(let trouble): trouble.words
        case .refused(let refusal): "not allowed any more: \(refusal)"
        case .preferred: "the preferred path works"
        case .latency(let new, let old):
            "\(Self.milliseconds(new)) ms instead of \(Self.milliseconds(old)) ms"
        case .stalled: "it stalled"
        case .ended(let end): "its subflow ended\(end.reset.map { " \($0)" } ?? "")"
        case .stuck: "its subflow is stuck"
        case .unneeded: "not needed now"
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        (duration.wholeNanoseconds + 500_000) / 1_000_000
    }
}
