import PathCore
import TestSupport

/// A race in a world where paths come and go, addresses come late, handshakes are confirmed or stall, and
/// callers lose interest; and the rules that hold in each of them.
struct ChangingWorld {
    private enum Event {
        case plan([ScriptedRace.Path], isFinal: Bool)
        case answer(RaceMachine.AttemptID)
        case refusal(RaceMachine.AttemptID)
        case confirmation(RaceMachine.AttemptID)
        case suspicion(Set<InterfaceIndex>)
        case cancel
    }

    private(set) var race: ScriptedRace
    private var random: SplitMix64
    private var events: [(time: Int, event: Event)] = []
    /// What may be attempted now, by name.
    private var allowed: Set<String> = []
    private(set) var broken: String?
    private let timerLag: Int
    private let needsConfirmation: Bool
    private var live: Set<RaceMachine.AttemptID> = []
    private var seenSteps = 0

    init(_ random: inout SplitMix64) {
        self.random = SplitMix64(seed: random.next())
        needsConfirmation = random.oneIn(3)
        race = ScriptedRace(needsConfirmation: needsConfirmation)
        timerLag = random.oneIn(4) ? Int(random.next() % 40) : 0
        let letters: [Character] = ["a", "b", "c", "d", "e", "f"]
        let changes = Int(random.next() % 5) + 1
        var time = Int(random.next() % 100)
        for change in 0..<changes {
            let paths = (1...3).compactMap { interface -> ScriptedRace.Path? in
                guard !random.oneIn(3) else { return nil }
                let count = Int(random.next() % 3)
                return ScriptedRace.Path(
                    UInt32(interface), Array(letters[(interface - 1) * 2..<(interface - 1) * 2 + count]),
                    delay: [10, 100, 250, 700][Int(random.next() % 4)])
            }
            events.append(
                (time, .plan(paths, isFinal: change == changes - 1 ? !random.oneIn(6) : random.oneIn(3))))
            time += Int(random.next() % 900)
        }
        if random.oneIn(6) { events.append((Int(random.next() % 3000), .cancel)) }
        for _ in 0..<random.next() % 3 {
            let suspects = (1...3).filter { _ in random.oneIn(2) }.map { InterfaceIndex($0) }
            events.append((Int(random.next() % 2000), .suspicion(Set(suspects))))
        }
    }

    var end: String {
        switch race.steps.last?.action {
        case .fail(let failure): "\(failure)"
        case .win: "win"
        default: "none"
        }
    }

    mutating func run() {
        race.begin()
        var now = 0
        for _ in 0..<1000 where broken == nil {
            let next = events.indices.min { events[$0].time < events[$1].time }
            let timer = race.machine.nextDeadline.map { Int($0.nanoseconds / 1_000_000) + timerLag }
            if let timer, timer <= next.map({ events[$0].time }) ?? .max {
                now = max(now, timer)
                race.time(now)
            } else if let next {
                let (time, event) = events.remove(at: next)
                now = max(now, time)
                deliver(event, at: now)
            } else {
                break
            }
            look(at: now)
        }
        if broken == nil { broken = endBroken }
    }

    private mutating func deliver(_ event: Event, at now: Int) {
        switch event {
        case .plan(let paths, let isFinal):
            allowed = Set(paths.flatMap { path in path.candidates.map { "\(path.interface)\($0)" } })
            race.plan(at: now, paths, isFinal: isFinal)
        case .answer(let id): race.send(id, at: now) { $0.connected($1, at: $2) }
        case .refusal(let id): race.send(id, at: now) { $0.failed($1, reason: "refused", at: $2) }
        case .confirmation(let id): race.send(id, at: now) { $0.confirmed($1, at: $2) }
        case .suspicion(let interfaces): race.suspect(interfaces, at: now)
        case .cancel: race.cancel(at: now)
        }
    }

    /// Checks what the machine asked for just now, and plays the network's part.
    private mutating func look(at now: Int) {
        let isOver = race.steps.prefix(seenSteps).contains { $0.action.isTerminal }
        let fresh = race.steps[seenSteps...]
        seenSteps = race.steps.count
        if isOver, !fresh.isEmpty {
            broken = "it acts after its end"
            return
        }
        if timerLag == 0, let deadline = race.machine.nextDeadline,
            deadline.nanoseconds <= Int64(now) * 1_000_000
        {
            broken = "its next deadline after \(now) is \(deadline)"
            return
        }
        live = live.filter { id in
            if case .failed = race.machine.attempts[id].outcome { false } else { true }
        }
        for step in fresh {
            switch step.action {
            case .start(let id, let candidate):
                if !allowed.contains(candidate.name) { broken = "\(candidate.name) is not allowed" }
                if now >= 10_000 { broken = "\(candidate.name) starts at the deadline or later" }
                let again = live.contains { race.machine.attempts[$0].candidate == candidate }
                if again { broken = "\(candidate.name) runs twice" }
                live.insert(id)
                switch random.next() % 4 {
                case 0: break
                case 1: events.append((now + Int(random.next() % 600), .refusal(id)))
                default: events.append((now + Int(random.next() % 900), .answer(id)))
                }
            case .confirm(let id):
                if !live.contains(id) || !needsConfirmation {
                    broken = "attempt \(id) is not to be confirmed"
                }
                switch random.next() % 3 {
                case 0: break
                case 1: events.append((now + Int(random.next() % 300), .refusal(id)))
                default: events.append((now + Int(random.next() % 300), .confirmation(id)))
                }
            case .cancel(let id):
                if live.remove(id) == nil { broken = "attempt \(id) is cancelled, and does not run" }
            case .win(let id):
                if live.remove(id) == nil { broken = "attempt \(id) wins, and does not run" }
                if !live.isEmpty { broken = "\(live) still run beside the winner" }
            case .fail:
                if !live.isEmpty { broken = "\(live) still run after the failure" }
            }
        }
        for id in live where race.machine.attempts[id].outcome != .pending { live.remove(id) }
        let forbidden = live.first { id in
            let interface = race.machine.attempts[id].candidate.interface
            return !race.planned.contains(interface)
        }
        if let forbidden { broken = "attempt \(forbidden) goes on over a path that is not allowed" }
        if race.machine.nextDeadline == nil, race.steps.last?.action.isTerminal != true {
            broken = "it waits for nothing, and is not over"
        }
    }

    private var endBroken: String? {
        guard let last = race.steps.last, last.action.isTerminal else { return "it has no end" }
        if race.steps.filter({ $0.action.isTerminal }).count != 1 { return "it ends twice" }
        if last.time > 10_000 + timerLag, case .fail(.timedOut) = last.action {
            return "the deadline came at \(last.time)"
        }
        if race.machine.attempts.contains(where: { $0.outcome == .pending || $0.ended == nil }) {
            return "an attempt is left open"
        }
        let won = race.machine.attempts.filter { $0.outcome == .won }.count
        if case .win = last.action, won != 1 { return "there are \(won) winners" }
        return nil
    }
}
