import LinuxNet

/// A listening, non-blocking socket that takes MPTCP and TCP: a peer without MPTCP gets a plain TCP
/// connection from the same socket.
public struct ListeningSocket: ~Copyable, Sendable {
    /// The endpoint, with the port the kernel chose where 0 was asked for.
    public let endpoint: IPEndpoint
    private let socket: StreamSocket
    private let transport: TransportProtocol
    let monitor: PathMonitor

    /// Listens. Where this kernel has no MPTCP, for TCP alone.
    ///
    /// - Throws: `ListenError` with the kernel's words: the address is taken, or is not this machine's.
    public init(on endpoint: IPEndpoint, monitor: PathMonitor) async throws {
        // Accepted connections are named by their interfaces, so the paths must be known before the first.
        _ = try await monitor.currentPath()
        do throws(SystemError) {
            let transport: TransportProtocol = StreamSocket.kernelSpeaksMPTCP ? .mptcp : .tcp
            let socket = try StreamSocket(endpoint.address.family, transport)
            try socket.listen(on: endpoint)
            self.endpoint = socket.localEndpoint ?? endpoint
            self.socket = socket
            self.transport = transport
            self.monitor = monitor
        } catch {
            throw ListenError(endpoint: endpoint, reason: error.words)
        }
    }

    /// Why an accepted connection is plain TCP, if it is.
    var fallbackReason: FallbackReason { transport == .mptcp ? .peer : .kernel }

    public consuming func takeDescriptor() -> CInt { socket.release() }
}

/// Why an endpoint can't be listened on.
public struct ListenError: Error, Sendable, Hashable, CustomStringConvertible {
    public var endpoint: IPEndpoint
    /// The kernel's words.
    public var reason: String

    public var description: String { "can't listen on \(endpoint): \(reason)" }
}
