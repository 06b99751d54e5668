/// Something that a run tells while it goes on.
public enum SyncEvent: Sendable {
    /// No path is allowed; for each interface the reason.
    case waiting([String])
    /// A path is allowed (again): its interface.
    case resumed(String)
    /// What the server can do.
    case server(String)
    /// A pass begins: so many actions, so many bytes to transfer.
    case planned(actions: Int, bytes: Int64)
    /// An action is done.
    case done(SyncAction)
    /// Both versions of a file are kept: the other one under this name.
    case conflict(SyncPath, keptAs: SyncPath)
    /// A transfer goes on where it was: so many bytes are there already.
    case continued(SyncPath, at: Int64)
    /// A transfer that was interrupted begins anew, and why.
    case restarted(SyncPath, String)
    /// A file has changed while it was sent, and is sent again.
    case changedWhileSent(SyncPath)
    /// Bytes that were transferred.
    case transferred(Int64)
    /// Something is not the same.
    case trouble(SyncTrouble)
    /// Watching: a run is over, and the next waits for a change.
    case idle(SyncSummary)
}

/// How a run went.
public struct SyncSummary: Sendable, Hashable {
    /// Files sent, with their bytes.
    public var uploads = 0
    /// Files fetched.
    public var downloads = 0
    /// Bytes sent of files.
    public var bytesSent: Int64 = 0
    /// Bytes received of files.
    public var bytesReceived: Int64 = 0
    /// Files renamed on one side because they were on the other.
    public var moves = 0
    /// Files and folders deleted.
    public var deletions = 0
    /// Both versions were kept.
    public var conflicts = 0
    /// Differences that the direction leaves alone.
    public var left = 0
    /// Requests sent, those that were sent again included.
    public var requests = 0
    /// Files and folders that are the same now.
    public var same = 0
    /// What is not the same, and why.
    public var troubles: [SyncTrouble] = []

    /// Nothing yet.
    public init() {}
}
