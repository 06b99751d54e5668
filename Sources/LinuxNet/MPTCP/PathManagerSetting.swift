// The sysctl that selects a path manager. The kernel looks at it when socket() is called
// (mptcp_pm_data_reset, net/mptcp/pm.c), for every socket of the network namespace, so whoever wants one
// socket with the userspace path manager changes it around that call, and puts it back.
//
//          take the name ─► note what was there ─► write userspace ─► socket() ─► write it back ─► drop the note
//            (alone)          (a file in /run)      └──────── some 20 µs ─────────┘
//
// - Two that do so at once would take each other's `userspace` for what was there. The name of a Unix socket
//   keeps them apart: it belongs to the network namespace, as the setting does, and ends with its process.
// - A process that is killed in between leaves `userspace` behind, and the note. Whoever comes next finds
//   both, knows that nobody chose `userspace`, and puts back what the note says.
// - `userspace` without a note is somebody's choice, and stays.
// - What somebody else writes in between stays too: only our own `userspace` is ever taken back.
//
// What remains: a note that can't be kept (no writable folder), or not found (another user's, another mount
// namespace's), leaves `userspace` there until an administrator writes it back. And an MPTCP socket that some
// other program makes within those microseconds has the userspace path manager as well: it works, on one path.

import CLinux
import Glibc
import PathCore

/// The file that selects the path manager of the network namespace of whichever thread opens it.
package struct PathManagerSetting: Sendable, Hashable {
    package let path: String
    package let userspace: String

    /// Of Linux 6.15; the older file is still there but is deprecated.
    static let named = PathManagerSetting(path: "/proc/sys/net/mptcp/path_manager", userspace: "userspace")
    /// Of Linux 5.19: 0 is the kernel's, 1 the userspace one.
    static let numbered = PathManagerSetting(path: "/proc/sys/net/mptcp/pm_type", userspace: "1")

    /// nil on a kernel without either.
    package static var current: PathManagerSetting? {
        [named, numbered].first { access($0.path, F_OK) == 0 }
    }

    /// Why it can't be written by this thread; nil where it can.
    var limit: ControlLimit? {
        do throws(SystemError) {
            _ = try open()
            return nil
        } catch {
            return .settingReadOnly(path: path, reason: error.words)
        }
    }

    /// - Throws: EACCES without CAP_NET_ADMIN, EROFS in most containers.
    func open() throws(SystemError) -> OpenSetting {
        OpenSetting(
            file: Descriptor(
                owning: try systemCall("open \(path)") {
                    path.withCString { Glibc.open($0, O_RDWR | O_CLOEXEC) }
                }),
            setting: self)
    }
}

struct OpenSetting: ~Copyable {
    fileprivate let file: Descriptor
    fileprivate let setting: PathManagerSetting

    func read() throws(SystemError) -> String {
        // The longest name is shorter than this.
        var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let count = try systemCall("read \(setting.path)") {
            withUnsafeMutableBytes(of: &bytes) { pread(file.number, $0.baseAddress, $0.count, 0) }
        }
        return withUnsafeBytes(of: bytes) { bytes in
            String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    func write(_ value: String) throws(SystemError) {
        try systemCall("write '\(value)' to \(setting.path)") {
            value.withCString { pwrite(file.number, $0, value.utf8.count, 0) }
        }
    }

    var selectsUserspace: Bool { get throws(SystemError) { try read() == setting.userspace } }
}

/// Selects the userspace path manager for the length of a call, in the network namespace of the thread.
package struct UserspaceSelection: Sendable {
    package let setting: PathManagerSetting
    /// Where notes are kept; nil keeps none.
    private let notes: RestingNotes?
    /// How long to wait for others who do the same.
    private let patience: Duration
    private let latestNote = Locked<RestingNotes.Note?>(nil)

    package init(_ setting: PathManagerSetting, notes: RestingNotes?, patience: Duration = .milliseconds(250))
    {
        self.setting = setting
        self.notes = notes
        self.patience = patience
    }

    static let lockName = "swift-multipath/path-manager"

    /// Runs `body` with the userspace path manager selected.
    ///
    /// - Throws: EACCES, EPERM or EROFS where the setting can't be written, EADDRINUSE where somebody else
    ///   held the name for too long, and what `body` throws. The setting is then as it was.
    package func during<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let lock = try takeLock()
        let file = try setting.open()
        let note = notes?.note(of: lock, orElse: latestNote.withLock { $0 })
        latestNote.withLock { $0 = note }
        let before = try file.read()
        var resting = before
        if before == setting.userspace {
            // Chosen by somebody, or left behind by a process that was killed.
            guard let noted = note?.read(), noted != setting.userspace else { return try body() }
            resting = noted
        } else {
            note?.write(before)
            try file.write(setting.userspace)
        }
        let value: Value
        do throws(SystemError) {
            value = try body()
        } catch {
            try? putBack(resting, file, note)
            throw error
        }
        try putBack(resting, file, note)
        return value
    }

    /// Puts back what a process that was killed left changed.
    /// - Returns: whether there was something to put back.
    func mend() throws(SystemError) -> Bool {
        guard let notes else { return false }
        let lock = try takeLock()
        guard let note = notes.note(of: lock) else { return false }
        let file = try setting.open()
        guard try file.selectsUserspace else {
            // Killed before the change or after it.
            note.remove()
            return false
        }
        guard let noted = note.read(), noted != setting.userspace else { return false }
        try putBack(noted, file, note)
        return true
    }

    /// Only where it is still what this changed it to. A note outlives a failure, for the next one to try.
    private func putBack(
        _ resting: String, _ file: borrowing OpenSetting, _ note: RestingNotes.Note?
    ) throws(SystemError) {
        if try file.selectsUserspace, resting != setting.userspace { try file.write(resting) }
        note?.remove()
    }

    private func takeLock() throws(SystemError) -> Descriptor {
        let deadline = MonotonicTime.now.advanced(by: patience)
        var pause: UInt32 = 20
        while true {
            do throws(SystemError) {
                return try LocalSocket.claim(Self.lockName)
            } catch {
                guard error.errno == EADDRINUSE, MonotonicTime.now < deadline else { throw error }
                // Nothing tells when it is free. Those who hold it do so for microseconds.
                usleep(pause)
                pause = min(pause * 2, 1_000)
            }
        }
    }
}

/// What the setting was before this library changed it, in a file for each network namespace. The folder is
/// on a file system that ends with the boot, as the setting does, and belongs to the user alone: what a note
/// says is written to a sysctl.
package struct RestingNotes: Sendable, Hashable {
    package let folder: String

    package init(folder: String) { self.folder = folder }

    /// `/run/swift-multipath` for root, and `/run/user/UID/swift-multipath` for others, if there is such a
    /// place. Not from the environment: the process may have more rights than whoever started it.
    package static var standard: RestingNotes? {
        let user = geteuid()
        let parent = user == 0 ? "/run" : "/run/user/\(user)"
        guard access(parent, W_OK) == 0 else { return nil }
        return RestingNotes(folder: parent + "/swift-multipath")
    }

    /// The note of the network namespace that a socket belongs to.
    ///
    /// - Parameter known: a note that may be the one.
    func note(of socket: borrowing Descriptor, orElse known: Note? = nil) -> Note? {
        var cookie: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        // A namespace's cookie is never used again, unlike its inode number (Linux 5.14).
        guard getsockopt(socket.number, SOL_SOCKET, CInt(MP_SO_NETNS_COOKIE), &cookie, &length) == 0 else {
            return nil
        }
        if let known, known.cookie == cookie { return known }
        return Note(folder: folder, cookie: cookie, path: "\(folder)/path-manager-\(cookie)")
    }

    struct Note {
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

        /// A note that can't be kept is done without.
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
