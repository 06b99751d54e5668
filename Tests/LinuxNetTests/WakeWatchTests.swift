import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The wake watch")
struct WakeWatchTests {
    /// Clocks that a test sets; the event thread reads them.
    private final class Clocks: Sendable {
        let asleep = Locked(Duration.zero)

        func read() -> SuspendDetector.Reading {
            let awake = SuspendDetector.Reading.now.monotonic
            return SuspendDetector.Reading(
                boottime: awake + asleep.withLock { $0 }, monotonic: awake)
        }
    }

    @Test("counts each sleep once, from when it was made")
    func counts() throws {
        let clocks = Clocks()
        let watch = try WakeWatch(on: .shared, reading: clocks.read)
        #expect(!watch.look())
        clocks.asleep.withLock { $0 += .seconds(30) }
        #expect(watch.look())
        #expect(!watch.look())
        clocks.asleep.withLock { $0 += .seconds(2) }
        #expect(watch.look())
        #expect(watch.resumes == 2)
    }

    /// The kernel's cancellation itself needs a sleep or a set clock, which no test may cause here.
    @Test("arms a timer that the kernel takes, and that stays silent while nothing happens")
    func silent() throws {
        let fired = Locked(0)
        try EventThread.shared.perform { () throws(SystemError) in
            let watch = try WakeWatch(on: .shared)
            try watch.start { fired.withLock { $0 += 1 } }
            watch.stop()
        }
        let watch = try WakeWatch(on: .shared)
        #expect(!watch.look())
        #expect(fired.withLock { $0 } == 0)
    }

    @Test("reads clocks that agree with each other on a machine that is awake")
    func reading() {
        let (first, second) = (SuspendDetector.Reading.now, SuspendDetector.Reading.now)
        #expect(first.boottime >= first.monotonic - .seconds(1))
        #expect(second.boottime >= first.boottime)
        #expect(second.monotonic >= first.monotonic)
    }
}
