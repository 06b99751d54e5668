import Glibc
import NIOCore
import NIOPosix

extension Channel {
    /// The socket's number. It is open for as long as the channel is.
    var descriptor: CInt {
        get async throws { try await eventLoop.submit { try self.descriptorHere() }.get() }
    }

    /// Has the socket use a congestion control, by the kernel's name; nil for the host's own. Subflows that join later
    /// get it too. CAP_NET_ADMIN over the namespace allows every one that the kernel has.
    ///
    /// - Throws: the kernel's refusal.
    func setCongestionControl(_ name: String?) async throws {
        guard let name else { return }
        try await eventLoop.submit { try self.setCongestionControlHere(name) }.get()
    }

    /// The same, on the channel's event loop.
    func setCongestionControlHere(_ name: String?) throws {
        guard let name else { return }
        let descriptor = try descriptorHere()
        let status = setsockopt(
            descriptor, CInt(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
        guard status == 0 else {
            throw IOError(errnoCode: errno, reason: "use the congestion control \(name)")
        }
    }

    private func descriptorHere() throws -> CInt {
        try pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 } ?? -1
    }
}
