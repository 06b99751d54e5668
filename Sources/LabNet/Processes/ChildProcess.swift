import CLab
import Glibc
import LinuxNet

package typealias ProcessNumber = pid_t

/// Starting programs, and waiting for them and for signals.
package enum ChildProcess {
    /// Starts a program in the network namespace of this thread, found in PATH, with the signals that this
    /// process blocks and ignores as a program expects them.
    ///
    /// - Throws: ENOENT where no folder of PATH has it, EACCES where it is there but can't be executed.
    package static func start(
        _ arguments: [String], environment: [String: String], streams: [CInt: CInt] = [:]
    ) throws(SystemError) -> ProcessNumber {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var ignored = sigset_t()
        sigemptyset(&ignored)
        sigaddset(&ignored, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ignored)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, source) in streams { posix_spawn_file_actions_adddup2(&actions, source, number) }
        let program = try find(arguments[0], path: environment["PATH"])
        var process = ProcessNumber()
        let status = withCStrings(arguments) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }.sorted()) { environment in
                posix_spawn(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard status == 0 else { throw SystemError("start '\(arguments[0])'", errno: status) }
        return process
    }

    /// Where a program is, as a shell finds it. (posix_spawnp says EACCES of a program that is nowhere, as soon as
    /// one folder of PATH can't be read.)
    private static func find(_ name: String, path: String?) throws(SystemError) -> String {
        if name.contains("/") { return name }
        var failure = ENOENT
        for folder in (path ?? "/bin:/usr/bin").split(separator: ":", omittingEmptySubsequences: false) {
            let candidate = folder.isEmpty ? name : "\(folder)/\(name)"
            var status = stat()
            guard !name.isEmpty, stat(candidate, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            if access(candidate, X_OK) == 0 { return candidate }
            failure = EACCES
        }
        throw SystemError("start '\(name)'", errno: failure)
    }

    /// This process's variables.
    package static var environment: [String: String] {
        var variables: [String: String] = [:]
        guard var next = mp_environment() else { return variables }
        while let entry = next.pointee {
            let parts = String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }

    /// A child that ended: its number, and its status as a shell counts it.
    package static func reap() -> (process: ProcessNumber, status: CInt)? {
        var status: CInt = 0
        let process = waitpid(-1, &status, WNOHANG)
        guard process > 0 else { return nil }
        return (process, mp_was_signalled(status) != 0 ? 128 + mp_end_signal(status) : mp_exit_status(status))
    }

    package static func signal(_ process: ProcessNumber, _ number: CInt) { _ = kill(process, number) }

    package static func kill(_ process: ProcessNumber) { _ = Glibc.kill(process, SIGKILL) }

    private static func kill(_ process: ProcessNumber, _ number: CInt) -> CInt { Glibc.kill(process, number) }

    package static var ownNumber: ProcessNumber { getpid() }

    package static var userNumber: UInt32 { getuid() }

    /// The user of a process; nil where there is none of that number, or it can't be seen.
    package static func user(of process: ProcessNumber) -> UInt32? {
        var status = stat()
        return stat("/proc/\(process)", &status) == 0 ? status.st_uid : nil
    }
}

private func withCStrings<Value>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Value
) -> Value {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers)
}
