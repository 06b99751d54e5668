// Leaving the machine: a process of one thread puts itself and its child into namespaces of their own. The
// child is the first of its process namespace, so everything that starts there ends when it does; and it
// ends when its parent does, whatever ended that.

import CLab
import Glibc
import LinuxNet

package enum Isolation {
    /// Why a process may not have namespaces of its own, and what forbids it.
    package struct Forbidden: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Puts the process into a mount, network and process namespace, with a user namespace around them
    /// where it may not have them otherwise, and forks a child.
    ///
    /// Programs keep their user: its number is mapped to itself, and the capabilities that networking needs
    /// are kept across exec. So ssh finds its keys, and no program tries to drop what root would have.
    ///
    /// Call it before any other thread exists.
    ///
    /// - Parameter inner: what the child does, on a thread of its own (`ForkedProcess`).
    /// - Returns: the child, and only in the parent. It throws in the child, too, where that can't begin.
    package static func split(_ inner: @escaping () -> Never) throws -> ProcessNumber {
        let (user, group) = (geteuid(), getegid())
        if mp_may_administer() == 0 { try makeUserNamespace(user, group) }
        try attempt("make namespaces") {
            mp_unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID)
        }
        // Nothing mounted from here on is seen outside.
        try systemCall("make the mounts private") { mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) }
        var ends: [CInt] = [0, 0]
        try systemCall("make a pipe") { mp_pipe(&ends) }
        let child = try systemCall("fork") { mp_fork() }
        if child > 0 {
            close(ends[0])
            return child
        }
        close(ends[1])
        try systemCall("end with the parent") { mp_end_with_parent(ends[0]) }
        close(ends[0])
        let kept = [CAP_NET_ADMIN, CAP_NET_RAW, CAP_NET_BIND_SERVICE]
        try systemCall("keep capabilities") { mp_keep_capabilities(kept, CInt(kept.count)) }
        try systemCall("mount /proc") {
            mount("proc", "/proc", "proc", UInt(MS_NOSUID | MS_NODEV | MS_NOEXEC), nil)
        }
        try ForkedProcess.goOn(inner)
    }

    private static func makeUserNamespace(_ user: uid_t, _ group: gid_t) throws {
        try attempt("make a user namespace") { mp_unshare(CLONE_NEWUSER) }
        // A process may map its own group only after giving up changing groups (user_namespaces(7)).
        try ControlFile.write("deny", to: "/proc/self/setgroups")
        try ControlFile.write("\(user) \(user) 1", to: "/proc/self/uid_map")
        try ControlFile.write("\(group) \(group) 1", to: "/proc/self/gid_map")
    }

    private static func attempt(_ operation: String, _ body: () -> CInt) throws {
        do throws(SystemError) {
            try systemCall(operation, body)
        } catch {
            throw Forbidden(description: "\(error); \(reason(error.errno))")
        }
    }

    /// The setting that forbids it, by its own file.
    private static func reason(_ errno: CInt) -> String {
        func value(_ name: String) -> String? { InputFile.line("/proc/sys/\(name)") }
        if value("kernel/unprivileged_userns_clone") == "0" {
            return "the sysctl kernel.unprivileged_userns_clone is 0: set it to 1, or run as root"
        }
        if value("user/max_user_namespaces") == "0" {
            return "the sysctl user.max_user_namespaces is 0: raise it, or run as root"
        }
        if value("user/max_net_namespaces") == "0" {
            return "the sysctl user.max_net_namespaces is 0: raise it"
        }
        if value("kernel/apparmor_restrict_unprivileged_userns") == "1" {
            return """
                AppArmor forbids it (the sysctl kernel.apparmor_restrict_unprivileged_userns is 1): set it to \
                0, give this program a profile with 'userns,', or run as root
                """
        }
        return errno == ENOSPC
            ? "there are too many namespaces (the sysctls user.max_*_namespaces)"
            : "a container's seccomp or LSM policy forbids user namespaces here"
    }
}
