import PathCore
import Testing

@Suite("The race")
struct RaceMachineTests {
    @Test("is one attempt where the first one answers in time")
    func firstAnswers() {
        let run = RaceWorld([.answers(30), .answers(10)], [.answers(10)]).run()
        #expect(run.lines == ["0 start a1", "30 win a1"])
        #expect(run.report == ["a1 0-30 won"])
        #expect(run.machine.nextDeadline == nil)
    }

    @Test("staggers the attempts of a path by the attempt delay")
    func stagger() {
        let run = RaceWorld([.silent, .silent, .answers(30), .answers(10)]).run()
        #expect(
            run.lines == [
                "0 start a1", "250 start a2", "500 start a3", "530 cancel a1", "530 cancel a2", "530 win a3",
            ])
        #expect(run.report == ["a1 0-530 cancelled", "a2 250-530 cancelled", "a3 500-530 won"])
    }

    @Test("starts the next attempt at once when one fails, and counts the delay from there")
    func failureStartsNext() {
        let run = RaceWorld([.refuses(40), .refuses(0), .silent, .answers(5)]).run()
        #expect(
            run.lines == [
                "0 start a1", "40 start a2", "40 start a3", "290 start a4", "295 cancel a3", "295 win a4",
            ])
        #expect(
            run.report == [
                "a1 0-40 failed(\"refused\")", "a2 40-40 failed(\"refused\")", "a3 40-295 cancelled",
                "a4 290-295 won",
            ])
    }

    @Test("starts the next attempt at once also when an earlier one fails late")
    func lateFailureStartsNext() {
        let run = RaceWorld([.refuses(300), .silent, .answers(5)]).run()
        #expect(
            run.lines
                == ["0 start a1", "250 start a2", "300 start a3", "305 cancel a2", "305 win a3"])
    }

    @Test("opens each further path one delay after the one before, with a clock of its own")
    func pathsOpenAfterTheDelay() {
        let run = RaceWorld([.silent, .silent, .silent], [.silent, .answers(20)], [.silent]).run()
        #expect(
            run.lines == [
                "0 start a1", "250 start a2", "250 start b1", "500 start a3", "500 start b2",
                "500 start c1", "520 cancel a1", "520 cancel a2", "520 cancel b1", "520 cancel a3",
                "520 cancel c1", "520 win b2",
            ])
    }

    @Test("opens the next path at once when the first has nothing left")
    func pathOpensWhenTheFirstIsExhausted() {
        let run = RaceWorld([.refuses(10), .refuses(10)], [.refuses(10)], [.answers(10)]).run()
        #expect(
            run.lines
                == ["0 start a1", "10 start a2", "20 start b1", "30 start c1", "40 win c1"])
    }

    @Test("opens the next path at once when the one before has nothing left, though an earlier still waits")
    func pathOpensWhenTheOneBeforeIsExhausted() {
        let run = RaceWorld([.silent], [.refuses(10)], [.answers(10)]).run()
        #expect(
            run.lines
                == ["0 start a1", "250 start b1", "260 start c1", "270 cancel a1", "270 win c1"])
    }

    @Test("does not open a path early because another fails while it still has candidates")
    func failureInsideAPathOpensNone() {
        let run = RaceWorld([.refuses(10), .silent], [.answers(10)]).run()
        #expect(
            run.lines == ["0 start a1", "10 start a2", "250 start b1", "260 cancel a2", "260 win b1"])
    }

    @Test("skips a path without candidates")
    func emptyBranch() {
        #expect(
            RaceWorld([], [.refuses(10)], [], [.answers(10)]).run().lines
                == ["0 start b1", "10 start d1", "20 win d1"])
    }

    @Test("fails when nothing is left, after the last attempt's failure")
    func allFailed() {
        let run = RaceWorld([.refuses(400)], [.refuses(300), .refuses(10)]).run()
        #expect(run.lines == ["0 start a1", "250 start b1", "500 start b2", "550 fail allFailed"])
        #expect(
            run.report == [
                "a1 0-400 failed(\"refused\")", "b1 250-550 failed(\"refused\")",
                "b2 500-510 failed(\"refused\")",
            ])
    }

    @Test("ends at its deadline, which counts from the beginning of name resolution")
    func deadline() {
        var world = RaceWorld([.silent, .silent], [.answers(300)])
        world.resolution = .answers(100)
        world.timeout = 600
        let run = world.run()
        #expect(
            run.lines == [
                "100 start a1", "350 start a2", "350 start b1", "600 cancel a1", "600 cancel a2",
                "600 cancel b1", "600 fail timedOut",
            ])
        #expect(run.report == ["a1 100-600 cancelled", "a2 350-600 cancelled", "b1 350-600 cancelled"])
    }

    @Test("starts nothing when the name is resolved at the deadline or later")
    func resolvedTooLate() {
        var world = RaceWorld([.answers(1)])
        world.timeout = 600
        world.resolution = .answers(600)
        world.timersFirst = false
        #expect(world.run().lines == ["600 fail timedOut"])
        world.resolution = .answers(700)
        world.timerLag = 200
        #expect(world.run().lines == ["700 fail timedOut"])
        world.timeout = 0
        world.resolution = .answers(0)
        #expect(world.run().lines == ["0 fail timedOut"])
    }

    @Test("ends at its deadline while the resolver is silent")
    func silentResolver() {
        var world = RaceWorld([.answers(1)])
        world.resolution = .silent
        #expect(world.run().lines == ["10000 fail timedOut"])
    }

    @Test("fails with the resolver's words")
    func resolutionFails() {
        var world = RaceWorld([.answers(1)])
        world.resolution = .fails(70)
        let run = world.run()
        #expect(
            run.steps == [RaceStep(time: 70, action: .fail(.resolution(.init("no such name"))))])
        #expect(run.machine.attempts == [])
    }

    @Test(
        "fails at once where there is no candidate",
        arguments: [[], [[]], [[], []]] as [[[RaceWorld.Fate]]])
    func noCandidate(branches: [[RaceWorld.Fate]]) {
        var world = RaceWorld(branches: branches)
        world.resolution = .answers(5)
        #expect(world.run().lines == ["5 fail noCandidate"])
    }

    @Test("ends at once when the caller loses interest, before and after the name is known")
    func cancelled() {
        var world = RaceWorld([.silent], [.silent])
        world.cancelled = 300
        #expect(
            world.run().lines
                == ["0 start a1", "250 start b1", "300 cancel a1", "300 cancel b1", "300 fail cancelled"])
        world.resolution = .answers(400)
        #expect(world.run().lines == ["300 fail cancelled"])
    }

    @Test("starts one attempt of each path when a timer is late, not all that were due")
    func lateTimer() {
        var world = RaceWorld([.silent, .silent, .silent, .silent], [.silent, .silent], [.answers(1)])
        world.timerLag = 700
        #expect(
            world.run().lines == [
                "0 start a1", "950 start a2", "950 start b1", "1900 start a3", "1900 start b2",
                "1900 start c1", "1901 cancel a1", "1901 cancel a2", "1901 cancel b1", "1901 cancel a3",
                "1901 cancel b2", "1901 win c1",
            ])
    }

    @Test(
        "keeps the attempt delay within RFC 8305's bounds",
        arguments: [(0, 10), (10, 10), (100, 100), (9000, 2000)])
    func boundedDelay(asked: Int, kept: Int) {
        var world = RaceWorld([.silent, .answers(1)])
        world.attemptDelay = asked
        #expect(
            world.run().lines
                == ["0 start a1", "\(kept) start a2", "\(kept + 1) cancel a1", "\(kept + 1) win a2"])
    }

    @Test("waits for ever, if that is the timeout")
    func noTimeout() {
        var configuration = RaceMachine.Configuration()
        configuration.timeout = .seconds(Int64.max)
        var machine = RaceMachine(configuration: configuration)
        machine.begin(at: MonotonicTime(nanoseconds: 1))
        #expect(machine.nextDeadline == MonotonicTime(nanoseconds: .max))
        #expect(machine.timeReached(MonotonicTime(nanoseconds: .max - 1)) == [])
    }
}

@Suite("The fallback to TCP")
struct RaceFallbackTests {
    private let candidates = RaceWorld([.silent, .silent]).candidates[0]

    private func candidate(_ place: Int, _ transport: TransportProtocol) -> Candidate {
        var candidate = candidates[place]
        candidate.transport = transport
        return candidate
    }

    /// A machine that has begun to race over one path with an attempt delay of 250 ms.
    private func machine(_ candidates: Candidate...) -> RaceMachine {
        var machine = RaceMachine()
        machine.begin(at: .zero)
        let branch = RaceMachine.Branch(
            interface: 0, candidates: candidates, attemptDelay: .milliseconds(250))
        #expect(machine.plan([branch], isFinal: true, at: .zero) == [.start(0, candidates[0])])
        return machine
    }

    @Test("starts when four fifths of the attempt delay have passed, and no sooner")
    func fallback() {
        var machine = machine(candidate(0, .mptcp), candidate(0, .tcp), candidate(1, .mptcp))
        #expect(machine.nextDeadline == at(200))
        #expect(machine.timeReached(at(199)) == [])
        #expect(machine.timeReached(at(200)) == [.start(1, candidate(0, .tcp))])
        // What is no fallback waits for the whole delay, which counts from the fallback's start.
        #expect(machine.nextDeadline == at(450))
        #expect(machine.timeReached(at(449)) == [])
        #expect(machine.timeReached(at(450)) == [.start(2, candidate(1, .mptcp))])
    }

    @Test("starts at once when MPTCP is refused")
    func refused() {
        var machine = machine(candidate(0, .mptcp), candidate(0, .tcp))
        #expect(machine.failed(0, reason: "refused", at: at(10)) == [.start(1, candidate(0, .tcp))])
    }

    @Test("is none where MPTCP was not asked for: TCP behind TCP waits for the whole delay")
    func plain() {
        let machine = machine(candidate(0, .tcp), candidate(1, .tcp))
        #expect(machine.nextDeadline == at(250))
    }
}

@Suite("A race that is over, or has not begun,")
struct RaceMachineLifeTests {
    private let candidate = RaceWorld([.silent, .silent]).candidates[0][0]
    private let other = RaceWorld([.silent, .silent]).candidates[0][1]

    private func branch(_ candidates: Candidate...) -> RaceMachine.Branch {
        RaceMachine.Branch(interface: 0, candidates: candidates, attemptDelay: .milliseconds(250))
    }

    @Test("answers everything with no action, and its report stays")
    func finished() {
        var machine = RaceMachine()
        machine.begin(at: .zero)
        #expect(machine.plan([branch(candidate, other)], isFinal: true, at: .zero) == [.start(0, candidate)])
        #expect(machine.failed(0, reason: "refused", at: .zero) == [.start(1, other)])
        #expect(machine.connected(1, at: .zero) == [.win(1)])
        let attempts = machine.attempts
        let later = MonotonicTime.zero.advanced(by: .seconds(60))
        #expect(machine.connected(0, at: later) == [])
        #expect(machine.connected(1, at: later) == [])
        #expect(machine.failed(0, reason: "reset", at: later) == [])
        #expect(machine.failed(1, reason: "reset", at: later) == [])
        #expect(machine.timeReached(later) == [])
        #expect(machine.plan([branch(candidate)], isFinal: true, at: later) == [])
        #expect(machine.resolutionFailed(.init("late"), at: later) == [])
        #expect(machine.cancel(at: later) == [])
        #expect(machine.nextDeadline == nil)
        #expect(machine.attempts == attempts)
    }

    @Test("takes an attempt's first word only")
    func firstWord() {
        var machine = RaceMachine()
        machine.begin(at: .zero)
        _ = machine.plan([branch(candidate, other)], isFinal: true, at: .zero)
        #expect(machine.failed(0, reason: "refused", at: .zero) == [.start(1, other)])
        #expect(machine.connected(0, at: .zero) == [])
        #expect(machine.failed(0, reason: "reset", at: .zero) == [])
        #expect(machine.attempts.map(\.outcome) == [.failed("refused"), .pending])
    }

    @Test("attempts nothing twice, and takes no failure of the resolver once it has begun")
    func resolvedOnce() {
        var machine = RaceMachine()
        machine.begin(at: .zero)
        #expect(machine.plan([branch(candidate)], isFinal: true, at: .zero) == [.start(0, candidate)])
        #expect(machine.plan([branch(candidate)], isFinal: true, at: .zero) == [])
        #expect(machine.resolutionFailed(.init("late"), at: .zero) == [])
        #expect(machine.attempts.count == 1)
    }

    @Test("has nothing to do before it begins, but can be given up")
    func idle() {
        var machine = RaceMachine()
        #expect(machine.nextDeadline == nil)
        #expect(machine.timeReached(.zero) == [])
        #expect(machine.plan([branch(candidate)], isFinal: true, at: .zero) == [])
        #expect(machine.cancel(at: .zero) == [.fail(.cancelled)])
        #expect(machine.cancel(at: .zero) == [])
    }
}
