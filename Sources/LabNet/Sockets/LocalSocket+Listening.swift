import CLinux
import Glibc
import LinuxNet
import PathCore

extension LocalSocket {
    /// Listens under a name in the network namespace this thread is in.
    package static func listen(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        try withAddress(name) { address, length throws(SystemError) in
            try systemCall("listen as @\(name)") { bind(socket.number, address, length) }
        }
        try systemCall("listen as @\(name)") { Glibc.listen(socket.number, 16) }
        return socket
    }

    /// Connects to a listener, without waiting for it.
    ///
    /// - Throws: ECONNREFUSED without one, EAGAIN where so many others wait for it that there is no room.
    package static func connect(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        // Else a listener that takes no connection would be waited for, for ever.
        let flags = fcntl(socket.number, F_GETFL)
        _ = fcntl(socket.number, F_SETFL, flags | O_NONBLOCK)
        try withAddress(name) { address, length throws(SystemError) in
            try systemCall("connect to @\(name)") { Glibc.connect(socket.number, address, length) }
        }
        _ = fcntl(socket.number, F_SETFL, flags)
        return socket
    }

    /// The names with a prefix that have a listener in this network namespace.
    package static func names(startingWith prefix: String) -> [String] {
        let lines = (InputFile.line("/proc/net/unix") ?? "").split(separator: "\n")
        let names = lines.compactMap { line -> String? in
            let words = line.split(separator: " ")
            // __SO_ACCEPTCON: a listener, not one of its connections.
            guard words.count == 8, words[3] == "00010000", words[7].hasPrefix("@\(prefix)") else {
                return nil
            }
            return String(words[7].dropFirst())
        }
        return Array(Set(names)).sorted()
    }

    /// The user whose process is at the other end.
    package static func peerUser(_ socket: borrowing Descriptor) -> UInt32? {
        var credentials: (process: pid_t, user: uid_t, group: gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(socket.number, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            return nil
        }
        return credentials.user
    }

    package static func accept(_ listener: borrowing Descriptor) -> Descriptor? {
        let number = mp_accept(listener.number)
        return number < 0 ? nil : Descriptor(owning: number)
    }

    /// Sends a text and closes this direction, then reads the other to its end: one question, one answer.
    ///
    /// - Throws: ETIMEDOUT where the whole takes longer than `patience`, EMSGSIZE for more than 64 KiB.
    package static func ask(
        _ socket: borrowing Descriptor, _ text: String, patience: Duration = .seconds(10)
    ) throws(SystemError) -> String {
        let deadline = MonotonicTime.now.advanced(by: patience)
        let bytes = Array(text.utf8)
        try wait(socket, until: deadline)
        try systemCall("send to a local socket") {
            send(socket.number, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        }
        _ = shutdown(socket.number, CInt(SHUT_WR))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            try wait(socket, until: deadline)
            let count: Int
            do throws(SystemError) {
                count = try systemCall("receive from a local socket") {
                    recv(socket.number, &buffer, buffer.count, 0)
                }
            } catch {
                throw error.errno == EAGAIN ? SystemError(error.operation, errno: ETIMEDOUT) : error
            }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += buffer[..<count]
            if answer.count > 1 << 16 { throw SystemError("receive from a local socket", errno: EMSGSIZE) }
        }
    }

    /// Has the next call wait until then at most.
    private static func wait(
        _ socket: borrowing Descriptor, until deadline: MonotonicTime
    ) throws(SystemError) {
        let rest = MonotonicTime.now.duration(to: deadline)
        guard rest > .zero else { throw SystemError("receive from a local socket", errno: ETIMEDOUT) }
        let microseconds = max(1, rest.wholeNanoseconds / 1_000)
        var patience = timeval(
            tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                socket.number, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }
}
