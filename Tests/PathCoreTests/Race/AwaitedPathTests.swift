import PathCore
import TestSupport
import Testing

@Suite("A race some of whose paths' name servers have not answered")
struct AwaitedPathTests {
    private var race = ScriptedRace()

    @Test("begins over the preferred path, where that one's server answers a little later")
    mutating func preferred() {
        race.begin()
        race.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        #expect(race.machine.nextDeadline == .zero.advanced(by: .milliseconds(60)))
        race.plan(at: 11, [.init(1, ["a"]), .init(2, ["b"])], isFinal: true)
        race.time(261)
        #expect(race.lines == ["11 start 1a", "261 start 2b"])
    }

    @Test("waits for the preferred path's server for 50 ms and no longer, and lets it join then")
    mutating func delay() {
        race.begin()
        race.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        // More of the same path's addresses begin no new wait.
        race.plan(at: 40, [.init(2, ["b", "c"])], awaiting: [1], isFinal: false)
        race.time(59)
        race.time(60)
        race.plan(at: 70, [.init(1, ["a"]), .init(2, ["b", "c"])], isFinal: true)
        race.time(310)
        #expect(race.lines == ["60 start 2b", "310 start 1a", "310 start 2c"])
    }

    @Test("waits no longer once the preferred path's server knows nothing")
    mutating func failure() {
        race.begin()
        race.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        race.plan(at: 15, [.init(2, ["b"])], isFinal: true)
        #expect(race.lines == ["15 start 2b"])
    }

    @Test("waits for the best of three, though the second has answered")
    mutating func three() {
        race.begin()
        race.plan(at: 10, [.init(3, ["c"])], awaiting: [1, 2], isFinal: false)
        race.plan(at: 20, [.init(2, ["b"]), .init(3, ["c"])], awaiting: [1], isFinal: false)
        race.time(60)
        race.time(310)
        #expect(race.lines == ["60 start 2b", "310 start 3c"])
    }

    @Test("does not wait for a path that is suspect, or becomes it, unless the other is suspect too")
    mutating func suspicion() {
        race.suspect([1], at: 0)
        race.begin()
        race.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        #expect(race.lines == ["10 start 2b"])
        var other = ScriptedRace()
        other.begin()
        other.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        other.suspect([1, 2], at: 20)
        other.suspect([1], at: 30)
        #expect(other.lines == ["30 start 2b"])
    }

    @Test("counts the wait from the first answer whose path is still there")
    mutating func lost() {
        race.begin()
        race.plan(at: 10, [.init(2, ["b"])], awaiting: [1], isFinal: false)
        race.plan(at: 20, [], isFinal: false)
        race.plan(at: 40, [.init(3, ["c"])], awaiting: [1], isFinal: false)
        race.time(60)
        race.time(90)
        #expect(race.lines == ["90 start 3c"])
    }
}
