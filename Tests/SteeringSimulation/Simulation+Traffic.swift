// What the connection's users do.

import PathCore

extension Simulation {
    func begin(phase: Int) {
        awaitsRequest = false
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
        }
    }

    func read(_ meaning: SimulatedTraffic.Meaning, by end: SimulatedEnd) {
        // The first data over, and the kernel takes orders.
        endpoints[end.rawValue].isReady = true
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
}
