import Testing

@testable import PathCore

@Suite("A table of timers")
struct TimerTableTests {
    private var timers = TimerTable()

    private static let path = PathKey(0)
    private static let validation = SteeringTimer.path(path, .validation)
    private static let retry = SteeringTimer.path(path, .retry)

    @Test("has no next timer while none runs")
    func empty() {
        #expect(timers.next == nil)
        #expect(timers.due(Self.retry) == nil)
    }

    @Test("says when the first is due")
    mutating func first() {
        timers.set(Self.retry, at: at(30))
        timers.set(Self.validation, at: at(20))
        timers.set(.connection(.disconnection), at: at(60))
        #expect(timers.next == at(20))
        #expect(timers.due(Self.retry) == at(30))
    }

    @Test("sets a timer that runs to another time, later ones too")
    mutating func again() {
        timers.set(Self.retry, at: at(30))
        timers.set(Self.retry, at: at(40))
        #expect(timers.next == at(40))
    }

    @Test("keeps the timers of two paths and of two subflows apart")
    mutating func owners() {
        timers.set(.path(PathKey(1), .retry), at: at(10))
        timers.set(Self.retry, at: at(30))
        timers.set(.subflow(.first, .priority), at: at(50))
        timers.set(.subflow(SubflowID(number: 2), .priority), at: at(40))
        timers.stop(.path(PathKey(1), .retry))
        timers.stop(.subflow(SubflowID(number: 2), .priority))
        #expect(timers.next == at(30))
        #expect(timers.due(.subflow(.first, .priority)) == at(50))
    }

    @Test("stops all at once")
    mutating func all() {
        timers.set(Self.retry, at: at(30))
        timers.set(Self.validation, at: at(20))
        timers.stopAll()
        #expect(timers.next == nil)
    }
}
