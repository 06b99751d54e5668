import PathCore
import Testing

@Suite("What heartbeats learn of a network")
struct HeartbeatLessonTests {
    private static let wifi = HeartbeatNetwork(family: .ipv4, type: .wifi, name: "hotel")
    private static let cell = HeartbeatNetwork(family: .ipv4, type: .cellular, name: "wwan0")
    private static let now = 1_800_000_000

    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(seconds * 1e9)) }

    /// A schedule with one connection, whose first ping was answered after 30 s, and which tries 60 s.
    private func trying() -> HeartbeatSchedule {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        #expect(schedule.timeReached(at(30)) == [.ping(1, isRepeated: false)])
        _ = schedule.answered(1, at: at(30))
        // It becomes the one that tries.
        #expect(schedule.timeReached(at(60)) == [])
        return schedule
    }

    @Test("by a reset or a FIN in the silence that is tried: that it is too long", arguments: [true, false])
    func endOfTrial(byReset: Bool) {
        var schedule = trying()
        #expect(schedule.ended(1, byReset: byReset, after: .seconds(45)) == [.learnt(Self.wifi)])
        #expect(schedule.search(of: Self.wifi)?.lost == .seconds(45))
        #expect(schedule.search(of: Self.wifi)?.trial.map { $0 > .seconds(30) && $0 < .seconds(45) } == true)
    }

    @Test("nothing by an end within a silence that was survived, nor by a FIN after a ping")
    func ordinaryEnds() {
        var schedule = trying()
        #expect(schedule.ended(1, byReset: true, after: .seconds(20)) == [])
        schedule = trying()
        #expect(schedule.ended(1, byReset: true, after: nil) == [])
        schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: nil, at: at(0))
        #expect(schedule.timeReached(at(30)).count == 1)
        #expect(schedule.ended(1, byReset: false, after: .seconds(30)) == [])
    }

    @Test("nothing by an answer that comes after the data has moved, and the connection is not asked again")
    func answeredAfterMove() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        #expect(schedule.timeReached(at(30)) == [.ping(1, isRepeated: false)])
        #expect(schedule.answered(1, over: Self.cell, at: at(30.1)) == [])
        #expect(schedule.moved(1, to: Self.cell, at: at(30.1)) == [])
        #expect(schedule.search(of: Self.wifi)?.lost == nil)
        #expect(schedule.search(of: Self.wifi)?.proven == nil)
        #expect(schedule.interval(of: 1) == .seconds(30))
    }

    @Test(
        "nothing while the machine sleeps: the kernel's rounding is no new byte, and a ping under way proves nothing"
    )
    func sleep() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        schedule.woke()
        schedule.heard(1, received: at(0.004), arrived: at(0.004), sent: at(0))
        #expect(schedule.timeReached(at(1)) == [.ping(1, isRepeated: false)], "it is asked all the same")

        schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        #expect(schedule.timeReached(at(30)) == [.ping(1, isRepeated: false)])
        schedule.woke()
        #expect(schedule.timeReached(at(31)) == [.ping(1, isRepeated: true)])
        #expect(schedule.timeReached(at(32)) == [.dead(1, silentFor: .seconds(32))])
        #expect(schedule.search(of: Self.wifi)?.lost == nil)
    }

    @Test("for the next process: what an earlier one proved stands until this one has tried it")
    func rememberedStands() {
        var memory = HeartbeatMemory()
        var search = SilenceSearch()
        search.answered(after: .seconds(360))
        search.lost(after: .seconds(400))
        memory.note(search, of: Self.wifi, now: Self.now)
        let known = memory[Self.wifi]
        #expect(known?.proven == 360 && known?.lost == 400)

        var next = SilenceSearch(remembered: known?.silence)
        #expect(next.interval == .seconds(30) && next.trial == nil)
        next.answered(after: .seconds(30))
        memory.note(next, of: Self.wifi, now: Self.now + 86_400)
        #expect(
            memory[Self.wifi] == known, "one ping after 30 s says nothing against it, nor is it found anew")
        #expect(next.trial == .seconds(360))
        next.answered(after: .seconds(360))
        #expect(next.isSettled, "no connection is risked for what was lost before")
        memory.note(next, of: Self.wifi, now: Self.now + 86_400)
        #expect(memory[Self.wifi] == known)

        var shrunk = SilenceSearch(remembered: known?.silence)
        shrunk.answered(after: .seconds(30))
        shrunk.lost(after: .seconds(360))
        memory.note(shrunk, of: Self.wifi, now: Self.now + 86_400)
        #expect(memory[Self.wifi]?.proven == 30 && memory[Self.wifi]?.lost == 360)
    }

    @Test("for the next process: that even the first interval is too long")
    func shortRemembered() {
        var search = SilenceSearch(remembered: RememberedSilence(proven: .seconds(15), lost: .seconds(18)))
        #expect(search.interval == .seconds(15))
        search.answered(after: .seconds(15))
        #expect(search.isSettled)
        var wrong = SilenceSearch(remembered: RememberedSilence(proven: .seconds(360)))
        wrong.lost(after: .seconds(30))
        #expect(wrong.remembered == nil && wrong.interval < .seconds(30))
    }
}
