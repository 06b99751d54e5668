import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Stream sockets")
struct StreamSocketTests {
    private let loopback = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)

    private func connect(
        _ client: TransportProtocol, to server: TransportProtocol
    ) async throws -> TransportSample? {
        let listener = try StreamSocket(.ipv4, server)
        try listener.listen(on: loopback)
        let local = listener.localEndpoint
        let endpoint = try #require(local)
        let socket = try StreamSocket(.ipv4, client)
        try socket.bind(toInterface: 1)
        let isConnected = try socket.connect(to: endpoint)
        if !isConnected {
            _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable)
        }
        let error = socket.consumeError()
        #expect(error == nil)
        return TransportSample.read(socket.descriptor.number)
    }

    @Test("of MPTCP tell whether the peer speaks it")
    func fallback() async throws {
        let both = try #require(try await connect(.mptcp, to: .mptcp))
        #expect(both.kind != .tcp)
        #expect(both.subflows.map(\.local?.address) == [loopback.address])
        let plain = try #require(try await connect(.mptcp, to: .tcp))
        #expect(plain.kind == .tcp)
    }

    @Test("of TCP have one subflow with both endpoints and a round-trip time")
    func plain() async throws {
        let sample = try #require(try await connect(.tcp, to: .tcp))
        #expect(sample.kind == .tcp)
        #expect(sample.subflows.count == 1)
        #expect(sample.subflows[0].remote?.address == loopback.address)
        #expect(sample.subflows[0].smoothedRTT > .zero)
    }

    @Test("tell their subflows on older kernels as on newer ones")
    func olderKernels() async throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: loopback)
        let local = listener.localEndpoint
        let socket = try StreamSocket(.ipv4, .mptcp)
        let isConnected = try socket.connect(to: try #require(local))
        if !isConnected { _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable) }
        let full = TransportSample.full(socket.descriptor.number)?.subflows.first
        let numbered = TransportSample.numberedSubflows(socket.descriptor.number)?.first
        #expect(full != nil)
        #expect(full?.local == numbered?.local)
        #expect(full?.remote == numbered?.remote)
        #expect(full?.minimumRTT == numbered?.minimumRTT)
    }

    @Test("name the operation and the kernel's words when they fail")
    func refused() async throws {
        let closed = try StreamSocket(.ipv4, .tcp)
        try closed.listen(on: loopback)
        let local = closed.localEndpoint
        let endpoint = try #require(local)
        _ = consume closed
        let socket = try StreamSocket(.ipv4, .tcp)
        var failure: SystemError?
        do throws(SystemError) {
            if try !socket.connect(to: endpoint) { failure = socket.consumeError() }
        } catch {
            failure = error
        }
        #expect(failure == SystemError("connect", errno: 111))
        #expect("\(SystemError("connect", errno: 111, detail: "no"))" == "connect: Connection refused (no)")
    }

    @Test("that stay half open get the peer's answer, and leave its program nothing to accept")
    func halfOpen() async throws {
        let listener = try StreamSocket(.ipv4, .tcp)
        try listener.listen(on: loopback)
        let local = listener.localEndpoint
        let endpoint = try #require(local)
        for _ in 0..<20 {
            let socket = try StreamSocket(.ipv4, .tcp)
            try socket.staysHalfOpen()
            let isConnected = try socket.connect(to: endpoint)
            if !isConnected {
                _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable)
            }
            let error = socket.consumeError()
            #expect(error == nil)
        }
        // An ordinary connection is the first that the listener gets.
        let ordinary = try StreamSocket(.ipv4, .tcp)
        let isConnected = try ordinary.connect(to: endpoint)
        if !isConnected {
            _ = await EventThread.shared.ready(ordinary.descriptor.number, for: .writable)
        }
        _ = await EventThread.shared.ready(listener.descriptor.number, for: .readable)
        let first = Descriptor(owning: accept(listener.descriptor.number, nil, nil))
        let (accepted, own) = (SocketOption.remoteEndpoint(of: first.number), ordinary.localEndpoint)
        #expect(accepted != nil && accepted == own)
    }

    @Test("of MPTCP that are idle hear from the peer when they probe, and keep their own settings")
    func probe() async throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: loopback)
        let local = listener.localEndpoint
        let endpoint = try #require(local)
        let socket = try StreamSocket(.ipv4, .mptcp)
        let number = socket.descriptor.number
        let isConnected = try socket.connect(to: endpoint)
        if !isConnected { _ = await EventThread.shared.ready(number, for: .writable) }
        try SocketOption.set(number, CInt(IPPROTO_TCP), TCP_KEEPIDLE, 77, "TCP_KEEPIDLE")
        func silence() -> Duration? { TransportSample.read(number)?.subflows.first?.sinceAcknowledgement }
        // The kernel probes what has been idle for a second.
        try await Program.wait("a second without a word") { (silence() ?? .zero) >= .milliseconds(1010) }
        let probe = try #require(KeepaliveProbe(number))
        try await Program.wait("the answer") { (silence() ?? .seconds(9)) < .milliseconds(900) }
        probe.restore(number)
        #expect(SocketOption.get(number, SOL_SOCKET, SO_KEEPALIVE) == 0)
        #expect(SocketOption.get(number, CInt(IPPROTO_TCP), TCP_KEEPIDLE) == 77)
    }
}
