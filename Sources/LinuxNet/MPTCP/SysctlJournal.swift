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

    /// The entry of a network namespace, by its number.
    func entry(of namespace: UInt64) -> Entry { Entry(namespace, folders) }

    /// The entry of the network namespace that a socket belongs to.
    func entry(of socket: borrowing Descriptor) throws(SystemError) -> Entry {
        entry(of: try Self.namespace(of: socket))
    }

    /// A number of the network namespace that a socket belongs to. It is never used again, unlike its inode (Linux 5.14).
    static func namespace(of socket: borrowing Descriptor) throws(SystemError) -> UInt64 {
        let number = socket.number
        var cookie: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        try systemCall("\(operation): which network namespace this is") {
            getsockopt(number, SOL_SOCKET, CInt(MP_SO_NETNS_COOKIE), &cookie, &length)
        }
        return cookie
    }

    /// Removes the empty files that ended processes have left, some at a time.
    func sweep() {
        var left = 64
        for folder in folders where Self.isOurs(folder) {
            Folder.forEachName(in: folder) { name in
                guard name.hasPrefix(Self.prefix) else { return true }
                left -= 1
                let path = "\(folder)/\(name)"
                let number = path.withCString {
                    Glibc.open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                }
                if number >= 0 { Self.removeIfUnused(path, Descriptor(owning: number)) }
                return left > 0
            }
        }
    }

    /// Removes an entry's file that is empty, and that no other process has open.
    private static func removeIfUnused(_ path: String, _ file: borrowing Descriptor) {
        var status = stat()
        guard mp_try_lock(file.number) == 0, fstat(file.number, &status) == 0, status.st_size == 0,
            status.st_nlink > 0
        else { return }
        _ = path.withCString { unlink($0) }
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

    private static let prefix = "path-manager-"

    struct Entry: Sendable {
        /// Where its file may be, the place to write it to before the others.
        private let places: [(folder: String, path: String)]

        fileprivate init(_ namespace: UInt64, _ folders: [String]) {
            places = folders.map { ($0, "\($0)/\(SysctlJournal.prefix)\(namespace)") }
        }

        /// nil where there is none, or none to be trusted.
        func read() -> String? {
            for place in places {
                guard isOurs(place.folder), let bytes = try? InputFile.regularBytes(place.path, limit: 16)
                else {
                    continue
                }
                let isName = bytes.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
                }
                if !bytes.isEmpty, isName { return String(decoding: bytes, as: UTF8.self) }
            }
            return nil
        }

        /// A file that is empty stays: a process may have it open.
        func remove() {
            for place in places {
                var status = stat()
                guard lstat(place.path, &status) != 0 || status.st_size > 0 else { continue }
                _ = place.path.withCString { unlink($0) }
            }
        }

        /// Its file, in the first folder that can be written.
        ///
        /// - Throws: why the last of them can't.
        fileprivate func open() throws(SystemError) -> (path: String, number: CInt) {
            var failure = SystemError(SysctlJournal.operation, errno: ENOENT)
            for place in places {
                do throws(SystemError) {
                    try SysctlJournal.prepare(place.folder)
                    return (place.path, try Self.open(place.path).release())
                } catch {
                    failure = error
                }
            }
            throw failure
        }

        private static func open(_ path: String) throws(SystemError) -> Descriptor {
            // A process that sweeps may have it locked, and then removes it.
            for _ in 0..<attempts {
                let file = Descriptor(
                    owning: try systemCall(SysctlJournal.operation) {
                        path.withCString {
                            Glibc.open($0, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
                        }
                    })
                if mp_try_shared_lock(file.number) == 0, OpenEntry.status(of: file.number) != nil {
                    return file
                }
            }
            throw SystemError(SysctlJournal.operation, errno: EBUSY, detail: path)
        }

        private static let attempts = 100
    }

    /// An entry that is made and removed often, under the setting's lock: its file stays open, and is empty while there is no
    /// entry. (An empty file is no entry to any reader.) Each process has locked it, shared, while it has it open: the last
    /// one removes it.
    struct OpenEntry: ~Copyable {
        /// Nil keeps no entry.
        private let entry: Entry?
        private var file: Descriptor?
        private var path = ""
        /// Whether another process's entry was read, which may be in another folder.
        private var wasFound = false

        init(_ entry: Entry?) { self.entry = entry }

        deinit { removeFile() }

        /// nil where there is none, or none to be trusted.
        mutating func read() -> String? {
            let text = entry?.read()
            wasFound = text != nil
            return text
        }

        mutating func write(_ text: String) throws(SystemError) {
            guard let entry else { return }
            if writesToFile(text) { return }
            removeFile()
            let opened = try entry.open()
            path = opened.path
            file = Descriptor(owning: opened.number)
            guard writesToFile(text) else {
                remove()
                throw SystemError(SysctlJournal.operation, errno: ENOSPC)
            }
        }

        /// - Returns: false where there is no file, or no room.
        private func writesToFile(_ text: String) -> Bool {
            guard let number, let status = Self.status(of: number) else { return false }
            // What a killed process has left there may be longer.
            guard status.st_size == 0 || ftruncate(number, 0) == 0 else { return false }
            return text.withCString { pwrite(number, $0, text.utf8.count, 0) } == text.utf8.count
        }

        mutating func remove() {
            let isEmpty = number.map { Self.status(of: $0) != nil && ftruncate($0, 0) == 0 } ?? false
            if isEmpty, !wasFound { return }
            if !isEmpty { file = nil }
            wasFound = false
            entry?.remove()
        }

        private var number: CInt? {
            switch file {
            case .some(let file): file.number
            case nil: nil
            }
        }

        /// - Returns: nil where the file has no name any more: another process that had the setting's lock removed it.
        fileprivate static func status(of number: CInt) -> stat? {
            var status = stat()
            return fstat(number, &status) == 0 && status.st_nlink > 0 ? status : nil
        }

        /// There will be no entry any more. One that is there stays, for another process to put back what it says.
        mutating func close() {
            removeFile()
            file = nil
        }

        private func removeFile() {
            switch file {
            case .some(let file): SysctlJournal.removeIfUnused(path, file)
            case nil: break
            }
        }
    }
}
