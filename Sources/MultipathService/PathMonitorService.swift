#if Service
    public import CoreMetrics
    public import Multipath
    public import ServiceLifecycle

    /// A path monitor as a service of a `ServiceGroup`: it keeps the monitor running and exports what it knows.
    ///
    /// ```swift
    /// let monitor = PathMonitor()
    /// let group = ServiceGroup(services: [PathMonitorService(monitor), server], logger: logger)
    /// try await group.run()
    /// ```
    ///
    /// | metric | kind | |
    /// |---|---|---|
    /// | `multipath_path_updates_total` | counter | snapshots told since the service started, the first one too |
    /// | `multipath_paths` | meter, by `type` | paths to the Internet now |
    /// | `multipath_path_expensive`, `…_constrained` | meters | 1 while the preferred path is, otherwise 0 |
    /// | `multipath_resumes_total` | counter | wake-ups from sleep |
    /// | `multipath_netlink_overflows_total` | counter | losses of notifications, after which all was read again |
    /// | `multipath_netlink_interrupted_dumps_total` | counter | tables read again because they changed |
    /// | `multipath_netlink_malformed_total` | counter | messages that could not be read |
    /// | `multipath_netlink_failures_total` | counter | readings that failed and were tried again |
    public struct PathMonitorService: Service {
        private let monitor: PathMonitor
        private let interval: Duration
        private let factory: any MetricsFactory

        /// - Parameters:
        ///   - monitor: the one to keep running.
        ///   - interval: how often the counters of netlink are looked at where nothing else happens.
        ///   - factory: where the metrics go; `MetricsSystem`'s unless given.
        public init(
            _ monitor: PathMonitor, interval: Duration = .seconds(10),
            factory: any MetricsFactory = MetricsSystem.factory
        ) {
            self.monitor = monitor
            self.interval = interval
            self.factory = factory
        }

        /// Runs until graceful shutdown or cancellation.
        ///
        /// - Throws: `PathMonitorError` where the monitor can't start, or its source gives up.
        public func run() async throws {
            await cancelWhenGracefulShutdown {
                let exporter = PathExporter(monitor, factory)
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await path in monitor.updates { await exporter.export(path) }
                    }
                    group.addTask {
                        while (try? await Task.sleep(for: interval)) != nil {
                            await exporter.exportCounters()
                        }
                    }
                    // Ends with the updates: by an error or an end of the source, or with this task.
                    await group.next()
                    group.cancelAll()
                }
                await exporter.exportCounters()
            }
            if let failure = monitor.failure { throw failure }
        }
    }

    private actor PathExporter {
        private let monitor: PathMonitor
        private let updates: Counter
        private let resumes: Counter
        private let netlink: [(counter: Counter, value: KeyPath<PathMonitor.Counters, Int> & Sendable)]
        private let paths: [(type: InterfaceType, meter: Meter)]
        private let (expensive, constrained): (Meter, Meter)
        private var generation: UInt64 = 0
        private var seenResumes: UInt64?
        private var seen = PathMonitor.Counters()

        init(_ monitor: PathMonitor, _ factory: any MetricsFactory) {
            self.monitor = monitor
            updates = Counter(label: "multipath_path_updates_total", factory: factory)
            resumes = Counter(label: "multipath_resumes_total", factory: factory)
            func netlink(_ name: String) -> Counter {
                Counter(label: "multipath_netlink_\(name)_total", factory: factory)
            }
            self.netlink = [
                (netlink("overflows"), \.overflows), (netlink("interrupted_dumps"), \.interruptedDumps),
                (netlink("malformed"), \.malformed), (netlink("failures"), \.failures),
            ]
            paths = InterfaceType.allCases.map { type in
                (
                    type,
                    Meter(label: "multipath_paths", dimensions: [("type", type.rawValue)], factory: factory)
                )
            }
            expensive = Meter(label: "multipath_path_expensive", factory: factory)
            constrained = Meter(label: "multipath_path_constrained", factory: factory)
        }

        func export(_ path: PathSnapshot) {
            for (type, meter) in paths { meter.set(path.interfaces.count { $0.type.value == type }) }
            expensive.set(path.isExpensive ? 1 : 0)
            constrained.set(path.isConstrained ? 1 : 0)
            if let seenResumes, path.resumes > seenResumes {
                resumes.increment(by: Int64(clamping: path.resumes - seenResumes))
            }
            seenResumes = path.resumes
            exportCounters()
            // Last: what reads the metrics meanwhile finds no update counted whose values aren't there. Those that were skipped
            // count too; what was told before the service started does not.
            updates.increment(by: generation == 0 ? 1 : Int64(clamping: path.generation - generation))
            generation = path.generation
        }

        func exportCounters() {
            let now = monitor.counters
            for (counter, value) in netlink where now[keyPath: value] > seen[keyPath: value] {
                counter.increment(by: Int64(now[keyPath: value] - seen[keyPath: value]))
            }
            seen = now
        }
    }
#endif
