#if Service
    public import CoreMetrics
    public import Multipath

    /// Exports what becomes of a connector's connections.
    ///
    /// ```swift
    /// let connector = Connector(observers: [ConnectionMetrics(), ConnectionTracing()])
    /// let bootstrap = MultipathBootstrap(group: group, connector: connector)
    /// ```
    ///
    /// | metric | kind | |
    /// |---|---|---|
    /// | `multipath_connections_total` | counter, by `interface`, `transport`, `fallback` | that came about |
    /// | `multipath_connection_failures_total` | counter, by `code` | that did not (`ConnectionError.Code`) |
    /// | `multipath_attempts_total` | counter, by `interface`, `protocol`, `outcome` | in races of either kind |
    /// | `multipath_connect_duration` | timer, by `transport` | from the call until the connection was usable |
    /// | `multipath_handshake_rtt` | timer, by `interface` | the handshake's round trip |
    /// | `multipath_connection_duration` | timer, by `transport` | of each connection, at its end |
    /// | `multipath_sent_bytes_total`, `…_received_…`, `…_retransmitted_…` | counters, by `interface` | at its end |
    ///
    /// `fallback` is the `FallbackReason` as the connection came about, or `none`. `interface` is `unknown` for what an interface
    /// carried that had gone before its name was read.
    public struct ConnectionMetrics: ConnectionObserver, ConnectionObservation {
        private let factory: any MetricsFactory

        /// - Parameter factory: where the metrics go; `MetricsSystem`'s unless given.
        public init(factory: any MetricsFactory = MetricsSystem.factory) {
            self.factory = factory
        }

        /// Counts nothing yet.
        public func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? {
            self
        }

        /// Counts the connection and its attempts.
        public func connected(_ report: EstablishmentReport) {
            let transport = report.transport.name
            counter(
                "multipath_connections_total",
                [
                    ("interface", report.path.name), ("transport", transport),
                    ("fallback", report.transport.fallbackReason?.rawValue ?? "none"),
                ]
            ).increment()
            count(report.attempts)
            timer("multipath_connect_duration", ("transport", transport)).record(report.duration)
            if let rtt = report.handshakeRTT {
                timer("multipath_handshake_rtt", ("interface", report.path.name)).record(rtt)
            }
        }

        /// Counts the failure and its attempts.
        public func failed(_ error: ConnectionError) {
            counter("multipath_connection_failures_total", [("code", error.code.name)]).increment()
            count(error.attempts)
        }

        /// Counts what each interface has carried.
        public func closed(_ report: TransferReport) {
            timer("multipath_connection_duration", ("transport", report.transport.name))
                .record(report.duration)
            for part in report.paths {
                // Addresses come and go, and each would be a time series of its own.
                let interface = IPAddress(part.path.name) == nil ? part.path.name : "unknown"
                for (name, bytes) in [
                    ("sent", part.bytesSent), ("received", part.bytesReceived),
                    ("retransmitted", part.bytesRetransmitted),
                ] {
                    counter("multipath_\(name)_bytes_total", [("interface", interface)])
                        .increment(by: Int64(clamping: bytes))
                }
            }
        }

        private func count(_ attempts: [AttemptReport]) {
            for attempt in attempts {
                counter(
                    "multipath_attempts_total",
                    [
                        ("interface", attempt.path.name), ("protocol", attempt.transport.rawValue),
                        ("outcome", attempt.outcome.name),
                    ]
                ).increment()
            }
        }

        private func counter(_ label: String, _ dimensions: [(String, String)]) -> Counter {
            Counter(label: label, dimensions: dimensions, factory: factory)
        }

        private func timer(_ label: String, _ dimension: (String, String)) -> CoreMetrics.Timer {
            CoreMetrics.Timer(label: label, dimensions: [dimension], factory: factory)
        }
    }

    extension CoreMetrics.Timer {
        fileprivate func record(_ duration: Duration) { recordNanoseconds(duration.wholeNanoseconds) }
    }
#endif
