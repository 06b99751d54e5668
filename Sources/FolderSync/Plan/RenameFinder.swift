/// Finds files that have another name on one side, and are untouched otherwise: the other side renames its own.
///
/// A rename here is certain: the same inode, and its content was read. One on the server is told by a strong entity tag that
/// no other file has, and that is a digest or a random number: a time with a size is not one file's own.
struct RenameFinder {
    struct Rename {
        var from: SyncPath
        var to: SyncPath
        var action: SyncAction
    }

    /// By the old name and by the new one.
    private(set) var byPath: [SyncPath: Rename] = [:]

    init(_ situation: SyncSituation, _ direction: SyncDirection) {
        if direction.pushes { findLocal(situation) }
        if direction.pulls { findRemote(situation) }
    }

    private static func isUnknown(_ path: SyncPath, _ situation: SyncSituation) -> Bool {
        !situation.unknown.isEmpty
            && (situation.unknown.contains(path)
                || path.ancestors.contains(where: situation.unknown.contains))
    }

    /// A folder on the way that is a file on the other side would be in the way.
    private static func hasFolders(_ path: SyncPath, _ situation: SyncSituation) -> Bool {
        path.ancestors.allSatisfy { folder in
            (situation.local[folder]?.isFolder ?? true) && (situation.remote[folder]?.isFolder ?? true)
        }
    }

    private mutating func findLocal(_ situation: SyncSituation) {
        var lost: [UInt64: SyncPath] = [:]
        for (path, item) in situation.agreed {
            guard case .file(let local, let remote, _) = item, situation.local[path] == nil,
                case .file(let now)? = situation.remote[path], remote.matches(now),
                !Self.isUnknown(path, situation)
            else { continue }
            lost[local.inode] = path
        }
        guard !lost.isEmpty else { return }
        for (path, item) in situation.local.sorted(by: { $0.key < $1.key }) {
            guard case .file(let version, let content) = item, situation.agreed[path] == nil,
                situation.remote[path] == nil, let old = lost[version.inode],
                case .file(let local, let remote, let agreedContent)? = situation.agreed[old],
                version.isSameFile(as: local), content == agreedContent,
                Self.hasFolders(path, situation), !Self.isUnknown(path, situation)
            else { continue }
            lost[version.inode] = nil
            add(
                Rename(
                    from: old, to: path,
                    action: .moveRemote(old, to: path, version, remote, agreedContent)))
        }
    }

    private mutating func findRemote(_ situation: SyncSituation) {
        var lost: [String: [SyncPath]] = [:]
        for (path, item) in situation.agreed {
            guard case .file(let local, let remote, _) = item, situation.remote[path] == nil,
                case .file(let now, _)? = situation.local[path], now == local,
                let tag = RemoteVersion.digest(remote.opaqueTag),
                !Self.isUnknown(path, situation)
            else { continue }
            lost[tag, default: []].append(path)
        }
        guard !lost.isEmpty else { return }
        var found: [String: [SyncPath]] = [:]
        for (path, item) in situation.remote {
            guard case .file(let version) = item, let tag = RemoteVersion.digest(version.strongTag),
                lost[tag] != nil
            else {
                continue
            }
            found[tag, default: []].append(path)
        }
        for (tag, olds) in lost {
            guard olds.count == 1, let new = found[tag], new.count == 1, byPath[olds[0]] == nil,
                byPath[new[0]] == nil, situation.agreed[new[0]] == nil, situation.local[new[0]] == nil,
                case .file(let local, let remote, let content)? = situation.agreed[olds[0]],
                case .file(let now)? = situation.remote[new[0]], remote.size == now.size,
                Self.hasFolders(new[0], situation), !Self.isUnknown(new[0], situation)
            else { continue }
            add(
                Rename(
                    from: olds[0], to: new[0], action: .moveLocal(olds[0], to: new[0], local, now, content)))
        }
    }

    private mutating func add(_ rename: Rename) {
        byPath[rename.from] = rename
        byPath[rename.to] = rename
    }
}

extension RemoteVersion {
    /// A tag that is one content's own: 128, 160 or 256 bits in hexadecimal. nginx, Apache and rclone make theirs of the time
    /// and the size, which two files can share.
    static func digest(_ tag: String?) -> String? {
        guard let tag, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
        let digits = tag.utf8.dropFirst().dropLast()
        let isDigest =
            [32, 40, 64].contains(digits.count)
            && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        return isDigest ? tag : nil
    }

    /// Whether a change within the same second that keeps the size may not be seen: there is no tag, or it is nginx's, which is
    /// the second and the size in hexadecimal (ngx_http_set_etag).
    var isCoarse: Bool {
        guard let tag = opaqueTag, let size else { return opaqueTag == nil }
        let parts = tag.dropFirst().dropLast().split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count <= 8 && UInt64(parts[0], radix: 16) != nil
            && Int64(parts[1], radix: 16) == size
    }

    /// The same, but no later listing matches it: the file is fetched once more, and its content compared.
    var untrusted: RemoteVersion { RemoteVersion(tag: tag, size: size, modified: "?") }
}
