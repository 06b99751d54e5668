/// One thing to do, with what must still be true when it is done: the version that is replaced, moved or deleted.
public enum SyncAction: Sendable, Hashable {
    case makeLocalFolder(SyncPath)
    case makeRemoteFolder(SyncPath)
    /// Nil for a name that is new on the server.
    case upload(SyncPath, LocalVersion, replacing: RemoteVersion?)
    /// Nil for a name that is new here.
    case download(SyncPath, RemoteVersion, replacing: LocalVersion?)
    /// Both sides have the file, and nothing says whether it is the same: the contents do.
    case compare(SyncPath, LocalVersion, RemoteVersion)
    /// A rename on the other side.
    case moveLocal(SyncPath, to: SyncPath, LocalVersion, RemoteVersion, ContentHash)
    case moveRemote(SyncPath, to: SyncPath, LocalVersion, RemoteVersion, ContentHash)
    case deleteLocal(SyncPath, LocalVersion)
    case deleteRemote(SyncPath, RemoteVersion)
    case deleteLocalFolder(SyncPath)
    case deleteRemoteFolder(SyncPath)
    /// A conflict: the local file or folder gets another name, under which it is kept.
    case keepLocalAs(SyncPath, to: SyncPath)
    /// The same on the server.
    case keepRemoteAs(SyncPath, to: SyncPath)
    /// Both sides are the same here: only the record is written.
    case agree(SyncPath, AgreedItem)
    /// Neither side has it any more.
    case forget(SyncPath)

    /// Where it takes place.
    public var path: SyncPath {
        switch self {
        case .makeLocalFolder(let path), .makeRemoteFolder(let path), .upload(let path, _, _),
            .download(let path, _, _), .compare(let path, _, _), .moveLocal(let path, _, _, _, _),
            .moveRemote(let path, _, _, _, _), .deleteLocal(let path, _), .deleteRemote(let path, _),
            .deleteLocalFolder(let path), .deleteRemoteFolder(let path), .keepLocalAs(let path, _),
            .keepRemoteAs(let path, _), .agree(let path, _), .forget(let path):
            path
        }
    }

    /// Actions of an earlier phase are over before the next begins; those of one may run at a time, except that folders are
    /// made and deleted in the plan's order.
    enum Phase: Int, CaseIterable {
        case record
        case conflicts
        case folders
        case moves
        case transfers
        case deletions
        case emptyFolders
    }

    var phase: Phase {
        switch self {
        case .agree, .forget: .record
        case .keepLocalAs, .keepRemoteAs: .conflicts
        case .makeLocalFolder, .makeRemoteFolder: .folders
        case .moveLocal, .moveRemote: .moves
        case .upload, .download, .compare: .transfers
        case .deleteLocal, .deleteRemote: .deletions
        case .deleteLocalFolder, .deleteRemoteFolder: .emptyFolders
        }
    }

    /// Whether the server has to be told which version it may replace or delete.
    var needsCondition: Bool {
        switch self {
        case .upload(_, _, let replaced): replaced != nil
        case .deleteRemote: true
        default: false
        }
    }

    var isDeletion: Bool { phase == .deletions || phase == .emptyFolders }
}

/// Something that is not the same, and can't be made so.
public struct SyncTrouble: Sendable, Hashable, CustomStringConvertible {
    /// Where; nil for all of it.
    public var path: SyncPath?
    /// What is wrong, and where there is something to do about it, that.
    public var reason: String

    /// A place and a reason.
    public init(_ path: SyncPath?, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String { path.map { "\($0): \(reason)" } ?? reason }
}

/// What a pass is to do.
public struct SyncPlan: Sendable, Hashable {
    /// In the order of their phases.
    public var actions: [SyncAction] = []
    /// What no action can mend.
    public var troubles: [SyncTrouble] = []
    /// Differences that the direction leaves alone.
    public var left = 0

    /// What is there to transfer, delete or move: records alone are no work.
    var hasWork: Bool { actions.contains { $0.phase != .record } }
}
