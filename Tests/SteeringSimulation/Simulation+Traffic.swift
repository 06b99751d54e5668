// What the connection's users do.

import PathCore

extension Simulation {
    func begin(phase: Int) {
        awaitsRequest = false
        burst = Burst()
        if traffic.phases[phase].pattern.bringsStream { expect() }
        tick(phase)
    }

    /// The phase that goes on now.
    private var phase: Int? {
        traffic.phases.lastIndex { $0.start.wholeNanoseconds <= now }
    }

    func tick(_ number: Int) {
        guard phase == number else { return }
        switch traffic.phases[number].pattern {
        case .idle: break
        case .requests(let answers, _):
            guard !awaitsRequest else { return }
            awaitsRequest = true
            expect()
            write(.request(answers: answers), from: .client)
        case .upload(let pause):
            write(.bulk, from: .client)
            after(pause.wholeNanoseconds, .tick(phase: number))
        case .download(let pause):
            write(.bulk, from: .server)
            after(pause.wholeNanoseconds, .tick(phase: number))
        case .both(let pause):
            write(.bulk, from: .client)
            write(.bulk, from: .server)
            after(pause.wholeNanoseconds, .tick(phase: number))
        case .bursts(let end, let most, let firstPause):
            if burst.pauseAt == nil { burst.pauseAt = now + firstPause.wholeNanoseconds }
            burst.size = min(burst.size * 2, most)
            for _ in 0..<burst.size { write(.bulk, from: end) }
            let subflow = subflows[endpoints[end.rawValue].turn]
            var pause = max(subflow[end].smoothed, Burst.leastTrip)
            if let due = burst.pauseAt, now >= due {
                pause += Burst.pause
                burst.pauseAt = due + Burst.pauseInterval
            }
            after(pause, .tick(phase: number))
        }
    }

    func read(_ meaning: SimulatedTraffic.Meaning, by end: SimulatedEnd) {
        // The first data over, and the kernel takes orders.
        becomeReady(end)
        switch meaning {
        case .bulk, .answer: break
        case .request(let answers):
            for number in 1...max(answers, 1) {
                write(number == max(answers, 1) ? .lastAnswer : .answer, from: end)
            }
        case .lastAnswer:
            awaitsRequest = false
            if let phase, case .requests(_, let pause) = traffic.phases[phase].pattern {
                after(pause.wholeNanoseconds, .tick(phase: phase))
            }
        }
        steering[end.rawValue]?.dataMoves(self)
    }

    // MARK: What the client's user says of that

    /// How often it looks whether all is there: an HTTP connection says so 200 ms after the last byte, this one up to so much sooner.
    private static let lookPause: Int64 = 200_000_000

    private func expect() {
        guard options.tellsExpectation, !isExpecting else { return }
        isExpecting = true
        steering[SimulatedEnd.client.rawValue]?.expectData(true, self)
        after(Self.lookPause, .expectation)
    }

    func endExpectation() {
        guard !awaitsRequest, waitingSince(from: .server) == nil,
            phase.map({ !traffic.phases[$0].pattern.bringsStream }) ?? true
        else { return after(Self.lookPause, .expectation) }
        isExpecting = false
        steering[SimulatedEnd.client.rawValue]?.expectData(false, self)
    }
}

extension SimulatedTraffic.Pattern {
    /// Whether the server sends without being asked each time.
    fileprivate var bringsStream: Bool {
        switch self {
        case .download, .both, .bursts(from: .server, _, _): true
        case .idle, .requests, .upload, .bursts: false
        }
    }
}

/// How far a sender of bursts has got.
struct Burst {
    static let leastTrip: Int64 = 1_000_000
    static let pause: Int64 = 200_000_000
    static let pauseInterval: Int64 = 10_000_000_000

    /// Chunks in the next one are twice as many.
    var size = 2
    /// When it pauses next.
    var pauseAt: Int64?
}
