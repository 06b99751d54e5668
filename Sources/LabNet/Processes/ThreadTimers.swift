import CLab
import Glibc
import PathCore

package enum ThreadTimers {
    /// Lets this thread's waits end when they should: the kernel adds 50 µs otherwise, to save wakeups.
    package static func makePrecise() { _ = mp_set_timer_slack(1) }

    /// Has this thread wait.
    package static func sleep(_ pause: Duration) {
        usleep(UInt32(clamping: pause.wholeNanoseconds / 1_000))
    }
}
