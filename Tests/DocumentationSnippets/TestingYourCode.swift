import Multipath
import MultipathTesting
import Testing

/// What the page tests: it plays while a path is there that costs nothing.
actor Player {
    private(set) var isPlaying = false
    private let monitor: PathMonitor

    init(monitor: PathMonitor) { self.monitor = monitor }

    func update() async throws {
        let path = try await monitor.currentPath()
        isPlaying = path.status == .satisfied && !path.isExpensive
    }
}

// snippet
@Test("The player stops when only cellular is left")
func stopsOnCellular() async throws {
    let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
    let player = Player(monitor: paths.monitor)
    try await player.update()
    #expect(await player.isPlaying)
    paths.lose("wlan0")  // when this returns, the monitor says so
    try await player.update()
    #expect(await !player.isPlaying)
}
// end

@Test("A timeline plays on a clock that a test moves")
func playsTimeline() async throws {
    let paths = ScriptedPaths([.wifi("wlan0")])
    // snippet
    let clock = ManualClock()
    async let played: Void = paths.play(
        [.after(.seconds(60), .lose("wlan0")), .after(.seconds(5), .restore("wlan0"))], clock: clock)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(60))
    // end
    await clock.waitForSleepers()
    #expect(try await paths.monitor.currentPath().status == .unsatisfied)
    clock.advance(by: .seconds(5))
    try await played
    #expect(try await paths.monitor.currentPath().status == .satisfied)
}
