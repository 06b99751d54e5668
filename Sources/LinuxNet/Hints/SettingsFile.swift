import CLinux
import Glibc
import PathCore

/// The user's settings file, as a whole.
package struct SettingsFile: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Names a folder that holds the settings instead: a lab has one of its own, and so may a test.
    package static let homeVariable = "MULTIPATH_HOME"

    /// The file's name in its folder.
    package static let name = "paths.conf"

    /// `$MULTIPATH_HOME/paths.conf`; else `$XDG_CONFIG_HOME/multipath/paths.conf`, or the same below `~/.config`; nil for a
    /// user without a home.
    package static func standardPath() -> String? {
        path(variable: ProcessEnvironment.value, homeInUserDatabase: homeInUserDatabase)
    }

    /// A relative XDG_CONFIG_HOME is to be ignored (XDG Base Directory Specification 0.8, "Basics").
    static func path(variable: (String) -> String?, homeInUserDatabase: () -> String?) -> String? {
        path(
            name, below: (variable: "XDG_CONFIG_HOME", inHome: ".config"), variable: variable,
            homeInUserDatabase: homeInUserDatabase)
    }

    /// The path of a file of this library's: in `$MULTIPATH_HOME`, or below a folder of the XDG specification.
    static func path(
        _ name: String, below base: (variable: String, inHome: String), variable: (String) -> String?,
        homeInUserDatabase: () -> String?
    ) -> String? {
        func folder(_ path: String?) -> String? {
            guard var path, path.hasPrefix("/") else { return nil }
            while path.hasSuffix("/") { path.removeLast() }
            return path
        }
        if let home = folder(variable(homeVariable)) { return "\(home)/\(name)" }
        let folder =
            folder(variable(base.variable))
            ?? (folder(variable("HOME")) ?? folder(homeInUserDatabase())).map { $0 + "/" + base.inHome }
        return folder.map { "\($0)/multipath/\(name)" }
    }

    static func homeInUserDatabase() -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            var user = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(getuid(), &user, buffer.baseAddress!, buffer.count, &found) == 0, found != nil,
                let home = user.pw_dir
            else { return nil }
            return String(cString: home)
        }
    }

    /// More is no settings file.
    static let limit = 1 << 18

    /// The file's text; what is no UTF-8 in it is replaced.
    ///
    /// - Returns: nil where there is no such file.
    /// - Throws: what the kernel says, with the path; EFBIG for more than 256 KiB, EINVAL for what is no file.
    package func read() throws(SystemError) -> String? {
        try bytes().map { String(decoding: $0, as: UTF8.self) }
    }

    private func bytes() throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try InputFile.regularBytes(path, limit: Self.limit)
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
            throw error
        }
    }

    /// Reads the file, and writes what `edit` makes of its text. Of two programs that do it at once, the
    /// second reads what the first wrote. A reader sees the old text or the new one, whole.
    ///
    /// A file that is a symbolic link stays one: its target is written. Folders that are missing are made. Root that
    /// edits another user's settings (`sudo mppaths set`) has no more rights meanwhile than that user, wherever
    /// that user's links lead.
    /// - Parameter edit: gets nil where there is no file. Where it returns what it got (or nothing for nothing), nothing is
    ///   written.
    package func update(_ edit: (String?) throws(SystemError) -> String) throws(SystemError) {
        try FileRights.ofOwner(path).take { () throws(SystemError) in try updateAsOwner(edit) }
    }

    private func updateAsOwner(_ edit: (String?) throws(SystemError) -> String) throws(SystemError) {
        let target = try self.target()
        let folder = try Self.folder(of: target)
        // Other programs that work on a folder don't use its lock.
        try systemCall("lock \(Self.parent(of: target))") { mp_lock_exclusively(folder.number) }
        let bytes = try SettingsFile(target).bytes()
        let old = bytes.flatMap { String(validating: $0, as: UTF8.self) }
        guard (bytes == nil) == (old == nil) else {
            // Edited as text, it would lose what the user wrote.
            throw SystemError("edit \(path)", errno: EILSEQ, detail: "it is no UTF-8")
        }
        let new = try edit(old)
        if new != old ?? "" { try Self.replace(target, with: new, in: folder) }
    }

    /// Where the links lead, also where nothing is yet.
    private func target() throws(SystemError) -> String {
        var path = path
        for _ in 0..<40 {
            guard let link = FileWatch.target(of: path) else { return path }
            path = link.hasPrefix("/") ? link : Self.parent(of: path) + "/" + link
        }
        throw SystemError("write \(self.path)", errno: ELOOP)
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Opens the folder of a file, and makes what is missing of it, for its owner alone.
    static func folder(of path: String) throws(SystemError) -> Descriptor {
        let folder = parent(of: path)
        var missing: [String] = []
        var existing = folder
        while mkdir(existing, 0o700) != 0 {
            let number = errno
            if number == EEXIST || existing == "/" { break }
            guard number == ENOENT else { throw SystemError("make the folder \(existing)", errno: number) }
            missing.append(existing)
            existing = parent(of: existing)
        }
        for path in missing.reversed() where mkdir(path, 0o700) != 0 {
            let number = errno
            guard number == EEXIST else { throw SystemError("make the folder \(path)", errno: number) }
        }
        return Descriptor(
            owning: try systemCall("open \(folder)") { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    }

    /// Puts a new file in the place of an old one. It keeps the old one's rights and owner.
    static func replace(
        _ path: String, with text: String, in folder: borrowing Descriptor
    ) throws(SystemError) {
        var random = SystemRandomNumberGenerator()
        let last = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        let temporary = parent(of: path) + "/.\(last)." + String(random.next(), radix: 36)
        let file = Descriptor(
            owning: try systemCall("make \(temporary)") {
                open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            })
        do throws(SystemError) {
            var old = stat()
            if stat(path, &old) == 0 {
                // The file stays its owner's, whichever user of the group edits it.
                let status = fchown(file.number, old.st_uid, old.st_gid)
                if status != 0, old.st_uid != geteuid() {
                    throw SystemError("keep the owner of \(path)", errno: errno)
                }
                try systemCall("keep the rights of \(path)") { fchmod(file.number, old.st_mode & 0o777) }
            }
            let bytes = Array(text.utf8)
            var done = 0
            while done < bytes.count {
                done += try systemCall("write \(temporary)") {
                    bytes.withUnsafeBytes { write(file.number, $0.baseAddress! + done, $0.count - done) }
                }
            }
            // On the disk before it takes the other's place: a crash must not leave an empty file there.
            try systemCall("write \(temporary)") { fsync(file.number) }
            try systemCall("rename \(temporary) to \(path)") { rename(temporary, path) }
        } catch {
            _ = unlink(temporary)
            throw error
        }
        _ = fsync(folder.number)
    }
}
