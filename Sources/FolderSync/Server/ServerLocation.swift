/// Where the server's folder is, and how a path in it is written in a request.
public struct ServerLocation: Sendable, Hashable, CustomStringConvertible {
    /// "http" or "https".
    public let scheme: String
    /// The host, without brackets.
    public let host: String
    /// Host and port, as in the URL.
    public let authority: String
    /// The parts of the folder's path, decoded.
    let base: [String]

    /// Reads a URL: `https://cloud.example/dav/`. Who may come in is told apart from it.
    ///
    /// - Throws: `FolderSyncError.invalidURL`.
    public init(_ url: String) throws(FolderSyncError) {
        guard let colon = url.firstRange(of: "://") else {
            throw .invalidURL("'\(url)' is no URL of a server; write one as https://cloud.example/dav/")
        }
        let scheme = url[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw .invalidURL("'\(url)': a WebDAV server's URL begins with https:// or http://")
        }
        let rest = url[colon.upperBound...]
        let authority = Self.authority(rest)
        guard !authority.isEmpty else { throw .invalidURL("'\(url)' names no host") }
        guard !authority.contains("@") else {
            throw .invalidURL("a user's name does not belong in the URL; say --user NAME")
        }
        guard !rest.contains("?"), !rest.contains("#") else {
            throw .invalidURL("'\(url)': a folder's URL has no '?' and no '#'")
        }
        self.scheme = scheme
        self.authority = String(authority)
        let withoutPort =
            authority.hasPrefix("[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        host = withoutPort.lowercased()
        guard let base = Self.decode(rest[authority.endIndex...]) else {
            throw .invalidURL("'\(url)': the path can't be read")
        }
        self.base = base
    }

    /// Whether the server is on this machine, by its address or the name `localhost`.
    public var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    public var description: String { "\(scheme)://\(authority)\(encoded(nil, isFolder: true))" }

    // MARK: Out

    /// What stands in a request for a path; nil for the folder itself.
    func encoded(_ path: SyncPath?, isFolder: Bool) -> String {
        let parts = base + (path.map { Self.parts($0.text) } ?? [])
        let text = "/" + parts.map(Self.encode).joined(separator: "/")
        return isFolder && text != "/" ? text + "/" : text
    }

    func url(_ path: SyncPath?, isFolder: Bool) -> String {
        "\(scheme)://\(authority)\(encoded(path, isFolder: isFolder))"
    }

    /// All but RFC 3986's unreserved characters as `%XX`.
    private static func encode(_ part: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in part.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: In

    /// What a server's href means (RFC 4918 section 8.3).
    enum Reference: Hashable {
        case root
        case path(SyncPath)
        /// It leads to no name that a file here could have.
        case unusable(String)
        /// It leads elsewhere. What it should have said is not known then.
        case elsewhere(String)
    }

    /// A listing's href: an absolute path, or a URL of this server.
    func reference(_ href: String) -> Reference {
        var path = Substring(href)
        if let colon = href.firstRange(of: "://"), href.utf8.first != UInt8(ascii: "/") {
            let other = Self.authority(href[colon.upperBound...])
            guard
                Self.plain(String(other), href[..<colon.lowerBound].lowercased())
                    == Self.plain(authority, scheme)
            else { return .elsewhere("it is on another server") }
            path = href[other.endIndex...]
        }
        guard path.utf8.first ?? UInt8(ascii: "/") == UInt8(ascii: "/") else {
            return .elsewhere("it is no absolute path")
        }
        guard let parts = Self.decode(path) else {
            return .unusable("the name is not UTF-8, or has a slash or an empty part")
        }
        guard parts.count >= base.count,
            zip(parts, base).allSatisfy({ $0.utf8.elementsEqual($1.utf8) })
        else { return .elsewhere("it is outside of the folder") }
        guard parts.count > base.count else { return .root }
        do throws(SyncPath.Malformed) {
            return .path(try SyncPath(parts.dropFirst(base.count).joined(separator: "/")))
        } catch {
            return .unusable("\(error)")
        }
    }

    private static func authority(_ text: Substring) -> Substring {
        let end = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        return text[..<end]
    }

    /// The parts of a path, by its bytes.
    static func parts(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).compactMap { String(Substring($0)) }
    }

    /// The host in lower case, with its port.
    private static func plain(_ authority: String, _ scheme: String) -> String {
        let port = scheme == "https" ? ":443" : ":80"
        let lower = authority.lowercased()
        return scheme + lower + (lower.hasSuffix("]") || !lower.contains(":") ? port : "")
    }

    /// The parts of a path; nil where a part is empty but for the last, holds a slash or is not UTF-8.
    private static func decode(_ path: Substring) -> [String]? {
        // By bytes: a slash and a combining mark after it are one Character.
        var parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst()
        if parts.last?.isEmpty == true { parts.removeLast() }
        var decoded: [String] = []
        for part in parts {
            var bytes: [UInt8] = []
            var rest = part[...]
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "%") else {
                    bytes.append(byte)
                    continue
                }
                let digits = rest.prefix(2)
                guard digits.count == 2, let text = String(digits), let value = UInt8(text, radix: 16),
                    value != UInt8(ascii: "/")
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            }
            guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
            decoded.append(text)
        }
        return decoded
    }
}
