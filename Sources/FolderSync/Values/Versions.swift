/// A file's content, as the SHA-256 in lower-case hexadecimal.
public struct ContentHash: Sendable, Hashable, CustomStringConvertible {
    /// 64 digits.
    public let text: String

    /// Takes the digits as they are.
    public init(_ text: String) { self.text = text }

    public var description: String { text }
}

/// What tells one state of a local file from another without reading it: stat's numbers (stat(2)).
public struct LocalVersion: Sendable, Hashable, Codable {
    /// In bytes.
    public var size: Int64
    /// st_mtim in nanoseconds since 1970.
    public var modified: Int64
    /// st_ctim in nanoseconds since 1970: no program can set it back.
    public var changed: Int64
    /// st_ino.
    public var inode: UInt64

    /// All numbers.
    public init(size: Int64, modified: Int64, changed: Int64, inode: UInt64) {
        self.size = size
        self.modified = modified
        self.changed = changed
        self.inode = inode
    }

    /// Whether this is the same file as it was, perhaps under another name: a rename changes `changed` only.
    func isSameFile(as other: LocalVersion) -> Bool {
        size == other.size && modified == other.modified && inode == other.inode
    }
}

/// What tells one state of a file on the server from another: what PROPFIND says of it (RFC 4918 section 15).
public struct RemoteVersion: Sendable, Hashable, Codable {
    /// getetag, with its quotes, `W/` before a weak one; nil where the server has none.
    public var tag: String?
    /// getcontentlength, in bytes; nil where the server does not say.
    public var size: Int64?
    /// getlastmodified, as the server writes it.
    public var modified: String?

    /// All of it.
    public init(tag: String?, size: Int64?, modified: String?) {
        self.tag = tag
        self.size = size
        self.modified = modified
    }

    /// Whether the other is the same state: by its entity tag where both have one, else by size and time.
    public func matches(_ other: RemoteVersion) -> Bool {
        if let tag = opaqueTag, let otherTag = other.opaqueTag {
            guard tag == otherTag, size == nil || other.size == nil || size == other.size else {
                return false
            }
            return !isCoarse || modified == nil || other.modified == nil || modified == other.modified
        }
        return size == other.size && modified == other.modified
    }

    /// The tag without its mark of weakness: Apache's tag of a file that is younger than a second is weak, and the same but
    /// strong from then on.
    var opaqueTag: String? { tag.map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 } }

    /// A strong entity tag (RFC 9110 section 8.8.3); nil for a weak one.
    public var strongTag: String? { tag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }
}

/// A local file or folder, as a scan found it.
public enum LocalItem: Sendable, Hashable {
    case folder
    /// The content is nil where the file differs from what was agreed, and was not read.
    case file(LocalVersion, ContentHash?)
    /// Something that is not kept the same: a symbolic link, a device, a file of another file system. It keeps its name.
    case other

    var isFolder: Bool { self == .folder }
}

/// A file or a folder on the server.
public enum RemoteItem: Sendable, Hashable {
    case folder
    case file(RemoteVersion)

    var isFolder: Bool { self == .folder }
}

/// What both sides had when they were the same.
public enum AgreedItem: Sendable, Hashable {
    case folder
    case file(LocalVersion, RemoteVersion, ContentHash)

    var isFolder: Bool { self == .folder }
}

/// What this program was about to put somewhere when it noted it. Where both sides have it, they agree, whatever came between.
public struct Intent: Sendable, Hashable {
    /// What was to be on both sides.
    public var content: ContentHash
    /// As the server has it.
    public var remote: RemoteVersion

    /// Both sides of it.
    public init(content: ContentHash, remote: RemoteVersion) {
        self.content = content
        self.remote = remote
    }
}

/// Which way changes go.
public enum SyncDirection: String, Sendable, Hashable, CaseIterable {
    /// From the folder to the server.
    case push
    /// From the server to the folder.
    case pull
    /// Both ways.
    case both

    var pushes: Bool { self != .pull }
    var pulls: Bool { self != .push }

    /// Whether the other side gets what changes on this one.
    func carries(from side: SyncSide) -> Bool { side == .here ? pushes : pulls }
}

/// One of the two sides that are kept the same.
enum SyncSide: CaseIterable {
    /// The folder.
    case here
    /// The server.
    case there

    var other: SyncSide { self == .here ? .there : .here }
}
