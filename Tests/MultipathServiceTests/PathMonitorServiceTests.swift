#if Service
    import MetricsTestKit
    import MultipathService
    import MultipathTesting
    import ServiceLifecycleTestKit
    import Testing

    @Suite("The path monitor as a service")
    struct PathMonitorServiceTests {
        private func wait(_ metrics: TestMetrics, updates: Int64) async {
            let deadline = ContinuousClock.now + .seconds(10)
            while metrics.counterTotal(label: "multipath_path_updates_total") < updates,
                ContinuousClock.now < deadline
            { await Task.yield() }
        }

        /// The gauges: paths by type where there are any, and the tags of the preferred one.
        private func gauges(_ metrics: TestMetrics) -> [String: Double] {
            var values: [String: Double] = [:]
            for meter in metrics.meters(label: "multipath_paths") {
                if let value = meter.lastValue, value > 0 { values[meter.dimensions[0].1] = value }
            }
            for tag in ["expensive", "constrained"] {
                values[tag] = metrics.meters(label: "multipath_path_\(tag)").first?.lastValue
            }
            return values
        }

        @Test("exports updates, paths by type and tags, and ends at graceful shutdown")
        func exports() async throws {
            let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
            let metrics = TestMetrics()
            let service = PathMonitorService(paths.monitor, factory: metrics)
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await service.run() }
                    await wait(metrics, updates: 1)
                    #expect(gauges(metrics) == ["wifi": 1, "cellular": 1, "expensive": 0, "constrained": 0])
                    paths.change {
                        $0.lose("wlan0")
                        $0.update("wwan0") { $0.constrained = true }
                        $0.wake()
                    }
                    await wait(metrics, updates: 2)
                    #expect(gauges(metrics) == ["cellular": 1, "expensive": 1, "constrained": 1])
                    #expect(metrics.counterTotal(label: "multipath_resumes_total") == 1)
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            #expect(metrics.counterTotal(label: "multipath_path_updates_total") == 2)
        }

        @Test("throws what its monitor fails with, and ends with its task")
        func ends() async throws {
            let paths = ScriptedPaths()
            let failure = PathMonitorError("out of paths")
            paths.fail(failure)
            await #expect(throws: failure) {
                try await PathMonitorService(paths.monitor, factory: TestMetrics()).run()
            }
            let task = Task { try await PathMonitorService(PathMonitor(), factory: TestMetrics()).run() }
            task.cancel()
            _ = await task.result
        }
    }
#endif
