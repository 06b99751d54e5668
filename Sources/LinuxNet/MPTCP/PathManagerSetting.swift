// The sysctl that selects a path manager. The kernel looks at it when a socket is made, and again when a socket that is
// not connected is disconnected (mptcp_pm_data_reset, net/mptcp/pm.c), for every socket of the network namespace. To
// give one socket the userspace path manager, a process changes it around such a call, and puts it back.
//
//          lock it ─► journal what was there ─► write userspace ─► connect(AF_UNSPEC) ─► write it back ─► drop the entry
//          (alone)  (a file, else nothing)         └──────────── some 2 µs ────────────┘
//
// - Two processes that do so at once would each read the other's `userspace` as what was there. `SettingLock` keeps
//   them apart. Only the network namespace's administrators can hold it, and it ends with its process.
// - A process that is killed in between leaves `userspace` behind, and the journal's entry. The next process finds
//   both, knows that the administrator did not choose `userspace`, and puts back what the entry says.
// - `userspace` without an entry is the administrator's choice, and stays.
// - What another program writes in between stays too: only our own `userspace` is ever put back.
//
// - Where no entry can be kept (no folder is writable) the setting is left alone, and reports say so.
//
// What remains: an entry that is not found (another user's, another mount namespace's, a folder that systemd removed with
// the service) leaves `userspace` there until an administrator writes it back. And an MPTCP socket that some
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
            // Anything else may be over in a moment: no descriptor is left, for one.
            guard [EACCES, EPERM, EROFS].contains(error.errno) else { return .failed("\(error)") }
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

/// The right to change the setting, which one thread of one process has at a time.
///
/// It is flock(2) on a file of the network namespace that only its administrators may open: TCP Fast Open's key, of mode
/// 0600, which takes CAP_NET_ADMIN in the user namespace that owns the network namespace (net_ctl_permissions,
/// net/sysctl_net.c). Nothing is read of the file. Other local users can neither hold this lock nor keep it from
/// anyone, which a name of a Unix socket would let them.
///
/// Processes that see different mounts of /proc don't exclude each other. The journal's entry then tells the second
/// that `userspace` is the first one's.
enum SettingLock {
    static let path = "/proc/sys/net/ipv4/tcp_fastopen_key"

    /// One that is held. A child of a fork that happens meanwhile has the lock as well, so it is given up and not only closed.
    struct Held: ~Copyable {
        private let number: CInt

        fileprivate init(_ number: CInt) { self.number = number }

        deinit { _ = mp_unlock(number) }
    }

    /// The file to lock, of the calling thread's network namespace.
    ///
    /// - Throws: EACCES without CAP_NET_ADMIN.
    static func open() throws(SystemError) -> Descriptor {
        Descriptor(
            owning: try systemCall("open \(Self.path)") {
                Self.path.withCString { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
            })
    }

    /// Takes it by a file that the caller keeps open: for one thread at a time.
    ///
    /// - Parameter patience: how long to try while another process has it, without sleeping where that is short: the
    ///   others have it for microseconds.
    /// - Throws: EWOULDBLOCK where another process had it for longer.
    static func claim(by file: borrowing Descriptor, patience: Duration) throws(SystemError) -> Held {
        let (begun, number) = (MonotonicTime.now, file.number)
        while true {
            do throws(SystemError) {
                try systemCall("lock the path manager's setting") { mp_try_lock(number) }
                return Held(number)
            } catch {
                let waited = begun.duration(to: .now)
                guard error.errno == EWOULDBLOCK, waited < patience else { throw error }
                if waited < UserspaceSelection.shortPatience { sched_yield() } else { usleep(200) }
            }
        }
    }
}

/// Selects the userspace path manager for the length of a call, in the network namespace of the thread. What it opens for
/// that stays open: a file is dear to open, and to make.
package final class UserspaceSelection: Sendable {
    /// What belongs to one network namespace.
    private final class Opened {
        let namespace: UInt64
        let lockFile: Descriptor
        let file: OpenSetting
        var entry: SysctlJournal.OpenEntry

        init(
            _ setting: PathManagerSetting, _ journal: SysctlJournal?, _ namespace: UInt64
        ) throws(SystemError) {
            self.namespace = namespace
            lockFile = try SettingLock.open()
            file = try setting.open()
            entry = SysctlJournal.OpenEntry(journal?.entry(of: namespace))
        }
    }

    package let setting: PathManagerSetting
    /// Where the setting is journalled; nil keeps no entry, which is for tests alone.
    private let journal: SysctlJournal?
    /// How long to wait for others that do the same.
    private let patience: Duration
    private let latest = Locked<Opened?>(nil)

    /// What the event thread can spare: longer than others need, unless they were stopped in the middle.
    package static let shortPatience = Duration.microseconds(300)

    package init(
        _ setting: PathManagerSetting, journal: SysctlJournal?, patience: Duration = shortPatience
    ) {
        self.setting = setting
        self.journal = journal
        self.patience = patience
    }

    /// Gives a socket of MPTCP that is not connected the userspace path manager.
    ///
    /// - Throws: EACCES, EPERM or EROFS where the setting can't be written, EWOULDBLOCK where another process held the
    ///   lock for too long, an error of `SysctlJournal.operation` where no entry can be kept. The setting is then as it was.
    func select(for socket: borrowing Descriptor) throws(SystemError) {
        let number = socket.number
        let wasSelected = try change(namespaceOf: socket) { file throws(SystemError) in
            try StreamSocket.disconnect(number)
            return try file.selectsUserspace
        }
        // A program that the lock does not keep out changed it meanwhile.
        guard wasSelected else {
            throw SystemError("keep '\(setting.userspace)' in \(setting.path)", errno: EWOULDBLOCK)
        }
    }

    /// Runs `body` with the userspace path manager selected.
    ///
    /// - Throws: as `select`, and what `body` throws.
    package func during<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try change(namespaceOf: LocalSocket.make()) { _ throws(SystemError) in try body() }
    }

    /// Puts back what a process that was killed left changed.
    /// - Returns: whether there was something to put back.
    func mend() throws(SystemError) -> Bool {
        guard let journal else { return false }
        defer { journal.sweep() }
        return try locked(namespaceOf: LocalSocket.make()) { opened throws(SystemError) in
            guard try opened.file.selectsUserspace else {
                // Killed before the change or after it.
                opened.entry.remove()
                return false
            }
            guard let journalled = opened.entry.read(), journalled != setting.userspace else {
                return false
            }
            try putBack(journalled, opened)
            return true
        }
    }

    /// - Parameter socket: any of the network namespace.
    private func change<Value: ~Copyable>(
        namespaceOf socket: borrowing Descriptor, _ body: (borrowing OpenSetting) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try locked(namespaceOf: socket) { opened throws(SystemError) in
            let before = try opened.file.read()
            var original = before
            if before == setting.userspace {
                // Chosen by the administrator, or left behind by a process that was killed.
                guard let journalled = opened.entry.read(), journalled != setting.userspace else {
                    return try body(opened.file)
                }
                original = journalled
            } else {
                // Where that fails nothing was changed yet.
                try opened.entry.write(before)
                try opened.file.write(setting.userspace)
            }
            let value: Value
            do throws(SystemError) {
                value = try body(opened.file)
            } catch {
                try? putBack(original, opened)
                throw error
            }
            try putBack(original, opened)
            return value
        }
    }

    /// Runs `body` with the right to change the setting.
    private func locked<Value: ~Copyable>(
        namespaceOf socket: borrowing Descriptor, _ body: (Opened) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let namespace = try SysctlJournal.namespace(of: socket)
        return try latest.withLock { latest throws(SystemError) in
            let opened: Opened
            if let latest, latest.namespace == namespace {
                opened = latest
            } else {
                opened = try Opened(setting, journal, namespace)
                latest = opened
            }
            let lock = try SettingLock.claim(by: opened.lockFile, patience: patience)
            defer { extendLifetime(lock) }
            return try body(opened)
        }
    }

    /// Only where it is still what this changed it to. An entry outlives a failure, for the next process to try.
    private func putBack(_ original: String, _ opened: Opened) throws(SystemError) {
        if try opened.file.selectsUserspace, original != setting.userspace {
            do throws(SystemError) {
                try opened.file.write(original)
            } catch {
                // Once more: what stays there stays for every program.
                try opened.file.write(original)
            }
        }
        opened.entry.remove()
    }
}
