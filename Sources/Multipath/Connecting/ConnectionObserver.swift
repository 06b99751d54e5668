/// Hears of the connections that a `Connector` makes: for metrics, for traces, for a log of one's own.
///
/// It is asked in the task that connects, whose task-local values are its own, and never on the thread that
/// runs every race of the process: an observer can hold up only the connection that it is told of. What the race did
/// meanwhile is in the report or the error, each attempt with its start and its duration. A connector without
/// observers spends nothing on them.
public protocol ConnectionObserver: Sendable {
    /// A connection is asked for. All durations of its report count from here.
    ///
    /// - Returns: what hears of the rest; nil where the observer does not want to.
    func connecting(
        host: String, port: Int, _ configuration: ConnectionConfiguration
    ) -> (any ConnectionObservation)?
}

/// Hears what becomes of one connection: `connected` and later `closed`, or `failed`, each once.
public protocol ConnectionObservation: Sendable {
    /// No path can be used, and the connection waits for one (`waitsForPath`): the reason for each interface. It may be
    /// called again after a path came and went. Unlike the others it is called on the thread that runs every race and
    /// monitor of the process, and must not block.
    func waiting(_ omissions: [PathOmission])
    /// It came about, `duration` after it was asked for.
    func connected(_ report: EstablishmentReport)
    /// It did not. A cancelled one is among those, with the code `.cancelled`.
    func failed(_ error: ConnectionError)
    /// It has ended, with all it carried. Told where its `ConnectionFollower` stops: for SwiftNIO's channels on
    /// the event loop, as they close; for a descriptor of one's own when its owner says so, or lets go of the
    /// follower; at once where it is not followed.
    func closed(_ report: TransferReport)
}

extension ConnectionObservation {
    /// Does nothing.
    public func waiting(_ omissions: [PathOmission]) {}
    /// Does nothing.
    public func connected(_ report: EstablishmentReport) {}
    /// Does nothing.
    public func failed(_ error: ConnectionError) {}
    /// Does nothing.
    public func closed(_ report: TransferReport) {}
}
