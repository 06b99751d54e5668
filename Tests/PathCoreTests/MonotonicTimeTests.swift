import PathCore
import Testing

@Suite("Times and durations")
struct MonotonicTimeTests {
    @Test("a time moves by whole nanoseconds, forward and back")
    func moves() {
        let time = MonotonicTime(nanoseconds: 1_500_000_000)
        #expect(time.advanced(by: .milliseconds(250)) == MonotonicTime(nanoseconds: 1_750_000_000))
        #expect(time.advanced(by: .seconds(-2)) == MonotonicTime(nanoseconds: -500_000_000))
        #expect(time.advanced(by: .nanoseconds(0.9)) == time)
        #expect(time.duration(to: .zero) == .milliseconds(-1500))
        #expect(time.seconds == 1.5)
        let earlier = MonotonicTime(nanoseconds: -1)
        #expect([time, .zero, earlier].sorted() == [earlier, .zero, time])
    }

    @Test("a time stops at the clock's limits: a timeout of for ever is no crash")
    func stopsAtTheLimits() {
        let now = MonotonicTime(nanoseconds: 86_400_000_000_000)
        let end = MonotonicTime(nanoseconds: .max)
        let start = MonotonicTime(nanoseconds: .min)
        #expect(now.advanced(by: .seconds(Int64.max)) == end)
        #expect(now.advanced(by: .nanoseconds(Int64.max)) == end)
        #expect(end.advanced(by: .nanoseconds(1)) == end)
        #expect(start.advanced(by: .nanoseconds(-1)) == start)
        #expect(MonotonicTime(nanoseconds: -1).advanced(by: .seconds(Int64.min)) == start)
    }

    @Test("the time between any two moments is exact")
    func durationIsExact() {
        let ends = [Int64.min, -1, 0, 1, .max].map(MonotonicTime.init(nanoseconds:))
        for from in ends {
            #expect(
                ends.map { from.duration(to: $0) }
                    == ends.map { .nanoseconds($0.nanoseconds) - .nanoseconds(from.nanoseconds) })
        }
    }

    @Test(
        "a duration's nanoseconds drop fractions and stop at the limits",
        arguments: [
            (Duration.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.seconds(2), 2_000_000_000),
            (.nanoseconds(1.9), 1), (.nanoseconds(-1.9), -1),
            (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
            (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
            (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
            (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
            (.seconds(9_223_372_036), 9_223_372_036_000_000_000), (.seconds(9_223_372_037), .max),
            (.seconds(-9_223_372_037), .min), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
            (.seconds(Int64.max) * 2, .max), (.seconds(Int64.min) * 2, .min),
        ] as [(Duration, Int64)])
    func wholeNanoseconds(duration: Duration, expected: Int64) {
        #expect(duration.wholeNanoseconds == expected)
    }

    @Test("a duration is a plain number for output")
    func output() {
        let durations = [Duration.microseconds(1_234_500), .microseconds(-1_234_500)]
        #expect(durations.map(\.inSeconds) == [1.2345, -1.2345])
        #expect(durations.map(\.inMilliseconds) == [1234.5, -1234.5])
    }
}
