import CommandSupport
import CommandTLS
import LinuxNet
import Multipath
import MultipathNIO
import NIOCore

/// One connection of the command, from its beginning to the process's end.
struct Session: Sendable {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    let console: Console
    /// Whether a long transfer shows its progress on the terminal.
    var showsProgress = false
    /// What happens where the connection's path is not allowed any more.
    var whenRefused = PathRefusalAction.report

    func connect(
        to destination: HostPort, _ configuration: ConnectionConfiguration, _ connector: Connector,
        tls: ClientTLS?
    ) async throws -> Never {
        let plain = MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup, connector: connector)
            .configure { $0 = configuration }
        let bootstrap = tls?.apply(to: plain) ?? plain
        let ended = await interruptible {
            try await bootstrap.connect(
                host: destination.host, port: Int(destination.port), channelInitializer: Self.wrap)
        }
        let connected = try value(of: ended, destination)
        let connection = connected.connection
        var handshake: TLSReport?
        if tls != nil { handshake = await ClientTLS.report(of: connection) }
        if let report = connection.establishment {
            var fields = [
                "interface": report.path.name, "remote": "\(report.remote)",
                "transport": report.transport.name,
            ]
            fields["tls"] = handshake?.version
            fields["alpn"] = handshake?.applicationProtocol
            let words = handshake.map { ", \($0)" } ?? ""
            console.event("established", fields, text: "\(report)\(words)")
        }
        await relay(destination, connection, connected.output, tls: handshake)
    }

    func listen(on destination: HostPort, _ mode: MultipathMode) async throws -> Never {
        let ended = await interruptible {
            try await MultipathServerBootstrap().mode(mode).bind(
                host: destination.host.isEmpty ? "::" : destination.host, port: Int(destination.port),
                childChannelInitializer: Self.wrap)
        }
        let listener = try value(of: ended, destination)
        console.event(
            "listening", ["local": "\(listener.endpoint)"], text: "listening on \(listener.endpoint)",
            always: true)
        try await listener.executeThenClose { connections in
            let (firsts, continuation) = AsyncStream.makeStream(of: Accepted.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // The listener stays open as long as its one connection: Linux answers another path's join
                // only while a socket listens on the port.
                group.addTask {
                    var isServing = false
                    for try await accepted in connections {
                        if isServing {
                            await refuse(accepted)
                        } else {
                            isServing = true
                            continuation.yield(accepted)
                        }
                    }
                    continuation.finish()
                }
                let ended = await interruptible {
                    for await accepted in firsts { return accepted }
                    throw MessageError("the listener closed before a connection came")
                }
                await serve(try value(of: ended, destination))
            }
        }
        CommandExit.done.leave()
    }

    private typealias Accepted = ConnectedChannel<Stream>

    private func serve(_ accepted: Accepted) async -> Never {
        let connection = accepted.connection
        let remote = connection.remote
        let peer = remote?.description ?? "unknown"
        console.event(
            "accepted",
            ["remote": peer, "transport": connection.transport.name],
            text: "accepted \(peer) by \(connection.transport)", always: true)
        await relay(
            HostPort(host: remote.map { "\($0.address)" } ?? "", port: remote?.port ?? 0), connection,
            accepted.output)
    }

    /// Closes a connection that came while another is served.
    private func refuse(_ accepted: Accepted) async {
        let peer = accepted.connection.remote?.description ?? "unknown"
        console.event("refused", ["remote": peer], text: "refused \(peer): one connection at a time")
        try? await accepted.output.executeThenClose { _, _ in }
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
            try channel.syncOptions?.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: 1024, initial: 64 * 1024, maximum: Relay.bufferSize))
            return try Stream(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    // MARK: Ends

    /// How an operation ended that a signal can end.
    private struct Ended<Value: Sendable>: Sendable {
        var result: Result<Value, any Error>
        /// The signal that cancelled it.
        var signal: Int32?
    }

    private enum Step<Value: Sendable>: Sendable {
        case finished(Result<Value, any Error>)
        case signal(Int32?)
    }

    /// Runs `body`; a termination signal cancels it.
    private func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Ended<Value> {
        await withTaskGroup(of: Step<Value>.self) { group in
            group.addTask {
                do { return .finished(.success(try await body())) } catch {
                    return .finished(.failure(error))
                }
            }
            group.addTask { .signal(await TerminationSignal.first()) }
            var signal: Int32?
            for await step in group {
                switch step {
                case .signal(let number): signal = number ?? signal
                case .finished(let result):
                    group.cancelAll()
                    return Ended(result: result, signal: signal)
                }
                group.cancelAll()
            }
            return Ended(result: .failure(CancellationError()), signal: signal)
        }
    }

    /// The value, or the last word and the process's end.
    private func value<Value>(of ended: Ended<Value>, _ destination: HostPort) throws -> Value {
        let outcome: ConnectionOutcome
        let interrupted = ended.signal.map(CommandExit.signal)
        switch (ended.result, interrupted) {
        case (.success(let value), nil): return value
        case (.failure(let error as ConnectionError), _):
            outcome = ConnectionOutcome(
                failure: error, status: (interrupted ?? Self.exit(for: error)).status)
        case (_, let exit?):
            outcome = ConnectionOutcome(error: nil, status: exit.status)
        case (.failure(let error as MessageError), nil):
            outcome = ConnectionOutcome(error: error.message, status: CommandExit.failed.status)
        case (.failure(let error), nil):
            outcome = ConnectionOutcome(error: "\(error)", status: CommandExit.failed.status)
        }
        console.conclude(destination.host, destination.port, outcome)
        CommandExit(status: outcome.status).leave()
    }

    /// Moves bytes until both directions have ended, one has failed, or a signal comes.
    private func relay(
        _ destination: HostPort, _ connection: MultipathConnection, _ stream: Stream, tls: TLSReport? = nil
    ) async -> Never {
        let end = await withTaskGroup(of: Relay.End?.self) { group in
            group.addTask { await Relay(stream: stream).run() }
            group.addTask { await TerminationSignal.first().map { .signal($0) } }
            group.addTask {
                for await event in connection.events { tell(event) }
                return nil
            }
            if showsProgress {
                group.addTask {
                    await Progress(connection: connection).run()
                    return nil
                }
            }
            var first: Relay.End?
            while first == nil, let end = await group.next() { first = end }
            group.cancelAll()
            return first ?? .done
        }
        conclude(destination, connection, tls, end)
    }

    /// Tells what happens to the connection's path.
    private func tell(_ event: ConnectionEvent) {
        switch event {
        // The establishment was told with what TLS found; the report is the last word.
        case .established, .closed: break
        case .fallback(let reason) where reason != .afterHandshake: break
        // It guards money: a person who did not ask for events is told, too.
        case .pathNotAllowed: console.event(event.name, event.fields, text: "\(event)", always: true)
        case .waiting(let omissions): console.waiting(omissions, always: false)
        case .fallback, .viabilityChanged, .betterPathAvailable, .pathChanged, .steering, .dropped:
            console.event(event.name, event.fields, text: "\(event)")
        }
    }

    private func conclude(
        _ destination: HostPort, _ connection: MultipathConnection, _ tls: TLSReport?, _ end: Relay.End
    ) -> Never {
        let path = connection.currentPath
        let (exit, error): (CommandExit, String?) =
            switch end {
            case .done: (.done, nil)
            case .broke where whenRefused == .close && path?.refusal != nil:
                (.noAllowedPath, path.map { "\(destination): ended: \(ConnectionEvent.pathChanged($0))" })
            case .broke(let reason): (.failed, "\(destination): the connection broke: \(reason)")
            case .streamFailed(let reason): (.failed, reason)
            // As if by SIGPIPE: the reader closed the pipe itself, and needs no message.
            case .outputClosed: (.failed, nil)
            case .signal(let number): (.signal(number), nil)
            }
        console.conclude(
            destination.host, destination.port,
            ConnectionOutcome(
                establishment: connection.establishment, transfer: connection.transferReport(),
                path: path, tls: tls, error: error, status: exit.status))
        exit.leave()
    }
}
