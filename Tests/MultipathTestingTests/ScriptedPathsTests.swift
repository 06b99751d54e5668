import MultipathTesting
import Testing

@Suite("Scripted paths")
struct ScriptedPathsTests {
    /// The paths in order, and why each other interface is none.
    private func summary(_ path: PathSnapshot) -> String {
        path.interfaces.map(\.name).joined(separator: " > ") + " | "
            + path.excluded.map { "\($0.interface.name): \($0.reason)" }.joined(separator: ", ")
    }

    @Test("are ordered, tagged and excluded by the rules of the real monitor")
    func rules() async throws {
        let paths = ScriptedPaths([.cellular(), .wifi(), .wired(), .bluetooth()])
        var path = try await paths.monitor.currentPath()
        #expect(path == paths.snapshot.numbered(1, [PathChange(.initial)]))
        #expect(summary(path) == "eth0 > wlan0 > wwan0 > bnep0 | lo: loopback")
        #expect(path.interfaces.map(\.type.value) == [.wired, .wifi, .cellular, .bluetooth])
        #expect(path.interfaces.map(\.expensive.value) == [.guessedNo, .unknown, .guessedYes, .guessedYes])
        #expect(path.interface(named: "wlan0")?.ssid == "scripted")
        #expect(path.interface(named: "wwan0")?.gateways.map(\.description).first == "203.0.113.1")

        paths.update("eth0") { ($0.constrained, $0.expensive) = (true, true) }
        path = try await paths.monitor.currentPath()
        #expect(summary(path) == "wlan0 > wwan0 > bnep0 > eth0 | lo: loopback")
        #expect(path.interfaces.last?.expensive == Verdict(.yes, .settings))

        paths.change {
            $0.lose("wlan0")
            $0.update("wwan0") { $0.isUp = false }
            $0.update("bnep0") { $0.hasDefaultRoute = false }
            $0.update("eth0") { $0.addresses = [] }
        }
        path = try await paths.monitor.currentPath()
        #expect(
            summary(path)
                == " | lo: loopback, wwan0: down, wlan0: no carrier, eth0: no default route, bnep0: no default route"
        )
    }

    @Test("know tunnels: what takes all traffic hides the rest, and costs what its carrier costs")
    func tunnels() async throws {
        let paths = ScriptedPaths([.cellular(), .tunnel()])
        let path = try await paths.monitor.currentPath()
        #expect(summary(path) == "wg0 | lo: loopback, wwan0: behind the tunnel wg0")
        #expect(path.primary?.carrier == "wwan0")
        #expect(path.primary?.expensive == Verdict(.guessedYes, .interfaceType, inheritedFrom: "wwan0"))
        paths.remove("wg0")
        #expect(summary(try await paths.monitor.currentPath()) == "wwan0 | lo: loopback")
    }

    @Test("are told at once: each change is the next element, with its reasons and the next generation")
    func delivery() async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        var updates = paths.monitor.updates.makeAsyncIterator()
        #expect(await updates.next()?.changes == [PathChange(.initial)])
        let steps: [(ScriptedStep.Action, [PathChange.Reason])] = [
            (.lose("wlan0"), [.primaryChanged, .pathLost]),
            (.restore("wlan0"), [.primaryChanged, .pathAppeared]),
            (
                .update("wlan0") { $0.constrained = true },
                [.primaryChanged, .constrainedChanged, .orderChanged]
            ),
            (.wake, [.resumed]),
            (.add(.wired("eth0")), [.primaryChanged, .pathAppeared]),
            (.remove("wwan0"), [.pathLost]),
        ]
        for (position, (action, reasons)) in steps.enumerated() {
            paths.perform(action)
            let path = await updates.next()
            #expect(path?.changes.map(\.reason) == reasons, "\(action)")
            #expect(path?.generation == UInt64(position + 2))
            #expect(path?.hasSameContent(as: paths.snapshot) == true)
        }
    }

    @Test("wake no consumer for what the real monitor wakes none for, but tell it when asked")
    func insignificant() async throws {
        let paths = ScriptedPaths([.wifi("wlan0")])
        var updates = paths.monitor.updates.makeAsyncIterator()
        #expect(await updates.next()?.generation == 1)
        paths.update("wlan0") { $0.quality.signal = -80 }
        paths.update("wlan0") { $0.quality.signal = -81 }
        #expect(try await paths.monitor.currentPath().primary?.quality.signal == -81)
        paths.lose("wlan0")
        #expect(await updates.next()?.generation == 2)
    }

    @Test("tell that a signal begins to fade, as the real monitor does")
    func fading() async throws {
        let paths = ScriptedPaths([.wifi(), .cellular()])
        var updates = paths.monitor.updates.makeAsyncIterator()
        _ = await updates.next()
        paths.update("wlan0") { $0.quality = PathQuality(signal: -77, isFading: true) }
        let fading = await updates.next()
        #expect(fading?.changes.map(\.reason) == [.signalChanged])
        #expect(fading?.primary?.name == "wlan0")
        #expect(fading?.primary?.quality == PathQuality(signal: -77, isFading: true))
    }

    @Test("end their streams, with or without an error, before the first use or after it")
    func ends() async throws {
        let failure = PathMonitorError("out of paths")
        for isUsedBefore in [false, true] {
            for error in [nil, failure] {
                let paths = ScriptedPaths([.wired()])
                if isUsedBefore { #expect(try await paths.monitor.currentPath().primary?.name == "eth0") }
                if let error { paths.fail(error) } else { paths.end() }
                var seen: [String?] = []
                for await path in paths.monitor.updates { seen.append(path.primary?.name) }
                #expect(seen == ["eth0"])
                if error != nil {
                    await #expect(throws: failure) { try await paths.monitor.currentPath() }
                }
            }
        }
    }

    @Test("serve any number of consumers and threads, and all of them end up at the last state")
    func threads() async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .wired("eth0")])
        let consumers = (0..<20).map { _ in
            Task {
                var last: PathSnapshot?
                for await path in paths.monitor.updates {
                    #expect(path.generation > last?.generation ?? 0)
                    last = path
                }
                return last
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for name in ["wlan0", "eth0"] {
                group.addTask {
                    for _ in 0..<200 {
                        paths.lose(name)
                        paths.restore(name)
                    }
                }
            }
        }
        paths.update("eth0") { $0.isUp = false }
        paths.end()
        for consumer in consumers {
            #expect(await consumer.value?.hasSameContent(as: paths.snapshot) == true)
        }
    }

    @Test("are where a connector learns of paths: without one it says so, and loopback needs none")
    func connector() async throws {
        let paths = ScriptedPaths([.wifi("wlan0")])
        paths.lose("wlan0")
        let connector = Connector(monitor: paths.monitor)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await connector.connect(host: "203.0.113.1", port: 7)
        }
        #expect(error?.code == .noRoute)
        #expect(error?.reason == "no path: this machine has no usable default route")

        let loopback = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)
        let listener = try await ListeningSocket(on: loopback, monitor: paths.monitor)
        let report = try await connector.connect(host: "127.0.0.1", port: Int(listener.endpoint.port)).report
        #expect(report.path == "lo")
    }
}

extension PathSnapshot {
    fileprivate func numbered(_ generation: UInt64, _ changes: [PathChange]) -> PathSnapshot {
        var copy = self
        (copy.generation, copy.changes) = (generation, changes)
        return copy
    }
}
