import CLinux
import Glibc

/// What a sysctl was before this library changed it: an entry for each network namespace, a file each.
///
/// The folder is on a file system that ends with the boot, as the setting does, and belongs to the user alone: what an
/// entry says is written to a sysctl.
package struct SysctlJournal: Sendable, Hashable {
    package let folder: String

    package init(folder: String) { self.folder = folder }

    /// `/run/swift-multipath` for root, and `/run/user/UID/swift-multipath` for others, if there is such a
    /// place. Not from the environment: the process may have more rights than its user.
    package static var standard: SysctlJournal? {
        let user = geteuid()
        let parent = user == 0 ? "/run" : "/run/user/\(user)"
        guard access(parent, W_OK) == 0 else { return nil }
        return SysctlJournal(folder: parent + "/swift-multipath")
    }

    /// The entry of the network namespace that a socket belongs to.
    ///
    /// - Parameter known: an entry that may be the one.
    func entry(of socket: borrowing Descriptor, orElse known: Entry? = nil) -> Entry? {
        var cookie: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        // A namespace's cookie is never used again, unlike its inode number (Linux 5.14).
        guard getsockopt(socket.number, SOL_SOCKET, CInt(MP_SO_NETNS_COOKIE), &cookie, &length) == 0 else {
            return nil
        }
        if let known, known.cookie == cookie { return known }
        return Entry(folder: folder, cookie: cookie, path: "\(folder)/path-manager-\(cookie)")
    }

    struct Entry {
        fileprivate let folder: String
        fileprivate let cookie: UInt64
        let path: String

        /// nil where there is none, or none to be trusted.
        func read() -> String? {
            guard isOurs(folder), let bytes = try? InputFile.regularBytes(path, limit: 16) else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            let isName = text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
            return !text.isEmpty && isName ? text : nil
        }

        /// Goes on without an entry where it can't be kept.
        func write(_ text: String) {
            let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
            var number = path.withCString { Glibc.open($0, flags, 0o600) }
            if number < 0, errno == ENOENT, mkdir(folder, 0o700) == 0 {
                number = path.withCString { Glibc.open($0, flags, 0o600) }
            }
            guard number >= 0 else { return }
            let file = Descriptor(owning: number)
            let count = text.utf8.count
            if text.withCString({ Glibc.write(file.number, $0, count) }) != count { remove() }
        }

        func remove() { _ = path.withCString { unlink($0) } }

        private func isOurs(_ folder: String) -> Bool {
            var status = stat()
            return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
                && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
        }
    }
}
