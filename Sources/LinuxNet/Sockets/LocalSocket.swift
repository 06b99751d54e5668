import CLinux
import Glibc

/// Stream sockets between processes of one machine, under a name that is no file: the name belongs to the network
/// namespace it was made in, and ends with its socket.
package enum LocalSocket {
    /// Claims a name, which no other process of this thread's network namespace can have until the descriptor is
    /// closed: by its owner, or by the kernel when the process ends, however it ends.
    /// - Throws: EADDRINUSE where another process has it.
    package static func claim(_ name: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        try withAddress(name) { address, length throws(SystemError) in
            try systemCall("claim the name @\(name)") { bind(socket.number, address, length) }
        }
        return socket
    }

    package static func make() throws(SystemError) -> Descriptor {
        Descriptor(
            owning: try systemCall("make a local socket") {
                socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
            })
    }

    /// Calls `body` with a name's address as the kernel wants it.
    package static func withAddress(
        _ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) {
        var address = sockaddr_un()
        let length = mp_abstract_address(&address, name)
        try withUnsafePointer(to: &address) { pointer throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(SystemError) in
                try body(address, length)
            }
        }
    }
}
