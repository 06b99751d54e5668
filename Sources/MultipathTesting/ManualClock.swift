// For its lock: Synchronization's is invisible to ThreadSanitizer.
import LinuxNet
import Multipath

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// async let played: Void = paths.play([.after(.seconds(60), .lose("wlan0"))], clock: clock)
/// await clock.waitForSleepers()
/// clock.advance(by: .seconds(60))
/// ```
public final class ManualClock: Clock {
    /// Durations are Swift's own.
    public typealias Duration = Swift.Duration

    /// A point on a manual clock, counted from its making.
    public struct Instant: InstantProtocol {
        /// How far the clock was moved until then.
        public var offset: Duration

        /// A point so long after the clock was made.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// The point so much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// The time from here to another point.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether the left point is the earlier one.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant()
        var nextID = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
        /// Tasks that wait until so many tasks sleep.
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Each object's one alarm.
        var alarms: [ObjectIdentifier: (time: Instant, body: @Sendable () -> Void)] = [:]
    }

    private let state = Locked(State())

    /// A clock at zero.
    public init() {}

    /// The time to which the test has moved the clock.
    public var now: Instant { state.withLock { $0.now } }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sleeps until the test has moved the clock to the deadline.
    ///
    /// - Throws: `CancellationError` where the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                state.withLock { state in
                    if state.cancelled.remove(id) != nil {
                        continuation.resume(throwing: CancellationError())
                    } else if deadline <= state.now {
                        continuation.resume()
                    } else {
                        state.sleepers[id] = (deadline, continuation)
                        for observer in state.observers where observer.count <= state.sleepers.count {
                            observer.continuation.resume()
                        }
                        state.observers.removeAll { $0.count <= state.sleepers.count }
                    }
                }
            }
        } onCancel: {
            state.withLock { state in
                if let sleeper = state.sleepers.removeValue(forKey: id) {
                    sleeper.continuation.resume(throwing: CancellationError())
                } else {
                    state.cancelled.insert(id)
                }
            }
        }
    }

    /// Calls a closure when the clock has been moved to a time: at that time, and before `advance` returns. It replaces the
    /// object's alarm that was set before; nil ends that.
    func setAlarm(of object: AnyObject, at time: Instant?, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarms[ObjectIdentifier(object)] = time.map { ($0, body) } }
    }

    /// Moves the clock on to each alarm's time in turn, and runs it.
    private func runAlarms(until end: Instant) {
        while true {
            let due = state.withLock { state -> (@Sendable () -> Void)? in
                guard let (key, alarm) = state.alarms.min(by: { $0.value.time < $1.value.time }),
                    alarm.time <= end
                else { return nil }
                state.alarms[key] = nil
                state.now = max(state.now, alarm.time)
                return alarm.body
            }
            guard let due else { return }
            due()
        }
    }

    /// Moves the clock on, and wakes the tasks that slept until then, the earliest first.
    public func advance(by duration: Duration) {
        let end = now.advanced(by: duration)
        runAlarms(until: end)
        state.withLock { state in
            state.now = max(state.now, end)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for (id, sleeper) in due.sorted(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) })
            {
                state.sleepers[id] = nil
                sleeper.continuation.resume()
            }
        }
    }

    /// Waits until so many tasks sleep on this clock, so that moving it wakes them.
    public func waitForSleepers(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if state.sleepers.count >= count {
                    continuation.resume()
                } else {
                    state.observers.append((count, continuation))
                }
            }
        }
    }
}
