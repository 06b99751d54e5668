#if HTTP
    import LinuxNet
    public import Multipath
    internal import MultipathNIO

    /// What became of a request: its path, its protocol and its times.
    public struct HTTPRequestMetrics: Sendable {
        /// A protocol, by its name in TLS (ALPN, RFC 7301).
        public enum ProtocolName: String, Sendable, Hashable {
            /// HTTP/1.1.
            case http1 = "http/1.1"
            /// HTTP/2.
            case http2 = "h2"
        }

        /// The protocol of the connection that brought the answer.
        public var protocolName = ProtocolName.http1
        /// The path that carries that connection now, with its tags and their sources; nil where its interface is gone.
        public var path: ConnectionPath?
        /// How that connection came about: each attempt with its times, the time of name resolution.
        public var establishment: EstablishmentReport?
        /// MPTCP, or plain TCP and why.
        public var transport: Transport?
        /// Whether the connection had carried a request before this one.
        public var isReusedConnection = false

        /// How long the request waited for a connection: nothing where one was ready.
        public var waited: Duration?
        /// From the call until the request's head went out for the last time.
        public var requestStart: Duration?
        /// From the call until the answer's head was there.
        public var responseStart: Duration?
        /// From the call until the answer's last byte; nil where that is still to come.
        public var responseEnd: Duration?
        /// How long name resolution took; nil on a connection that was there already.
        public var nameResolution: Duration? { isReusedConnection ? nil : establishment?.resolution }
        /// How long the winning attempt's TCP or MPTCP handshake took; nil on a connection that was there already.
        public var connect: Duration? { isReusedConnection ? nil : establishment?.winner?.connectedAfter }
        /// How long TLS took; nil without TLS, and on a connection that was there already.
        public var secureConnection: Duration? {
            guard !isReusedConnection, isSecure, let winner = establishment?.winner,
                let connected = winner.connectedAfter
            else { return nil }
            return winner.duration - connected
        }
        /// Whether the origin is spoken to by TLS.
        public var isSecure = false

        /// How often the request was sent again because its connection broke.
        public var retryCount = 0
        /// How often the rest of the answer's body was asked for on another connection.
        public var continuationCount = 0
        /// How many redirects were followed.
        public var redirectCount = 0
        /// How often the data of the connection went another way, and why, since the connection came about.
        public var moves: [TransferReport.Move] = []
        /// Bytes of the answer's body so far, after decompression, each counted once.
        public var bodyBytesReceived: Int64 = 0
    }

    /// Gathers a request's metrics, from any thread.
    final class MetricsRecord: Sendable {
        private struct State {
            var metrics = HTTPRequestMetrics()
            var connection: MultipathConnection?
        }

        private let state = Locked(State())
        let begun = MonotonicTime.now

        var metrics: HTTPRequestMetrics {
            let (metrics, connection) = state.withLock { ($0.metrics, $0.connection) }
            var whole = metrics
            if let connection {
                whole.establishment = connection.establishment
                whole.transport = connection.transport
                whole.path = connection.currentPath
                whole.moves = connection.transferReport().moves
            }
            return whole
        }

        /// Bytes that have come over the request's connection since that came about, of whatever request.
        var bytesReceived: UInt64 {
            state.withLock { $0.connection }?.transferReport().bytesReceived ?? 0
        }

        /// From the call until now.
        var elapsed: Duration { begun.duration(to: .now) }

        func update(_ body: (inout HTTPRequestMetrics) -> Void) { state.withLock { body(&$0.metrics) } }

        func leased(
            _ connection: MultipathConnection, _ name: HTTPRequestMetrics.ProtocolName, isReused: Bool,
            waited: Duration
        ) {
            state.withLock { state in
                state.connection = connection
                state.metrics.protocolName = name
                state.metrics.isReusedConnection = isReused
                state.metrics.waited = waited
            }
        }

        /// Another connection brings the rest of the body.
        ///
        /// - Parameters:
        ///   - bytes: how many bytes it has brought that the one before has not; below zero where it begins before the other's end.
        ///   - ended: when its last byte was there; nil where that is still to come.
        func continued(on lease: ConnectionPool.Lease, bytes: Int64, ended: Duration?) {
            state.withLock { state in
                state.connection = lease.connection.connection
                state.metrics.protocolName = lease.connection.protocolName
                state.metrics.isReusedConnection = lease.isReused
                state.metrics.continuationCount += 1
                state.metrics.bodyBytesReceived += bytes
                state.metrics.responseEnd = ended
            }
        }
    }
#endif
