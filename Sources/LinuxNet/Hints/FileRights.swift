import CLinux
import Glibc

/// Whose rights on files a thread has (setfsuid(2)).
///
/// Root that works below another user's folder follows that user's symbolic links. With root's rights a link to a file
/// of the system would have root write there; with the user's own rights the kernel refuses.
struct FileRights {
    private var user: uid_t?
    private var group: gid_t = 0

    /// The rights of the first user other than root to whom a part of the path belongs, where this process is root;
    /// otherwise the process's own. Above that part only root can replace anything, so the answer can't change
    /// under the caller.
    static func ofOwner(_ path: String) -> FileRights {
        guard geteuid() == 0 else { return FileRights() }
        var part = ""
        for name in path.split(separator: "/") {
            part += "/" + name
            var status = stat()
            guard lstat(part, &status) == 0 else { break }
            if status.st_uid != 0 { return FileRights(user: status.st_uid, group: status.st_gid) }
        }
        return FileRights()
    }

    /// Runs a body with these rights. The body stays on its thread.
    func take<Value>(_ body: () throws(SystemError) -> Value) throws(SystemError) -> Value {
        guard let user else { return try body() }
        // These calls tell what was before, and no error: the rights are asked for again. The group goes first and
        // comes back last, while the user may still change it.
        let oldGroup = setfsgid(group)
        let oldUser = setfsuid(user)
        defer {
            _ = setfsuid(uid_t(bitPattern: oldUser))
            _ = setfsgid(gid_t(bitPattern: oldGroup))
        }
        guard setfsuid(.max) == CInt(bitPattern: user) else {
            throw SystemError("take the rights of user \(user)", errno: EPERM)
        }
        return try body()
    }
}
