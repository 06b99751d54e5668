/// Tells whether the machine slept, by two clocks of which one stands still meanwhile.
///
/// CLOCK_BOOTTIME counts time asleep and CLOCK_MONOTONIC doesn't (clock_gettime(2)), so their difference
/// grows by sleep and by nothing else: not by setting the time, and not by a process that had to wait.
package struct SuspendDetector: Sendable {
    /// The two clocks, read one right after the other.
    package struct Reading: Sendable, Hashable {
        package var boottime: Duration
        package var monotonic: Duration

        package init(boottime: Duration, monotonic: Duration) {
            self.boottime = boottime
            self.monotonic = monotonic
        }

        fileprivate var asleep: Duration { boottime - monotonic }
    }

    /// The shortest sleep that counts. Between the two readings a busy machine lets some milliseconds pass,
    /// which look like sleep; and where the sleep is timed by a clock of whole seconds, one is its least.
    package static let threshold = Duration.milliseconds(500)

    private var asleep: Duration

    package init(_ reading: Reading) { asleep = reading.asleep }

    /// - Returns: whether the machine slept since the last reading that said so, or since the first.
    package mutating func resumed(_ reading: Reading) -> Bool {
        guard reading.asleep - asleep >= Self.threshold else {
            // Time never passes backwards: the earlier reading was the one that was held up.
            asleep = min(asleep, reading.asleep)
            return false
        }
        asleep = reading.asleep
        return true
    }
}
