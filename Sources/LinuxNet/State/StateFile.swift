import CLinux
import Glibc

/// A small text file in which the programs of one user keep what they have found out or used, together.
///
/// A process that can write it could have the programs believe what it says, so only the user's own file counts: a
/// regular file, no link, of the user (or root), which no other may write. A file that is none of that is put aside, and a
/// new one begun.
package struct StateFile: Sendable {
    package let path: String
    private let limit: Int

    /// - Parameter limit: more bytes are no such file.
    package init(_ path: String, limit: Int) {
        self.path = path
        self.limit = limit
    }

    /// `$MULTIPATH_HOME/NAME`; else `$XDG_STATE_HOME/multipath/NAME`, or the same below `~/.local/state` (XDG Base Directory
    /// Specification 0.8); nil for a user without a home, and for a program that has more rights than its user.
    package static func standardPath(_ name: String) -> String? {
        guard !ProcessPrivileges.areMoreThanTheUsers else { return nil }
        return SettingsFile.path(
            name, below: (variable: "XDG_STATE_HOME", inHome: ".local/state"),
            variable: ProcessEnvironment.value, homeInUserDatabase: SettingsFile.homeInUserDatabase)
    }

    /// What damaged or foreign files are renamed to.
    package var damagedPath: String { path + ".damaged" }

    /// The file's text; what is no UTF-8 in it is replaced.
    ///
    /// - Returns: nil where there is no such file.
    /// - Throws: the kernel's error; EFBIG for more bytes than the limit, EINVAL for what is no file, ELOOP for a link, EPERM
    ///   for a file that another user owns or may write.
    package func read() throws(SystemError) -> String? {
        try FileRights.ofOwner(path).take { () throws(SystemError) in try readAsOwner() }
    }

    /// Reads the file, and puts what `edit` makes of its text in its place. Of two programs that do it at once, the second
    /// reads what the first wrote; a reader sees the old text or the new one, whole, also after a crash.
    ///
    /// It may take as long as the disk does.
    ///
    /// - Parameter edit: gets nil where there is no file, or one that is put aside. Nothing is written where it returns nil,
    ///   or the same text.
    package func update(_ edit: (String?) throws(SystemError) -> String?) throws(SystemError) {
        try FileRights.ofOwner(path).take { () throws(SystemError) in
            let folder = try SettingsFile.folder(of: path)
            try systemCall("lock \(SettingsFile.parent(of: path))") { mp_lock_exclusively(folder.number) }
            var old: String?
            do throws(SystemError) {
                old = try readAsOwner()
            } catch {
                guard [EFBIG, EINVAL, ELOOP, EPERM].contains(error.errno) else { throw error }
                putAside()
            }
            guard let new = try edit(old), new != old else { return }
            try SettingsFile.replace(path, with: new, in: folder)
        }
    }

    /// Keeps a file that can't be used beside the new one, for a person to look at.
    package func putAside() { _ = rename(path, damagedPath) }

    private func readAsOwner() throws(SystemError) -> String? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
        guard number >= 0 else {
            let failure = errno
            if failure == ENOENT || failure == ENOTDIR { return nil }
            throw SystemError("open \(path)", errno: failure)
        }
        let file = Descriptor(owning: number)
        var status = stat()
        try systemCall("read \(path)") { fstat(file.number, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError("read \(path)", errno: EINVAL, detail: "it is no file")
        }
        // The folder's owner is the user, also where root works for that user.
        var folder = stat()
        let owners =
            stat(SettingsFile.parent(of: path), &folder) == 0 ? [folder.st_uid, geteuid(), 0] : [geteuid()]
        guard owners.contains(status.st_uid), status.st_mode & 0o022 == 0 else {
            throw SystemError("read \(path)", errno: EPERM, detail: "another user can write it")
        }
        return String(decoding: try InputFile.bytes(of: file, path, limit), as: UTF8.self)
    }
}
