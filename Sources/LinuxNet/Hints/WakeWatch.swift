import CLinux
import Glibc
import PathCore

/// Says when the machine woke from sleep. It lives on the event thread, and costs nothing meanwhile.
///
/// A timer of CLOCK_REALTIME can ask to be cancelled when that clock is set, and the kernel counts resuming
/// as setting it (TFD_TIMER_CANCEL_ON_SET: timerfd_create(2); timerfd_resume in fs/timerfd.c). Setting
/// the time cancels it as well; the detector tells the two apart.
package final class WakeWatch {
    private let thread: EventThread
    private let read: () -> SuspendDetector.Reading
    private var detector: SuspendDetector
    private let timer: Descriptor
    private var registration: EventThread.Token?

    /// How often the machine woke since this was made.
    package private(set) var resumes: UInt64 = 0

    /// - Parameter read: reads the two clocks.
    package init(
        on thread: EventThread, reading read: @escaping () -> SuspendDetector.Reading = { .now }
    ) throws(SystemError) {
        self.thread = thread
        self.read = read
        detector = SuspendDetector(read())
        timer = Descriptor(
            owning: try systemCall("make a timer") {
                timerfd_create(CInt(CLOCK_REALTIME), CInt(truncatingIfNeeded: TimerFlags.make))
            })
        try arm()
    }

    package func start(onResume: @escaping () -> Void) throws(SystemError) {
        registration = try thread.add(timer.number, for: .readable) { [weak self] _ in
            guard let self else { return }
            self.acknowledgeCancellation()
            if self.look() { onResume() }
        }
    }

    package func stop() {
        if let registration { thread.remove(registration) }
        registration = nil
    }

    /// Compares the clocks, as the timer's cancellation does.
    /// - Returns: whether the machine slept since the last time.
    func look() -> Bool {
        guard detector.resumed(read()) else { return false }
        resumes += 1
        return true
    }

    /// Sets the timer to the end of time.
    private func arm() throws(SystemError) {
        var never = itimerspec()
        never.it_value.tv_sec = .max
        do throws(SystemError) {
            try systemCall("set a timer") {
                timerfd_settime(timer.number, CInt(truncatingIfNeeded: TimerFlags.set), &never, nil)
            }
        } catch {
            // An earlier cancellation has not been read yet. The timer is set all the same.
            guard error.errno == ECANCELED else { throw error }
        }
    }

    private func acknowledgeCancellation() {
        var expirations: UInt64 = 0
        // ECANCELED; the timer itself stays as it was.
        _ = Glibc.read(timer.number, &expirations, 8)
    }
}

private enum TimerFlags {
    static let make = TFD_CLOEXEC | TFD_NONBLOCK
    static let set = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET
}

extension SuspendDetector.Reading {
    /// CLOCK_BOOTTIME and CLOCK_MONOTONIC now.
    package static var now: SuspendDetector.Reading {
        func read(_ clock: clockid_t) -> Duration {
            var time = timespec()
            clock_gettime(clock, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        return SuspendDetector.Reading(boottime: read(CLOCK_BOOTTIME), monotonic: read(CLOCK_MONOTONIC))
    }
}
