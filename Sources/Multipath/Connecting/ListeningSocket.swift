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
            throw ListenError(host: "\(endpoint.address)", port: Int(endpoint.port), reason: error.words)
        }
    }

    /// The endpoint of a host by name or address, with its first address.
    package static func endpoint(host: String, port: Int) async throws(ListenError) -> IPEndpoint {
        guard let number = UInt16(exactly: port) else {
            throw ListenError(host: host, port: port, reason: "ports go from 0 to 65535")
        }
        do throws(ResolutionError) {
            guard let address = try await NameLookup.addresses(of: host).first else {
                throw ResolutionError("no address")
            }
            return IPEndpoint(address, port: number)
        } catch {
            throw ListenError(host: host, port: port, reason: error.reason)
        }
    }

    /// Why an accepted connection is plain TCP, if it is.
    var fallbackReason: FallbackReason { transport == .mptcp ? .peer : .kernel }

    /// The descriptor, whose owner the caller becomes.
    public consuming func takeDescriptor() -> CInt { socket.release() }
}

/// Why it is not possible to listen on an address and port.
public struct ListenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name or address that was asked for.
    public var host: String
    /// The port that was asked for.
    public var port: Int
    /// The kernel's words, or the resolver's.
    public var reason: String

    /// `can't listen on 127.0.0.1:80: Permission denied`
    public var description: String {
        "can't listen on \(host.contains(":") ? "[\(host)]" : host):\(port): \(reason)"
    }
}
