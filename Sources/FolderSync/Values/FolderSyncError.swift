/// Why a folder and a server can't be kept the same at all. What concerns single files is a `SyncTrouble`.
public enum FolderSyncError: Error, Sendable, CustomStringConvertible {
    /// Another process keeps this folder the same.
    case inUse(String)
    /// The record can't be read or written.
    case record(String)
    /// The record is another server's.
    case otherServer(recorded: String, asked: String)
    /// The server's URL can't be used.
    case invalidURL(String)
    /// The server did not do what a WebDAV server does.
    case server(String)

    public var description: String {
        switch self {
        case .inUse(let path):
            "another mpsync keeps \(path) the same; wait for it to end, or end it"
        case .record(let reason):
            "the record in .mpsync can't be used: \(reason)"
        case .otherServer(let recorded, let asked):
            """
            this folder is kept the same as \(recorded), not \(asked); to begin anew with the other server, delete the \
            folder .mpsync in it
            """
        case .invalidURL(let reason): reason
        case .server(let reason): reason
        }
    }
}
