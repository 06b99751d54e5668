import PathCore

/// What a race runs in: what becomes of the name and of each candidate. Times are in milliseconds.
struct RaceWorld {
    /// What an attempt meets, so long after its start.
    enum Fate: Equatable {
        case answers(Int)
        case refuses(Int)
        case silent
    }

    enum Resolution: Equatable {
        case answers(Int)
        case fails(Int)
        case silent
    }

    var branches: [[Fate]]
    var resolution = Resolution.answers(0)
    var attemptDelay = 250
    var timeout = 10_000
    /// When the caller loses interest.
    var cancelled: Int?
    /// Whether a timer comes before what else happens at the same moment.
    var timersFirst = true
    /// How late timers are.
    var timerLag = 0

    init(_ branches: [Fate]...) { self.branches = branches }

    init(branches: [[Fate]]) { self.branches = branches }
}

/// An action, and when the machine asked for it.
struct RaceStep: Equatable {
    var time: Int
    var action: RaceMachine.Action
}

extension RaceWorld {
    /// What a run left behind.
    struct Run {
        var steps: [RaceStep] = []
        var machine: RaceMachine
        /// The first rule of the machine's own that was broken: a deadline that does not move on, an action
        /// after the end.
        var fault: String?
    }

    private enum Input {
        case resolution(Resolution)
        case attempt(RaceMachine.AttemptID, Fate)
        case cancel
    }

    /// Races to the end, and then delivers what is still under way to the finished machine.
    func run() -> Run {
        var configuration = RaceMachine.Configuration()
        configuration.attemptDelay = .milliseconds(attemptDelay)
        configuration.timeout = .milliseconds(timeout)
        var run = Run(machine: RaceMachine(configuration: configuration))
        var inputs: [(time: Int, input: Input)] = []
        switch resolution {
        case .answers(let time), .fails(let time): inputs.append((time, .resolution(resolution)))
        case .silent: break
        }
        if let cancelled { inputs.append((cancelled, .cancel)) }

        run.machine.begin(at: at(0))
        while run.fault == nil {
            let next = inputs.indices.min { inputs[$0].time < inputs[$1].time }
            let timer = run.machine.nextDeadline.map { Int($0.nanoseconds / 1_000_000) + timerLag }
            let now: Int
            let actions: [RaceMachine.Action]
            if let timer, isTimersTurn(timer, inputs: next.map { inputs[$0].time }) {
                now = timer
                actions = run.machine.timeReached(at(now))
            } else if let next {
                let (time, input) = inputs.remove(at: next)
                now = time
                actions = deliver(input, at: now, to: &run.machine)
            } else {
                break
            }
            let isOver = run.steps.last?.action.isTerminal ?? false
            if isOver, !actions.isEmpty { run.fault = "\(actions) at \(now), after the end" }
            if let deadline = run.machine.nextDeadline, deadline <= at(now) {
                run.fault = "the next deadline after \(now) is \(deadline)"
            }
            for action in actions {
                run.steps.append(RaceStep(time: now, action: action))
                guard case .start(let id, let candidate) = action else { continue }
                switch fate(of: candidate) {
                case .answers(let latency), .refuses(let latency):
                    inputs.append((now + latency, .attempt(id, fate(of: candidate))))
                case .silent: break
                }
            }
        }
        return run
    }

    private func isTimersTurn(_ timer: Int, inputs: Int?) -> Bool {
        guard let inputs else { return true }
        return timersFirst ? timer <= inputs : timer < inputs
    }

    private func deliver(
        _ input: Input, at now: Int, to machine: inout RaceMachine
    ) -> [RaceMachine.Action] {
        switch input {
        case .resolution(.fails): machine.resolutionFailed(.init("no such name"), at: at(now))
        case .resolution: machine.plan(plan, isFinal: true, at: at(now))
        case .attempt(let id, .answers): machine.connected(id, at: at(now))
        case .attempt(let id, _): machine.failed(id, reason: "refused", at: at(now))
        case .cancel: machine.cancel(at: at(now))
        }
    }

    var plan: [RaceMachine.Branch] {
        zip(branches.indices, candidates).filter { !$1.isEmpty }.map {
            RaceMachine.Branch(
                interface: InterfaceIndex($0), candidates: $1, attemptDelay: .milliseconds(attemptDelay))
        }
    }

    // MARK: Candidates: the interface is the branch, the port the place in it

    var candidates: [[Candidate]] {
        branches.indices.map { branch in
            branches[branch].indices.map { place in
                Candidate(
                    path: PathID("if\(branch)"), interface: InterfaceIndex(branch),
                    endpoint: IPEndpoint(IPAddress(ipv4: 0xC000_0201), port: UInt16(place)), transport: .tcp)
            }
        }
    }

    func fate(of candidate: Candidate) -> Fate {
        branches[Int(candidate.interface)][Int(candidate.endpoint.port)]
    }
}

extension Candidate {
    /// `a1` is the first one of the first branch, `b2` the second of the second.
    var label: String {
        "\(Character(Unicode.Scalar(UInt8(97 + interface))))\(endpoint.port + 1)"
    }
}

extension RaceMachine.Action {
    var isTerminal: Bool {
        switch self {
        case .start, .cancel, .confirm: false
        case .win, .fail: true
        }
    }
}

extension RaceWorld.Run {
    /// The steps as text: `250 start a2`.
    var lines: [String] {
        func label(_ id: RaceMachine.AttemptID) -> String { machine.attempts[id].candidate.label }
        return steps.map { step in
            switch step.action {
            case .start(_, let candidate): "\(step.time) start \(candidate.label)"
            case .cancel(let id): "\(step.time) cancel \(label(id))"
            case .confirm(let id): "\(step.time) confirm \(label(id))"
            case .win(let id): "\(step.time) win \(label(id))"
            case .fail(let failure): "\(step.time) fail \(failure)"
            }
        }
    }

    /// The machine's own report: `a1 0-250 won`.
    var report: [String] {
        machine.attempts.map { attempt in
            let started = attempt.started.nanoseconds / 1_000_000
            let ended = attempt.ended.map { "\($0.nanoseconds / 1_000_000)" } ?? ""
            return "\(attempt.candidate.label) \(started)-\(ended) \(attempt.outcome)"
        }
    }
}
