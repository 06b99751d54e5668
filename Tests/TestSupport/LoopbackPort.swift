import Glibc

/// A port of loopback (IPv4) that no other process can take while this lives. Nothing listens there: a stream is refused, and
/// a question by UDP finds no answer.
public final class LoopbackPort {
    public let number: UInt16
    private let socket: CInt

    public init(_ kind: __socket_type) throws {
        let socket = Glibc.socket(AF_INET, CInt(kind.rawValue), 0)
        self.socket = socket
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
            }
        }
        number = UInt16(bigEndian: name.sin_port)
        guard status == 0 else { throw Program.TimedOut(description: "no free port") }
    }

    deinit { close(socket) }
}
