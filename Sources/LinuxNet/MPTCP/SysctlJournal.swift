import CLinux
import Glibc

/// What a sysctl was before this library changed it: an entry for each network namespace, a file each.
///
/// An entry is kept in the first of some folders that can be written, and is found in any. They are on file systems that end
/// with the boot, as the setting does, and belong to the user alone: what an entry says is written to a sysctl.
package struct SysctlJournal: Sendable, Hashable {
    package let folders: [String]

    package init(folders: [String]) { self.folders = folders }

    package init(folder: String) { self.init(folders: [folder]) }

    /// - `/run/swift-multipath` for root, `/run/user/UID/swift-multipath` for others;
    /// - `/dev/shm/swift-multipath-UID`: services of a user of their own have no folder in `/run/user`, and every user may
    ///   write here (another one may take the name first);
    /// - `swift-multipath` in what systemd's `RuntimeDirectory=` gives a service (RUNTIME_DIRECTORY, systemd.exec(5)). It
    ///   comes last, because systemd removes it with a service that was killed, but for `RuntimeDirectoryPreserve=`.
    package static var standard: SysctlJournal {
        let user = geteuid()
        return SysctlJournal(
            folders: standardFolders(
                of: user, runtimeDirectory: ProcessEnvironment.value("RUNTIME_DIRECTORY")))
    }

    /// The same with the service manager's folder first: it stays the service's where its user changes (DynamicUser=).
    package static var ofService: SysctlJournal {
        let folders = standard.folders
        let given = (ProcessEnvironment.value("RUNTIME_DIRECTORY") ?? "").split(separator: ":").count
        return SysctlJournal(folders: folders.suffix(given) + folders.dropLast(given))
    }

    static func standardFolders(of user: UInt32, runtimeDirectory: String?) -> [String] {
        let given = (runtimeDirectory ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return [
            user == 0 ? "/run/swift-multipath" : "/run/user/\(user)/swift-multipath",
            "/dev/shm/swift-multipath-\(user)",
        ] + given.map { "\($0)/swift-multipath" }
    }

    /// Whether an entry could be kept now.
    var isWritable: Bool {
        folders.contains { folder in
            (try? Self.prepare(folder)) != nil && access(folder, W_OK | X_OK) == 0
        }
    }

    /// The entry of the network namespace that a socket belongs to.
    ///
    /// - Parameter known: an entry that may be the one.
    func entry(of socket: borrowing Descriptor, orElse known: Entry? = nil) throws(SystemError) -> Entry {
        var cookie: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        // A namespace's cookie is never used again, unlike its inode number (Linux 5.14).
        try systemCall("\(Self.operation): which network namespace this is") {
            getsockopt(socket.number, SOL_SOCKET, CInt(MP_SO_NETNS_COOKIE), &cookie, &length)
        }
        if let known, known.cookie == cookie { return known }
        return Entry(cookie: cookie, folders: folders)
    }

    /// Makes a folder for its user alone where there is none yet.
    ///
    /// - Throws: EPERM where it is another user's, or open to others.
    private static func prepare(_ folder: String) throws(SystemError) {
        guard !isOurs(folder) else { return }
        let status = folder.withCString { mkdir($0, 0o700) }
        guard status == 0 || errno == EEXIST else {
            throw SystemError(operation, errno: errno, detail: folder)
        }
        guard isOurs(folder) else { throw SystemError(operation, errno: EPERM, detail: folder) }
    }

    private static func isOurs(_ folder: String) -> Bool {
        var status = stat()
        return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    /// What all errors of the journal name.
    static let operation = "journal what the path manager's setting was"

    struct Entry: Sendable {
        fileprivate let cookie: UInt64
        fileprivate let folders: [String]

        private func path(in folder: String) -> String { "\(folder)/path-manager-\(cookie)" }

        /// nil where there is none, or none to be trusted.
        func read() -> String? { folders.lazy.compactMap(read).first }

        private func read(in folder: String) -> String? {
            guard isOurs(folder), let bytes = try? InputFile.regularBytes(path(in: folder), limit: 16) else {
                return nil
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let isName = text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
            return !text.isEmpty && isName ? text : nil
        }

        /// Keeps the entry in the first folder that can be written.
        ///
        /// - Throws: why the last of them can't.
        func write(_ text: String) throws(SystemError) {
            var failure = SystemError(SysctlJournal.operation, errno: ENOENT)
            for folder in folders {
                do throws(SystemError) {
                    return try write(text, in: folder)
                } catch {
                    failure = error
                }
            }
            throw failure
        }

        private func write(_ text: String, in folder: String) throws(SystemError) {
            try SysctlJournal.prepare(folder)
            let file = try open(in: folder)
            let count = text.utf8.count
            do throws(SystemError) {
                let written = try systemCall(SysctlJournal.operation) {
                    text.withCString { Glibc.write(file.number, $0, count) }
                }
                guard written == count else { throw SystemError(SysctlJournal.operation, errno: ENOSPC) }
            } catch {
                _ = path(in: folder).withCString { unlink($0) }
                throw error
            }
        }

        func remove() { for folder in folders { _ = path(in: folder).withCString { unlink($0) } } }

        /// The file of an entry that is to be written, in the first folder that can be.
        fileprivate func open() throws(SystemError) -> Descriptor {
            var failure = SystemError(SysctlJournal.operation, errno: ENOENT)
            for folder in folders {
                do throws(SystemError) {
                    try SysctlJournal.prepare(folder)
                    return try open(in: folder)
                } catch {
                    failure = error
                }
            }
            throw failure
        }

        private func open(in folder: String) throws(SystemError) -> Descriptor {
            let path = path(in: folder)
            return Descriptor(
                owning: try systemCall(SysctlJournal.operation) {
                    path.withCString {
                        Glibc.open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
                    }
                })
        }
    }

    /// An entry that is made and removed often, under the setting's lock: its file stays open, and is empty while there is no
    /// entry. (An empty file is no entry to any reader.)
    struct OpenEntry: ~Copyable {
        let entry: Entry
        private var file: Descriptor?

        init(_ entry: Entry) { self.entry = entry }

        mutating func write(_ text: String) throws(SystemError) {
            if writesToFile(text) { return }
            file = try entry.open()
            guard writesToFile(text) else {
                remove()
                throw SystemError(SysctlJournal.operation, errno: ENOSPC)
            }
        }

        /// - Returns: false where there is no file, or no room.
        private func writesToFile(_ text: String) -> Bool {
            guard let number, Self.isLinked(number) else { return false }
            return text.withCString { pwrite(number, $0, text.utf8.count, 0) } == text.utf8.count
        }

        mutating func remove() {
            if let number, Self.isLinked(number), ftruncate(number, 0) == 0 { return }
            file = nil
            entry.remove()
        }

        private var number: CInt? {
            switch file {
            case .some(let file): file.number
            case nil: nil
            }
        }

        /// Whether the file has a name still: another process that had the lock may have removed it.
        private static func isLinked(_ number: CInt) -> Bool {
            var status = stat()
            return fstat(number, &status) == 0 && status.st_nlink > 0
        }

        /// There will be no entry any more. One that is there stays, for another process to put back what it says.
        mutating func close() {
            var status = stat()
            if let number, fstat(number, &status) == 0, status.st_size == 0 { entry.remove() }
            file = nil
        }
    }
}
