import Benchmark
import PathCore

/// Two paths, of which the first is silent, and two candidates on each, of which the second's first answers after
/// 30 ms: a whole race, in simulated time.
private struct Race {
    private(set) var steps = 0
    private(set) var actions = 0
    private(set) var winner: Candidate?
    private var machine = RaceMachine()

    static let branches = [3, 4].map { (index: InterfaceIndex) in
        RaceMachine.Branch(
            interface: index,
            candidates: [TransportProtocol.mptcp, .tcp].map { transport in
                Candidate(
                    path: index == 3 ? "wlan0" : "wwan0", interface: index,
                    endpoint: IPEndpoint(IPAddress(ipv4: 0xCB00_710A), port: 443), transport: transport)
            }, attemptDelay: .milliseconds(250))
    }

    mutating func run() {
        machine.begin(at: .zero)
        steps = 1
        var answers: [(at: MonotonicTime, attempt: Int)] = []
        note(machine.plan(Self.branches, isFinal: true, at: .zero), at: .zero, &answers)
        while winner == nil, let deadline = machine.nextDeadline {
            if let answer = answers.first, answer.at <= deadline {
                answers.removeFirst()
                note(machine.connected(answer.attempt, at: answer.at), at: answer.at, &answers)
            } else {
                note(machine.timeReached(deadline), at: deadline, &answers)
            }
        }
    }

    private mutating func note(
        _ new: [RaceMachine.Action], at now: MonotonicTime,
        _ answers: inout [(at: MonotonicTime, attempt: Int)]
    ) {
        steps += 1
        actions += new.count
        for action in new {
            switch action {
            case .start(let attempt, let candidate) where candidate.interface == 4:
                answers.append((now.advanced(by: .milliseconds(30)), attempt))
            case .win(let attempt): winner = machine.attempts[attempt].candidate
            default: break
            }
        }
    }
}

func races() {
    Benchmark(
        "race-of-4",
        configuration: Count.configuration(Count.steps, Count.actions)
    ) { benchmark in
        let race = benchmark.measured {
            var race = Race()
            race.run()
            return race
        }
        precondition(race.winner?.path == "wwan0")
        benchmark.measurement(Count.steps, race.steps)
        benchmark.measurement(Count.actions, race.actions)
    }
}
