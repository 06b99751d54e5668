import CommandSupport
import LinuxNet
import Multipath
import MultipathNIO
import NIOCore

/// One connection of the command, from its beginning to the process's end.
struct Session: Sendable {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    let console: Console

    func connect(to destination: HostPort, _ configuration: ConnectionConfiguration) async throws -> Never {
        let (connection, stream): (MultipathConnection, Stream)
        do {
            (connection, stream) = try await endingOnSignal {
                try await MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .configure { $0 = configuration }
                    .connect(host: destination.host, port: Int(destination.port), initializer: Self.wrap)
            }
        } catch let error as ConnectionError {
            let exit = Self.exit(for: error)
            console.conclude(
                destination.host, destination.port, ConnectionOutcome(failure: error, status: exit.status))
            exit.leave()
        }
        if let report = connection.establishment {
            console.event(
                "established",
                [
                    "interface": report.interface, "remote": "\(report.remote)",
                    "transport": report.transport.isMPTCP ? "mptcp" : "tcp",
                ], text: ReportText.line(report))
        }
        await relay(destination, connection, stream)
    }

    func listen(on destination: HostPort) async throws -> Never {
        let endpoint = try await localEndpoint(destination)
        let listener: MultipathListener<Stream>
        do {
            listener = try await MultipathListener(on: endpoint, initializer: Self.wrap)
        } catch let error as ListenError {
            throw MessageError(error.description)
        }
        console.event(
            "listening", ["local": "\(listener.endpoint)"], text: "listening on \(listener.endpoint)",
            always: true)
        let accepted = try await endingOnSignal {
            try await listener.executeThenClose { connections in
                for try await accepted in connections { return accepted }
                throw MessageError("the listener closed before a connection came")
            }
        }
        let connection = accepted.connection
        let transport = ReportText.words(connection.transport)
        let peer = connection.remote?.description ?? "unknown"
        console.event(
            "accepted",
            ["remote": peer, "transport": connection.transport.isMPTCP ? "mptcp" : "tcp"],
            text: "accepted \(peer) by \(transport)", always: true)
        await relay(destination, connection, accepted.output)
    }

    private func localEndpoint(_ destination: HostPort) async throws -> IPEndpoint {
        guard !destination.host.isEmpty else {
            return IPEndpoint(IPAddress(ipv6: 0, 0), port: destination.port)
        }
        do throws(RaceMachine.ResolutionFailure) {
            guard let address = try await SystemResolver.addresses(of: destination.host).first else {
                throw RaceMachine.ResolutionFailure(reason: "no address")
            }
            return IPEndpoint(address, port: destination.port)
        } catch {
            throw MessageError("\(destination): \(error.reason)")
        }
    }

    private static func exit(for error: ConnectionError) -> CommandExit {
        switch error.code {
        case .noAllowedPath, .noRoute: .noAllowedPath
        default: .failed
        }
    }

    @Sendable
    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            return try Stream(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    // MARK: Ends

    /// Runs `body`; a termination signal cancels it and ends the process.
    private func endingOnSignal<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                if let number = await TerminationSignal.first() { CommandExit.signal(number).leave() }
                return nil
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    /// Moves bytes until both directions have ended, one has failed, or somebody wants an end.
    private func relay(
        _ destination: HostPort, _ connection: MultipathConnection, _ stream: Stream
    ) async -> Never {
        let end = await withTaskGroup(of: Relay.End?.self) { group in
            group.addTask { await Relay(stream: stream).run() }
            group.addTask { await TerminationSignal.first().map { .signal($0) } }
            var first: Relay.End?
            while first == nil, let end = await group.next() { first = end }
            group.cancelAll()
            return first ?? .done
        }
        conclude(destination, connection, end)
    }

    private func conclude(
        _ destination: HostPort, _ connection: MultipathConnection, _ end: Relay.End
    ) -> Never {
        let (exit, error): (CommandExit, String?) =
            switch end {
            case .done: (.done, nil)
            case .broke(let reason): (.failed, "\(destination): the connection broke: \(reason)")
            case .streamFailed(let reason): (.failed, reason)
            // As if by SIGPIPE: who closed the pipe knows, and wants no message.
            case .outputClosed: (.failed, nil)
            case .signal(let number): (.signal(number), nil)
            }
        console.conclude(
            destination.host, destination.port,
            ConnectionOutcome(
                establishment: connection.establishment, transfer: connection.transferReport(), error: error,
                status: exit.status))
        exit.leave()
    }
}
