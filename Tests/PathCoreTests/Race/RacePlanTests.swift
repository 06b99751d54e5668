import PathCore
import TestSupport
import Testing

@Suite("A race whose plan changes")
struct RacePlanTests {
    private var race = ScriptedRace()

    @Test("lets a family join that is answered late, behind what has begun")
    mutating func lateFamily() {
        race.begin()
        race.plan(at: 10, [.init(1, ["a"])], isFinal: false)
        race.plan(at: 60, [.init(1, ["b", "a"])], isFinal: true)
        race.time(260)
        race.connected("b", at: 300)
        #expect(race.lines == ["10 start 1a", "260 start 1b", "300 cancel 1a", "300 win 1b"])
    }

    @Test("starts what comes late at once where nothing else runs, and waits while more may come")
    mutating func nothingRuns() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a"])], isFinal: false)
        race.failed("a", at: 20)
        race.plan(at: 400, [.init(1, ["a", "b"])], isFinal: true)
        race.failed("b", at: 410)
        #expect(race.lines == ["0 start 1a", "400 start 1b", "410 fail allFailed"])
    }

    @Test("gives up attempts over a path that is lost, and opens the next at once")
    mutating func pathLost() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a", "b"]), .init(2, ["c"])], isFinal: true)
        race.plan(at: 40, [.init(2, ["c"])], isFinal: true)
        race.connected("c", at: 60)
        #expect(race.lines == ["0 start 1a", "40 cancel 1a", "40 start 2c", "60 win 2c"])
        #expect(race.machine.attempts.map(\.outcome) == [.pathLost, .won])
    }

    @Test("does not hurry for a path that had not begun")
    mutating func unopenedPathLost() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a"]), .init(2, ["b"]), .init(3, ["c"])], isFinal: true)
        race.plan(at: 10, [.init(1, ["a"]), .init(2, ["b"])], isFinal: true)
        race.time(250)
        #expect(race.lines == ["0 start 1a", "250 start 2b"])
    }

    @Test("fails by the resolver's word where it was asked again and nothing was there to attempt")
    mutating func asksAgain() {
        race.begin()
        race.plan(at: 0, [], isFinal: false)
        #expect(
            race.machine.resolutionFailed(ResolutionError("no such name"), at: MonotonicTime(nanoseconds: 5))
                == [.fail(.resolution(ResolutionError("no such name")))])
    }

    @Test("attempts again what a path's loss ended, when the path is back")
    mutating func pathBack() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a"])], isFinal: true)
        race.plan(at: 40, [], isFinal: false)
        race.plan(at: 900, [.init(1, ["a"])], isFinal: true)
        race.connected("a", at: 910)
        #expect(race.lines == ["0 start 1a", "40 cancel 1a", "900 start 1a", "910 win 1a"])
    }

    @Test("fails where the last path is lost and none is waited for")
    mutating func lastPathLost() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a"])], isFinal: true)
        race.plan(at: 40, [], isFinal: true)
        #expect(race.lines == ["0 start 1a", "40 cancel 1a", "40 fail allFailed"])
    }

    @Test("lets a path that appears join: in its turn, or at once where it is overdue")
    mutating func pathAppears() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a"])], isFinal: true)
        race.plan(at: 100, [.init(2, ["b"]), .init(1, ["a"])], isFinal: true)
        race.time(250)
        race.plan(at: 700, [.init(2, ["b"]), .init(1, ["a"]), .init(3, ["c"])], isFinal: true)
        race.connected("c", at: 710)
        #expect(
            race.lines == [
                "0 start 1a", "250 start 2b", "700 start 3c", "710 cancel 1a", "710 cancel 2b",
                "710 win 3c",
            ])
    }

    @Test("waits for each path as long as is known of it")
    mutating func delays() {
        race.begin()
        race.plan(
            at: 0, [.init(1, ["a", "d"], delay: 600), .init(2, ["b"], delay: 100), .init(3, ["c"])],
            isFinal: true)
        for time in [100, 600, 700] { race.time(time) }
        #expect(race.lines == ["0 start 1a", "600 start 1d", "600 start 2b", "700 start 3c"])
    }

    @Test("does not wait for a path that becomes suspect, and tries no more over it than before")
    mutating func suspicion() {
        race.begin()
        race.plan(at: 0, [.init(1, ["a", "d"], delay: 2000), .init(2, ["b"])], isFinal: true)
        race.suspect([1], at: 1050)
        race.time(2000)
        #expect(race.lines == ["0 start 1a", "1050 start 2b", "2000 start 1d"])
    }

    @Test("begins over all paths up to the first that is not suspect at once")
    mutating func suspects() {
        race.suspect([1, 2], at: 0)
        race.begin()
        race.plan(
            at: 5, [.init(1, ["a"]), .init(2, ["b"]), .init(3, ["c"]), .init(4, ["d"])], isFinal: true)
        race.time(255)
        #expect(race.lines == ["5 start 1a", "5 start 2b", "5 start 3c", "255 start 4d"])
    }

    @Test("waits for each where all are suspect, and where no other is left")
    mutating func allSuspect() {
        race.begin()
        race.suspect([1, 2], at: 0)
        race.plan(at: 0, [.init(1, ["a"]), .init(2, ["b"])], isFinal: false)
        race.time(250)
        race.plan(at: 300, [.init(1, ["a"]), .init(2, ["b"]), .init(3, ["c"])], isFinal: true)
        #expect(race.lines == ["0 start 1a", "250 start 2b", "300 start 3c"])
    }

    @Test("waits again for a path that is suspect no more")
    mutating func suspicionEnds() {
        race.begin()
        race.suspect([1], at: 0)
        race.suspect([], at: 1)
        race.plan(at: 2, [.init(1, ["a"]), .init(2, ["b"])], isFinal: true)
        race.time(252)
        #expect(race.lines == ["2 start 1a", "252 start 2b"])
    }

    @Test("holds the others until the winner is confirmed, and goes on where it is not")
    mutating func confirmation() {
        race = ScriptedRace(needsConfirmation: true)
        race.begin()
        race.plan(at: 0, [.init(1, ["a"]), .init(2, ["b"])], isFinal: true)
        race.connected("a", at: 20)
        // Whose handshake is complete has as long again for TLS.
        race.time(250)
        race.time(270)
        race.connected("b", at: 290)
        race.failed("a", at: 300)
        race.confirmed("b", at: 310)
        #expect(
            race.lines
                == ["0 start 1a", "20 confirm 1a", "270 start 2b", "290 confirm 2b", "310 win 2b"])
        #expect(race.machine.attempts.map(\.outcome) == [.failed("refused"), .won])
    }

    @Test("waits for a path as long as it has time")
    mutating func noPath() {
        race.begin()
        race.plan(at: 0, [], isFinal: false)
        race.time(10_000)
        #expect(race.lines == ["10000 fail timedOut"])
    }

    @Test("keeps its rules in 100,000 worlds that change", arguments: 1...10)
    func worlds(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var ends: [String: Int] = [:]
        for number in 0..<10_000 {
            var world = ChangingWorld(&random)
            world.run()
            if let broken = world.broken {
                Issue.record("seed \(seed), world \(number): \(broken)\n\(world.race.lines)")
                return
            }
            ends[world.end, default: 0] += 1
        }
        #expect(
            ends.filter { $0.value > 100 }.keys.sorted() == [
                "allFailed", "cancelled", "noCandidate", "timedOut", "win",
            ], "\(ends)")
    }
}

/// A race driven by hand. A candidate is known by a letter.
struct ScriptedRace {
    struct Path {
        var interface: InterfaceIndex
        var candidates: [Character]
        var delay: Int

        init(_ interface: InterfaceIndex, _ candidates: [Character], delay: Int = 250) {
            (self.interface, self.candidates, self.delay) = (interface, candidates, delay)
        }
    }

    var machine: RaceMachine
    private(set) var lines: [String] = []
    private(set) var steps: [RaceStep] = []
    /// The paths of the last plan.
    private(set) var planned: Set<InterfaceIndex> = []

    init(needsConfirmation: Bool = false) {
        var configuration = RaceMachine.Configuration()
        configuration.needsConfirmation = needsConfirmation
        machine = RaceMachine(configuration: configuration)
    }

    mutating func begin() { machine.begin(at: at(0)) }

    mutating func plan(
        at time: Int, _ paths: [Path], awaiting: Set<InterfaceIndex> = [], isFinal: Bool
    ) {
        planned = Set(paths.map(\.interface))
        let branches = paths.map { path in
            RaceMachine.Branch(
                interface: path.interface, candidates: path.candidates.map { Candidate(path.interface, $0) },
                attemptDelay: .milliseconds(path.delay))
        }
        perform(machine.plan(branches, awaiting: awaiting, isFinal: isFinal, at: at(time)), time)
    }

    mutating func time(_ time: Int) { perform(machine.timeReached(at(time)), time) }

    mutating func connected(_ letter: Character, at time: Int) {
        perform(machine.connected(id(letter), at: at(time)), time)
    }

    mutating func confirmed(_ letter: Character, at time: Int) {
        perform(machine.confirmed(id(letter), at: at(time)), time)
    }

    mutating func failed(_ letter: Character, at time: Int) {
        perform(machine.failed(id(letter), reason: "refused", at: at(time)), time)
    }

    mutating func suspect(_ interfaces: Set<InterfaceIndex>, at time: Int) {
        perform(machine.suspect(interfaces, at: at(time)), time)
    }

    mutating func cancel(at time: Int) { perform(machine.cancel(at: at(time)), time) }

    /// An input about an attempt by its number.
    mutating func send(
        _ id: RaceMachine.AttemptID, at time: Int,
        _ input: (inout RaceMachine, RaceMachine.AttemptID, MonotonicTime) -> [RaceMachine.Action]
    ) {
        perform(input(&machine, id, at(time)), time)
    }

    private func id(_ letter: Character) -> RaceMachine.AttemptID {
        machine.attempts.lastIndex { $0.candidate.letter == letter }!
    }

    private mutating func perform(_ actions: [RaceMachine.Action], _ time: Int) {
        for action in actions {
            steps.append(RaceStep(time: time, action: action))
            switch action {
            case .start(_, let candidate): lines.append("\(time) start \(candidate.name)")
            case .cancel(let id): lines.append("\(time) cancel \(name(id))")
            case .confirm(let id): lines.append("\(time) confirm \(name(id))")
            case .win(let id): lines.append("\(time) win \(name(id))")
            case .fail(let failure): lines.append("\(time) fail \(failure)")
            }
        }
    }

    private func name(_ id: RaceMachine.AttemptID) -> String { machine.attempts[id].candidate.name }
}

extension Candidate {
    init(_ interface: InterfaceIndex, _ letter: Character) {
        self.init(
            path: PathID("if\(interface)"), interface: interface,
            endpoint: IPEndpoint(IPAddress(ipv4: 0xC000_0201), port: UInt16(letter.asciiValue!)),
            transport: .tcp)
    }

    var letter: Character { Character(Unicode.Scalar(UInt8(endpoint.port))) }
    var name: String { "\(interface)\(letter)" }
}
