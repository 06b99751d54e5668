import BenchSupport
import Multipath
import NIOCore

extension Options {
    /// Opens channels as this run's contender does.
    func dialer(on group: any EventLoopGroup) -> CheckedDialer {
        CheckedDialer(
            dialer: Dialer(contender, host: host, port: port, on: group), isMPTCP: contender != .oursTCP)
    }
}

/// A dialer whose connections have the transport that their contender stands for.
struct CheckedDialer: Sendable {
    struct WrongTransport: Error {
        var transport: Transport
    }

    let dialer: Dialer
    let isMPTCP: Bool

    func open(_ initializer: @escaping Dialer.Initializer) async throws -> any Channel {
        let opened = try await dialer.open(initializer)
        if let transport = opened.transport, transport.isMPTCP != isMPTCP {
            throw WrongTransport(transport: transport)
        }
        return opened.channel
    }

    /// Makes a first connection before anything is measured: then the process has what it has one of, and knows paths
    /// and history.
    func warmUp() async throws {
        try await open { $0.eventLoop.makeSucceededVoidFuture() }.close()
    }
}
