#if HTTP
    import LinuxNet
    package import Multipath
    package import MultipathNIO
    import MultipathTLS
    import NIOCore
    import NIOExtras
    import NIOHTTP1
    import NIOSSL
    import NIOTLS

    /// Opens channels to origins over the best of this machine's paths: raced, with TLS where the origin wants it, through a
    /// proxy where there is one. What is spoken over the channel is the caller's.
    package struct OriginConnector: Sendable {
        let connector: Connector
        let group: any EventLoopGroup
        let tls: TLSContexts

        /// - Parameters:
        ///   - connector: runs the races.
        ///   - group: where the channels live.
        ///   - tls: what TLS trusts, shows and pins.
        package init(connector: Connector, group: any EventLoopGroup, tls: TLSContexts) {
            self.connector = connector
            self.group = group
            self.tls = tls
        }

        /// The same with another resolver; nil for the one that it has.
        package func resolving(by resolver: (any Resolver)?) -> OriginConnector {
            guard let resolver else { return self }
            return OriginConnector(connector: connector.resolving(by: resolver), group: group, tls: tls)
        }

        /// An open channel.
        package struct Opened<Output: Sendable>: Sendable {
            /// The connection, with its events and reports.
            package let connection: MultipathConnection
            /// What the initializer made.
            package let output: Output
        }

        /// Opens a channel.
        ///
        /// - Parameters:
        ///   - origin: where it leads.
        ///   - configuration: allowed paths, mode, timeout.
        ///   - applicationProtocols: what is offered in the TLS handshake (ALPN, RFC 7301), the preferred one first.
        ///   - proxy: asked to open the way by CONNECT (RFC 9110 section 9.3.6); nil for none.
        ///   - initializer: adds handlers when TLS is up, where there is TLS, and before the first byte behind it is read. It
        ///     gets the protocol that both ends agreed on. It runs for each attempt of the race that comes so far.
        /// - Throws: `ConnectionError`, which lists every attempt; `MultipathHTTPError` where the proxy refuses; `TLSFailure`
        ///   behind a proxy; what the initializer throws.
        package func open<Output: Sendable>(
            _ origin: HTTPOrigin, _ configuration: ConnectionConfiguration, applicationProtocols: [String],
            proxy: HTTPProxy? = nil,
            initializer: @escaping @Sendable (any Channel, String?) -> EventLoopFuture<Output>
        ) async throws -> Opened<Output> {
            let bootstrap = MultipathBootstrap(group: group, connector: connector).configure {
                $0 = configuration
            }
            if let proxy {
                return try await open(
                    origin, bootstrap, applicationProtocols, through: proxy,
                    within: configuration.connectTimeout,
                    initializer)
            }
            guard origin.isSecure else {
                let connected = try await bootstrap.connect(host: origin.host, port: origin.port) {
                    initializer($0, nil)
                }
                return Opened(connection: connected.connection, output: connected.output)
            }
            let client = try tls.client(for: origin.host, applicationProtocols)
            let connected = try await client.apply(to: bootstrap).connect(
                host: origin.host, port: origin.port
            ) { channel in
                channel.eventLoop.makeCompletedFuture { try Self.negotiate(on: channel, initializer) }
            }
            return try await Self.opened(connected)
        }

        /// Adds what waits for TLS and then for the initializer.
        private static func negotiate<Output: Sendable>(
            on channel: any Channel,
            _ initializer: @escaping @Sendable (any Channel, String?) -> EventLoopFuture<Output>
        ) throws -> EventLoopFuture<Output> {
            let handler = NIOTypedApplicationProtocolNegotiationHandler<Output> { result, channel in
                switch result {
                case .negotiated(let name): initializer(channel, name)
                case .fallback: initializer(channel, nil)
                }
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            return handler.protocolNegotiationResult
        }

        private static func opened<Output: Sendable>(
            _ connected: ConnectedChannel<EventLoopFuture<Output>>
        ) async throws -> Opened<Output> {
            do {
                let output = try await withTaskCancellationHandler {
                    try await connected.output.get()
                } onCancel: {
                    connected.channel.close(promise: nil)
                }
                return Opened(connection: connected.connection, output: output)
            } catch {
                connected.channel.close(promise: nil)
                try Task.checkCancellation()
                throw error
            }
        }
    }

    // MARK: Through a proxy

    extension OriginConnector {
        private func open<Output: Sendable>(
            _ origin: HTTPOrigin, _ bootstrap: MultipathBootstrap, _ applicationProtocols: [String],
            through proxy: HTTPProxy, within limit: Duration,
            _ initializer: @escaping @Sendable (any Channel, String?) -> EventLoopFuture<Output>
        ) async throws -> Opened<Output> {
            let client = origin.isSecure ? try tls.client(for: origin.host, applicationProtocols) : nil
            // NIOSSL compares a certificate with the address of the channel's other end, which is the proxy.
            if origin.isSecure, tls.verifiesNames, IPAddress(origin.host) != nil {
                throw MultipathHTTPError(
                    .invalidURL,
                    "through a proxy the certificate of an address can't be checked: use \(origin)'s name")
            }
            let connected = try await bootstrap.connect(host: proxy.host, port: proxy.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.tunnel(channel, to: origin, proxy, within: limit).flatMap {
                        () -> EventLoopFuture<Output> in
                        guard let client else { return initializer(channel, nil) }
                        return channel.eventLoop.flatSubmit {
                            Self.secure(channel, client, initializer)
                        }
                    }
                }
            }
            let channel = connected.channel
            let isLate = Locked(false)
            let timer = channel.eventLoop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
                isLate.withLock { $0 = true }
                channel.close(promise: nil)
            }
            defer { timer.cancel() }
            do {
                return try await Self.opened(connected)
            } catch {
                guard isLate.withLock({ $0 }) else { throw error }
                throw MultipathHTTPError(
                    .proxy, "no way to \(origin) through the proxy \(proxy) within \(limit)",
                    underlying: error)
            }
        }

        /// Why the proxy opens no way, in words.
        ///
        /// - Parameter status: of its answer; nil where there was none.
        private static func refusal(
            _ error: any Error, _ status: HTTPResponseStatus?, _ origin: HTTPOrigin, _ proxy: HTTPProxy
        ) -> any Error {
            guard let error = error as? NIOHTTP1ProxyConnectHandler.Error else { return error }
            let words: String
            if let status {
                words = "\(status.code) \(status.reasonPhrase)"
            } else {
                words = "it closed the connection, or its answer is none"
            }
            var failure = MultipathHTTPError(
                .proxy, "the proxy \(proxy) opens no way to \(origin): \(words)", underlying: error)
            failure.status = status.map { Int($0.code) }
            return failure
        }

        /// Sends CONNECT. When its future succeeds, the channel leads to the origin. Its handler keeps the channel until the time is over.
        private static func tunnel(
            _ channel: any Channel, to origin: HTTPOrigin, _ proxy: HTTPProxy, within limit: Duration
        ) throws -> EventLoopFuture<Void> {
            var fields = HTTPHeaders()
            if let credentials = proxy.authorization {
                fields.add(name: "Proxy-Authorization", value: credentials)
            }
            let (encoder, decoder) = (
                HTTPRequestEncoder(),
                ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
            )
            let connected = channel.eventLoop.makePromise(of: Void.self)
            let connect = NIOHTTP1ProxyConnectHandler(
                targetHost: origin.host.contains(":") ? "[\(origin.host)]" : origin.host,
                targetPort: origin.port, headers: fields,
                deadline: .now() + .nanoseconds(limit.wholeNanoseconds) + .seconds(1),
                promise: connected)
            let recorder = StatusRecorder()
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandlers(encoder, decoder, recorder, connect)
            let handlers = NIOLoopBound((encoder, decoder, recorder), eventLoop: channel.eventLoop)
            return connected.futureResult.flatMapErrorThrowing { error in
                throw refusal(error, handlers.value.2.status, origin, proxy)
            }.flatMap {
                let pipeline = channel.pipeline.syncOperations
                pipeline.removeHandler(handlers.value.2, promise: nil)
                return pipeline.removeHandler(handlers.value.0).flatMap {
                    channel.pipeline.syncOperations.removeHandler(handlers.value.1)
                }
            }
        }

        private static func secure<Output: Sendable>(
            _ channel: any Channel, _ client: TLSClient,
            _ initializer: @escaping @Sendable (any Channel, String?) -> EventLoopFuture<Output>
        ) -> EventLoopFuture<Output> {
            do {
                let pipeline = channel.pipeline.syncOperations
                let observer = FirstErrorObserver()
                try pipeline.addHandlers(client.handlers())
                let result = try negotiate(on: channel, initializer)
                try pipeline.addHandler(observer)
                let bound = NIOLoopBound(observer, eventLoop: channel.eventLoop)
                return result.flatMapErrorThrowing { throw bound.value.first ?? $0 }.always { _ in
                    channel.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
                }
            } catch {
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
    }

    /// Keeps the status of a proxy's answer.
    private final class StatusRecorder: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart

        private(set) var status: HTTPResponseStatus?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data) { status = head.status }
            context.fireChannelRead(data)
        }
    }

    /// Keeps the first error of a channel, which tells why it closed.
    private final class FirstErrorObserver: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        private(set) var first: (any Error)?

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            first = first ?? error
            context.fireErrorCaught(error)
        }
    }
#endif
