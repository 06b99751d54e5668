#if HTTP
    public import HTTPTypes
    public import Multipath
    internal import MultipathNIO
    public import NIOCore
    import NIOPosix
    public import NIOSSL

    /// Sends HTTP requests over the best of this machine's paths, and the next one over a better path when there is one.
    ///
    /// ```swift
    /// let client = MultipathHTTPClient()
    /// let (response, body) = try await client.get("https://media.example/a.jpg", collectUpTo: 10_000_000) {
    ///     $0.allowsExpensiveNetworkAccess = false
    /// }
    /// print(response.status, response.metrics.path ?? "")
    /// ```
    ///
    /// One client has one pool of connections: make one, and share it. It speaks HTTP/2 where the server does, else HTTP/1.1.
    /// Connections are raced (RFC 8305) until TLS is up. A connection whose path has failed takes no further request: plain TCP
    /// never, MPTCP until it has moved to another path. An answer that has begun goes on where MPTCP
    /// carries it, and over a new connection where the server has named its version by a strong entity tag.
    public final class MultipathHTTPClient: Sendable {
        /// What a client is told once, for all its requests.
        public struct Configuration: Sendable {
            /// What requests may do that say nothing else.
            public var options = HTTPRequestOptions()
            /// What TLS trusts, and the certificate that the client shows where a server asks for one. TLS 1.2 is the least.
            public var tls = TLSConfiguration.makeClientConfiguration()
            /// The public keys that a host's servers may have, by the host's name.
            public var publicKeyPins: [String: PublicKeyPins] = [:]
            /// Which protocols are offered.
            public var protocols: Set<HTTPRequestMetrics.ProtocolName> = [.http1, .http2]
            /// Which requests go through a proxy; none unless set. `try HTTPProxies(environment:)` reads the environment's.
            public var proxies = HTTPProxies()
            /// Where cookies are kept; none are, unless it is set.
            public var cookies: HTTPCookieJar?
            /// HTTP/1.1 connections to one origin at a time. 6 unless set.
            public var maximumHTTP1Connections = 6
            /// How long a connection is kept that carries nothing. 60 s unless set.
            public var idleTimeout = Duration.seconds(60)
            /// How large an answer's head may be, all fields together, in bytes. 65,536 unless set.
            public var maximumHeadSize = 64 * 1024
            /// Fields that each request carries that does not have them itself: `User-Agent`, say.
            public var headerFields: HTTPFields = [:]

            /// The defaults.
            public init() {}
        }

        /// What the client was made with.
        public let configuration: Configuration
        let connector: Connector
        package let origins: OriginConnector
        let pool: ConnectionPool
        let loop: any EventLoop

        /// - Parameters:
        ///   - configuration: for all requests.
        ///   - connector: runs the races, with its resolver; the process's own unless given.
        ///   - group: where connections live: SwiftNIO's own threads unless given.
        public init(
            configuration: Configuration = Configuration(), connector: Connector = .shared,
            group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup
        ) {
            self.configuration = configuration
            self.connector = connector
            loop = group.next()
            let origins = OriginConnector(
                connector: connector, group: group,
                tls: TLSContexts(configuration.tls, pins: configuration.publicKeyPins))
            self.origins = origins
            var pooling = PoolMachine.Configuration()
            pooling.maximumHTTP1Connections = max(configuration.maximumHTTP1Connections, 1)
            pooling.idleTimeout = configuration.idleTimeout
            var limits = HTTPPipeline.Limits()
            limits.headSize = configuration.maximumHeadSize
            let offers = [HTTPRequestMetrics.ProtocolName.http2, .http1].filter(
                configuration.protocols.contains)
            pool = ConnectionPool(pooling, monitor: connector.monitor, loop: loop) {
                [limits] key, connecting in
                try await HTTPConnection.open(
                    key.origin, by: origins.resolving(by: key.resolving?.resolver), connecting,
                    offers: offers, proxy: key.proxy, limits: limits)
            }
        }

        deinit { pool.abandon() }

        /// Does some work with a client, and closes it.
        ///
        /// - Parameters:
        ///   - configuration: for all requests.
        ///   - connector: runs the races; the process's own unless given.
        ///   - body: the work.
        /// - Returns: what the work returns.
        /// - Throws: what the work throws.
        @discardableResult
        nonisolated(nonsending) public static func withClient<Value>(
            configuration: Configuration = Configuration(), connector: Connector = .shared,
            _ body: nonisolated(nonsending) (MultipathHTTPClient) async throws -> Value
        ) async rethrows -> Value {
            let client = MultipathHTTPClient(configuration: configuration, connector: connector)
            do {
                let value = try await body(client)
                await client.close()
                return value
            } catch {
                await client.close()
                throw error
            }
        }

        /// Takes no more requests, and returns when the connections are closed: each when its last answer is in.
        public func close() async { await pool.close() }

        /// Opens a connection for requests to come, where there is none: the first request then waits for no handshake.
        ///
        /// - Parameters:
        ///   - url: one of the origin's.
        ///   - configure: what those requests may do; connections are shared by requests that may do the same.
        /// - Throws: `MultipathHTTPError` with the code `.invalidURL`. That there is no connection is not told here.
        public func preconnect(
            to url: String, configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) throws {
            var options = configuration.options
            configure(&options)
            let origin = try HTTPOrigin(of: Self.request(.get, url))
            pool.preconnect(key(origin, options), options.connectionConfiguration)
        }

        /// A connection that is not the pool's, for another protocol than this client's.
        ///
        /// - Throws: `MultipathHTTPError`; `CancellationError`.
        package func open<Output: Sendable>(
            _ origin: HTTPOrigin, applicationProtocols: [String],
            configure: (inout HTTPRequestOptions) -> Void,
            initializer: @escaping @Sendable (any Channel, String?) -> EventLoopFuture<Output>
        ) async throws -> OriginConnector.Opened<Output> {
            var options = configuration.options
            configure(&options)
            let key = key(
                HTTPOrigin(isSecure: origin.isSecure, host: origin.host.lowercased(), port: origin.port),
                options)
            do {
                return try await origins.resolving(by: options.resolver).open(
                    key.origin, options.connectionConfiguration, applicationProtocols: applicationProtocols,
                    proxy: key.proxy, initializer: initializer)
            } catch let error as CancellationError {
                throw error
            } catch {
                throw MultipathHTTPError(notConnected: error)
            }
        }

        func key(_ origin: HTTPOrigin, _ options: HTTPRequestOptions) -> PoolKey {
            PoolKey(
                origin: origin, policy: options.policy, mode: options.mode,
                trafficClass: options.trafficClass,
                proxy: configuration.proxies.proxy(for: origin), resolving: options.resolving)
        }
    }
#endif
