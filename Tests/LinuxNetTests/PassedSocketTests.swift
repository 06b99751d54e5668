import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("A socket of another process")
struct PassedSocketTests {
    /// A listener of this machine that takes no connection any more: its queue is full.
    private final class FullListener {
        private let listener: StreamSocket
        private var others: [CInt] = []

        init() throws {
            let made = try StreamSocket(.ipv4, .tcp)
            try made.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
            _ = Glibc.listen(made.descriptor.number, 0)
            listener = made
        }

        /// Connects a socket, without waiting: to its end, or not.
        func connect(_ socket: CInt) -> Bool {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    getsockname(listener.descriptor.number, pointer, &length) == 0
                        && (Glibc.connect(socket, pointer, length) == 0 || errno == EINPROGRESS)
                }
            }
        }

        func fill() {
            for _ in 0..<4 {
                let other = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
                others.append(other)
                _ = connect(other)
            }
        }

        deinit { for other in others { close(other) } }
    }

    @Test("is in use while it connects, and is not before")
    func connecting() throws {
        let listener = try FullListener()
        listener.fill()
        let socket = try StreamSocket(.ipv4, .mptcp)
        let before = PassedSocketFacts.read(socket.descriptor)
        let hasBegun = listener.connect(socket.descriptor.number)
        let after = PassedSocketFacts.read(socket.descriptor)
        #expect(hasBegun)
        #expect((before.isMPTCP, before.isInUse) == (true, false))
        #expect((after.isMPTCP, after.isInUse) == (true, true))
    }
}
