import CLinux
import Glibc

/// Stream sockets between processes of one machine, under a name that is no file: it belongs to the network
/// namespace it was made in, and ends with its socket.
package enum LocalSocket {
    /// Listens under a name in the network namespace this thread is in.
    package static func listen(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        var address = sockaddr_un()
        let length = mp_abstract_address(&address, name)
        try systemCall("listen as @\(name)") {
            withGenericAddress(&address) { bind(socket.number, $0, length) }
        }
        try systemCall("listen as @\(name)") { Glibc.listen(socket.number, 16) }
        return socket
    }

    /// Takes a name, which nobody else in the network namespace this thread is in can have until the descriptor
    /// is closed: by its owner, or by the kernel when the process ends, whatever ended it.
    /// - Throws: EADDRINUSE where somebody has it.
    package static func take(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        var address = sockaddr_un()
        let length = mp_abstract_address(&address, name)
        try systemCall("take the name @\(name)") {
            withGenericAddress(&address) { bind(socket.number, $0, length) }
        }
        return socket
    }

    package static func connect(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        var address = sockaddr_un()
        let length = mp_abstract_address(&address, name)
        try systemCall("connect to @\(name)") {
            withGenericAddress(&address) { Glibc.connect(socket.number, $0, length) }
        }
        return socket
    }

    /// The names with a prefix that somebody listens under in this network namespace.
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
    package static func ask(_ socket: borrowing Descriptor, _ text: String) throws(SystemError) -> String {
        let bytes = Array(text.utf8)
        try systemCall("send to a local socket") {
            send(socket.number, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        }
        _ = shutdown(socket.number, CInt(SHUT_WR))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try systemCall("receive from a local socket") {
                recv(socket.number, &buffer, buffer.count, 0)
            }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += buffer[..<count]
        }
    }

    private static func make() throws(SystemError) -> Descriptor {
        Descriptor(
            owning: try systemCall("make a local socket") {
                socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
            })
    }

    private static func withGenericAddress(
        _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>) -> CInt
    ) -> CInt {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }
}
