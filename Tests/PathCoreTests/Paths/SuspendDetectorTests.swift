import PathCore
import Testing

@Suite("The machine slept")
struct SuspendDetectorTests {
    /// A machine whose sleep and whose readings' delays a test decides.
    private struct Machine {
        var awake = Duration.seconds(1_000)
        var asleep = Duration.seconds(70)

        /// - Parameter delay: how long the process had to wait between the two clocks.
        func reading(delay: Duration = .zero) -> SuspendDetector.Reading {
            SuspendDetector.Reading(boottime: awake + asleep, monotonic: awake + delay)
        }
    }

    /// #expect takes no call that changes something.
    private func expect(_ resumed: Bool, _ expected: Bool, at place: SourceLocation = #_sourceLocation) {
        #expect(resumed == expected, sourceLocation: place)
    }

    @Test("once for each sleep, however short from half a second on")
    func sleeps() {
        var machine = Machine()
        var detector = SuspendDetector(machine.reading())
        expect(detector.resumed(machine.reading()), false)
        for sleep in [Duration.milliseconds(500), .seconds(1), .seconds(86_400 * 30)] {
            machine.asleep += sleep
            expect(detector.resumed(machine.reading()), true)
            expect(detector.resumed(machine.reading()), false)
        }
    }

    @Test("is not said of a machine that stayed awake, however long or busy it was")
    func awake() {
        var machine = Machine()
        var detector = SuspendDetector(machine.reading(delay: .milliseconds(80)))
        for delay in [Duration.zero, .milliseconds(200), .zero, .milliseconds(499), .zero] {
            machine.awake += .seconds(86_400)
            expect(detector.resumed(machine.reading(delay: delay)), false)
        }
    }

    @Test("is said of short naps once they make half a second")
    func naps() {
        var machine = Machine()
        var detector = SuspendDetector(machine.reading())
        machine.asleep += .milliseconds(300)
        expect(detector.resumed(machine.reading()), false)
        machine.asleep += .milliseconds(300)
        expect(detector.resumed(machine.reading()), true)
        expect(detector.resumed(machine.reading()), false)
    }
}
