#if Service
    public import Multipath
    public import Tracing

    /// Traces a connector's connections: a span for each, `multipath.connect`, in the trace of the task that
    /// connects, and in it one for the resolution of the name and one for each attempt.
    ///
    /// | span | attributes |
    /// |---|---|
    /// | `multipath.connect` | `server.address`, `server.port`, `network.transport`, `multipath.mode`; of a connection `network.peer.address`, `network.peer.port`, `network.local.address`, `network.local.port`, `network.type`, `network.interface.name`, `multipath.transport`, `multipath.fallback_reason`, `multipath.win_reason`, `multipath.handshake_rtt_ms`; of a failure `error.type`, which is the error's code |
    /// | `multipath.resolve` | `dns.question.name`, `dns.answers` |
    /// | `multipath.attempt` | `network.peer.address`, `network.peer.port`, `network.transport`, `network.type`, `network.interface.name`, `multipath.protocol`, `multipath.outcome`; an event `connected` where the handshake was complete; of a failed one `error.type` |
    ///
    /// Names without `multipath` are OpenTelemetry's; its `network.transport` knows MPTCP as `tcp`. Times are
    /// those of the machine's clock when the connection was asked for, and from there on the race's own:
    /// setting the machine's clock meanwhile bends no span.
    public struct ConnectionTracing: ConnectionObserver {
        private let tracer: (any Tracer)?

        /// - Parameter tracer: makes the spans; the one of `InstrumentationSystem` at that time unless given.
        public init(tracer: (any Tracer)? = nil) {
            self.tracer = tracer
        }

        /// Begins the connection's span, unless there is no tracer.
        public func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? {
            let tracer = tracer ?? InstrumentationSystem.tracer
            // Its spans would be seen nowhere.
            if tracer is NoOpTracer { return nil }
            let start = DefaultTracerClock.now
            let span = tracer.startSpan("multipath.connect", ofKind: .client, at: start)
            span.updateAttributes {
                $0["server.address"] = host
                $0["server.port"] = port
                $0["network.transport"] = "tcp"
                $0["multipath.mode"] = configuration.mode.rawValue
            }
            return ConnectionSpan(tracer: tracer, span: span, start: start)
        }
    }

    private struct ConnectionSpan: ConnectionObservation {
        let tracer: any Tracer
        let span: any Span
        let start: DefaultTracerClock.Timestamp

        func connected(_ report: EstablishmentReport) {
            if report.resolution > .zero {
                let resolve = child("multipath.resolve", .zero)
                resolve.updateAttributes {
                    $0["dns.question.name"] = report.host
                    $0["dns.answers"] = report.addresses.map(\.description)
                }
                resolve.end(at: time(report.resolution))
            }
            trace(report.attempts)
            span.updateAttributes {
                $0.set(peer: report.remote, report.path)
                if let local = report.local {
                    $0["network.local.address"] = "\(local.address)"
                    $0["network.local.port"] = Int(local.port)
                }
                $0["multipath.transport"] = report.transport.name
                $0["multipath.fallback_reason"] = report.transport.fallbackReason?.rawValue
                $0["multipath.win_reason"] = report.winReason?.rawValue
                $0["multipath.handshake_rtt_ms"] = report.handshakeRTT?.inMilliseconds
            }
            span.end(at: time(report.duration))
        }

        func failed(_ error: ConnectionError) {
            trace(error.attempts)
            span.recordError(error, attributes: [:], at: time(error.duration))
            span.attributes["error.type"] = error.code.name
            span.setStatus(SpanStatus(code: .error, message: "\(error)"))
            span.end(at: time(error.duration))
        }

        private func trace(_ attempts: [AttemptReport]) {
            for attempt in attempts {
                let span = child("multipath.attempt", attempt.startedAfter)
                span.updateAttributes {
                    $0.set(peer: attempt.endpoint, attempt.path)
                    $0["network.transport"] = "tcp"
                    $0["multipath.protocol"] = attempt.transport.rawValue
                    $0["multipath.outcome"] = attempt.outcome.name
                }
                if let connected = attempt.connectedAfter {
                    span.addEvent(
                        SpanEvent(
                            name: "connected", at: time(attempt.startedAfter + connected), attributes: [:]))
                }
                if case .failed(let reason) = attempt.outcome {
                    // The reason may be any words, and a type has to be one of a few.
                    span.attributes["error.type"] = "_OTHER"
                    span.setStatus(SpanStatus(code: .error, message: reason))
                }
                span.end(at: time(attempt.startedAfter + attempt.duration))
            }
        }

        private func child(_ name: String, _ after: Duration) -> any Span {
            tracer.startSpan(name, context: span.context, ofKind: .client, at: time(after))
        }

        /// The moment so long after the start.
        private func time(_ after: Duration) -> DefaultTracerClock.Timestamp {
            DefaultTracerClock.Timestamp(
                nanosecondsSinceEpoch: start.nanosecondsSinceEpoch &+ UInt64(max(0, after.wholeNanoseconds)))
        }
    }

    extension SpanAttributes {
        fileprivate mutating func set(peer: IPEndpoint, _ path: PathID) {
            self["network.peer.address"] = "\(peer.address)"
            self["network.peer.port"] = Int(peer.port)
            self["network.type"] = peer.address.family == .ipv4 ? "ipv4" : "ipv6"
            self["network.interface.name"] = path.name
        }
    }
#endif
