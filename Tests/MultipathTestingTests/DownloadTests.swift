import MultipathTesting
import Testing

/// What a user of the library wrote: it loads piece after piece, but not where that costs money.
private actor Download {
    private let monitor: PathMonitor
    private(set) var log: [String] = []

    init(monitor: PathMonitor) { self.monitor = monitor }

    func run() async {
        for await path in monitor.updates {
            switch (path.status, path.isExpensive) {
            case (.unsatisfied, _): log.append("waiting: no path")
            case (.satisfied, true): log.append("stopped: \(path.primary?.name ?? "") is expensive")
            case (.satisfied, false): log.append("loading over \(path.primary?.name ?? "")")
            }
        }
        log.append("finished")
    }

    /// Waits until so much has happened.
    func wait(for count: Int) async -> [String] {
        let deadline = ContinuousClock.now + .seconds(10)
        while log.count < count, ContinuousClock.now < deadline { await Task.yield() }
        return log
    }
}

@Suite("A download that must not cost money, tested without a network")
struct DownloadTests {
    @Test("stops when the path turns expensive, and goes on when it no longer is")
    func turnsExpensive() async {
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        let download = Download(monitor: paths.monitor)
        let running = Task { await download.run() }
        var log = ["loading over wlan0"]
        #expect(await download.wait(for: 1) == log)

        paths.lose("wlan0")
        log.append("stopped: wwan0 is expensive")
        #expect(await download.wait(for: 2) == log)

        paths.update("wwan0") { $0.expensive = false }
        log.append("loading over wwan0")
        #expect(await download.wait(for: 3) == log)

        paths.lose("wwan0")
        log.append("waiting: no path")
        #expect(await download.wait(for: 4) == log)

        paths.restore("wlan0")
        log.append("loading over wlan0")
        #expect(await download.wait(for: 5) == log)

        paths.end()
        await running.value
        #expect(await download.log == log + ["finished"])
    }

    @Test("runs through a minute's timeline in no time, on a clock that the test moves")
    func timeline() async throws {
        let clock = ManualClock()
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        let download = Download(monitor: paths.monitor)
        async let running: Void = download.run()
        async let played: Void = paths.play(
            [
                .after(.seconds(10), .lose("wlan0")),
                .after(.seconds(20), .add(.wired("eth0"))),
                .after(.seconds(30), .end),
            ], clock: clock)
        #expect(await download.wait(for: 1).last == "loading over wlan0")
        for (seconds, line) in [
            (10, "stopped: wwan0 is expensive"), (20, "loading over eth0"), (30, "finished"),
        ] {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(seconds))
            #expect(await download.wait(for: seconds / 10 + 1).last == line)
        }
        try await played
        await running
    }
}
