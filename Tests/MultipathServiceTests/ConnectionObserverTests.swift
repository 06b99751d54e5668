#if Service
    import InMemoryTracing
    import MetricsTestKit
    import MultipathService
    import Testing
    import Tracing

    @testable import Multipath

    /// Connections on loopback: one that comes about, and one to a port on which nothing listens.
    private final class Connections: Sendable {
        let listener: ListeningSocket
        let monitor = PathMonitor()

        init() async throws {
            let loopback = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)
            listener = try await ListeningSocket(on: loopback, monitor: monitor)
        }

        /// Connects by name, carries 3 bytes there and 5 back, and closes.
        func connect(_ observer: any ConnectionObserver) async throws -> EstablishmentReport {
            let connector = Connector(
                monitor: monitor,
                resolver: StaticResolver(["server.example": [IPAddress(ipv4: 0x7F00_0001)]]),
                observers: [observer])
            let socket = try await connector.connect(
                host: "server.example", port: Int(listener.endpoint.port))
            let (report, follower) = (socket.report, try socket.follow())
            follower.didSend(3)
            follower.didReceive(5)
            follower.stop()
            return report
        }

        func fail(_ observer: any ConnectionObserver) async throws -> ConnectionError {
            let connector = Connector(monitor: monitor, observers: [observer])
            return try #require(
                await #expect(throws: ConnectionError.self) {
                    _ = try await connector.connect(host: "127.0.0.1", port: 1)
                })
        }
    }

    @Suite("Metrics of connections")
    struct ConnectionMetricsTests {
        private func counters(_ metrics: TestMetrics) -> [String: Int64] {
            metrics.counters.reduce(into: [:]) { counters, counter in
                let labels = counter.dimensions.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
                counters["\(counter.label) \(labels)"] = counter.totalValue
            }
        }

        private func timers(_ metrics: TestMetrics) -> [String: [Int64]] {
            metrics.timers.reduce(into: [:]) { timers, timer in
                let labels = timer.dimensions.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
                timers["\(timer.label) \(labels)"] = timer.values
            }
        }

        @Test("count it by path and transport, its attempts by outcome, its bytes at its end, and time it")
        func connection() async throws {
            let metrics = TestMetrics()
            let report = try await Connections().connect(ConnectionMetrics(factory: metrics))
            #expect(
                counters(metrics) == [
                    "multipath_connections_total interface=lo transport=mptcp fallback=none": 1,
                    "multipath_attempts_total interface=lo protocol=mptcp outcome=won": 1,
                    "multipath_sent_bytes_total interface=lo": 3,
                    "multipath_received_bytes_total interface=lo": 5,
                    "multipath_retransmitted_bytes_total interface=lo": 0,
                ])
            var timers = timers(metrics)
            let lifetime = timers.removeValue(forKey: "multipath_connection_duration transport=mptcp")
            #expect(lifetime?.count == 1)
            let rtt = try #require(report.handshakeRTT)
            #expect(
                timers == [
                    "multipath_connect_duration transport=mptcp": [report.duration.wholeNanoseconds],
                    "multipath_handshake_rtt interface=lo": [rtt.wholeNanoseconds],
                ])
        }

        @Test("count a failure by its code")
        func failure() async throws {
            let metrics = TestMetrics()
            _ = try await Connections().fail(ConnectionMetrics(factory: metrics))
            #expect(
                counters(metrics) == [
                    "multipath_connection_failures_total code=all_attempts_failed": 1,
                    "multipath_attempts_total interface=lo protocol=mptcp outcome=failed": 1,
                    "multipath_attempts_total interface=lo protocol=tcp outcome=failed": 1,
                ])
            #expect(metrics.timers.isEmpty)
        }

        @Test("know no interface by an address")
        func address() {
            let metrics = TestMetrics()
            ConnectionMetrics(factory: metrics).closed(
                TransferReport(
                    transport: .tcp(fallback: .peer), control: .observeOnly(because: .plainTCP),
                    duration: .seconds(1),
                    paths: [
                        TransferReport.PathTransfer(
                            path: "192.0.2.2", subflows: 1, bytesSent: .max, bytesReceived: 1,
                            bytesRetransmitted: 0, smoothedRTT: .zero)
                    ]))
            #expect(
                metrics.counterTotal(
                    label: "multipath_sent_bytes_total", dimensions: [("interface", "unknown")]) == .max)
        }
    }

    @Suite("Traces of connections")
    struct ConnectionTracingTests {
        /// A finished span, to be compared as a whole.
        private struct Span {
            var name: String
            var parent: String?
            var id: String
            var start: UInt64
            var end: UInt64
            var attributes: [String: String]
            var events: [String: UInt64]
            var error: String?

            init(_ span: FinishedInMemorySpan) {
                (name, parent, id) = (span.operationName, span.parentSpanID, span.spanID)
                start = span.startInstant.nanosecondsSinceEpoch
                end = span.endInstant.nanosecondsSinceEpoch
                var attributes: [String: String] = [:]
                func add(_ key: String, _ value: SpanAttribute) { attributes[key] = Self.text(value) }
                span.attributes.forEach(add)
                self.attributes = attributes
                events = Dictionary(
                    uniqueKeysWithValues: span.events.map { ($0.name, $0.nanosecondsSinceEpoch) })
                error = span.status.flatMap { $0.code == .error ? $0.message : nil }
            }

            private static func text(_ value: SpanAttribute) -> String {
                switch value {
                case .int32(let number): "\(number)"
                case .int64(let number): "\(number)"
                case .double(let number): "\(number)"
                case .string(let text): text
                case .stringArray(let texts): texts.joined(separator: ", ")
                default: "\(value)"
                }
            }
        }

        @Test("show the connection, in it the resolution and each attempt, at the times of the report")
        func connection() async throws {
            let tracer = InMemoryTracer()
            let connections = try await Connections()
            let before = DefaultTracerClock.now.nanosecondsSinceEpoch
            let outer = tracer.startSpan("request")
            let report = try await ServiceContext.withValue(outer.context) {
                try await connections.connect(ConnectionTracing(tracer: tracer))
            }
            let after = DefaultTracerClock.now.nanosecondsSinceEpoch
            let spans = tracer.finishedSpans.map(Span.init)
            #expect(spans.map(\.name) == ["multipath.resolve", "multipath.attempt", "multipath.connect"])
            let (resolve, attempt, connect) = (spans[0], spans[1], spans[2])
            func nanoseconds(_ duration: Duration) -> UInt64 { UInt64(duration.wholeNanoseconds) }

            #expect(connect.parent == outer.spanID)
            #expect(resolve.parent == connect.id)
            #expect(attempt.parent == connect.id)

            #expect(before <= connect.start)
            #expect(connect.end <= after)
            #expect(connect.end - connect.start == nanoseconds(report.duration))
            #expect(resolve.start == connect.start)
            #expect(resolve.end - resolve.start == nanoseconds(report.resolution))
            let won = try #require(report.winner)
            #expect(attempt.start - connect.start == nanoseconds(won.startedAfter))
            #expect(attempt.end - attempt.start == nanoseconds(won.duration))
            #expect(
                attempt.events == ["connected": attempt.start + nanoseconds(try #require(won.connectedAfter))]
            )

            let port = "\(connections.listener.endpoint.port)"
            #expect(
                connect.attributes == [
                    "server.address": "server.example", "server.port": port, "network.transport": "tcp",
                    "network.peer.address": "127.0.0.1", "network.peer.port": port,
                    "network.local.address": "127.0.0.1",
                    "network.local.port": "\(try #require(report.local).port)", "network.type": "ipv4",
                    "network.interface.name": "lo", "multipath.mode": "handover",
                    "multipath.transport": "mptcp", "multipath.win_reason": "first_choice",
                    "multipath.handshake_rtt_ms": "\(try #require(report.handshakeRTT).inMilliseconds)",
                ])
            #expect(
                attempt.attributes == [
                    "network.peer.address": "127.0.0.1", "network.peer.port": port,
                    "network.transport": "tcp", "network.type": "ipv4", "network.interface.name": "lo",
                    "multipath.protocol": "mptcp", "multipath.outcome": "won",
                ])
            #expect(
                resolve.attributes == ["dns.question.name": "server.example", "dns.answers": "127.0.0.1"])
            #expect(spans.allSatisfy { $0.error == nil })
            #expect(tracer.activeSpans.count == 1, "the request's own")
        }

        @Test("of a failure carry the error, and that of each attempt")
        func failure() async throws {
            let tracer = InMemoryTracer()
            let error = try await Connections().fail(ConnectionTracing(tracer: tracer))
            let spans = tracer.finishedSpans.map(Span.init)
            #expect(spans.map(\.name) == ["multipath.attempt", "multipath.attempt", "multipath.connect"])
            #expect(spans.map(\.error) == ["Connection refused", "Connection refused", "\(error)"])
            #expect(spans.map { $0.attributes["error.type"] } == ["_OTHER", "_OTHER", "all_attempts_failed"])
            let connect = try #require(spans.last)
            #expect(connect.end - connect.start == UInt64(error.duration.wholeNanoseconds))
            #expect(spans.allSatisfy { connect.start <= $0.start && $0.end <= connect.end })
            #expect(tracer.finishedSpans.last?.errors.count == 1)
            #expect(tracer.activeSpans.isEmpty)
        }

        @Test("cost nothing without a tracer")
        func noTracer() {
            let observation = ConnectionTracing().connecting(
                host: "server.example", port: 1, ConnectionConfiguration())
            #expect(observation == nil)
        }
    }
#endif
