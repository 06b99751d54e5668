import PathCore
import Testing

@testable import NetworkLab

/// A link in virtual time.
@Suite("An emulated link")
struct LinkMachineTests {
    private func link(_ text: String, seed: UInt64 = 1) throws -> LinkMachine {
        let conditions = try ConditionChange(parsing: text).applied(to: LinkConditions())
        return LinkMachine(conditions.up, seed: seed)
    }

    private func milliseconds(_ count: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64(count * 1e6))
    }

    /// Every delivery in order, with its time in milliseconds, and every drop.
    private func drain(
        _ link: inout LinkMachine
    ) -> (arrivals: [(id: UInt32, time: Double)], drops: [LinkMachine.Drop]) {
        var arrivals: [(UInt32, Double)] = []
        var drops: [LinkMachine.Drop] = []
        while let deadline = link.nextDeadline {
            while let outcome = link.poll(at: deadline) {
                switch outcome {
                case .deliver(let packet, let copies, _):
                    for _ in 0..<copies { arrivals.append((packet.id, Double(deadline.nanoseconds) / 1e6)) }
                case .drop(_, let reason): drops.append(reason)
                }
            }
        }
        return (arrivals, drops)
    }

    @Test("delivers at once where it is clean")
    func clean() throws {
        var link = try link("")
        link.receive(.init(id: 1, bytes: 100), at: milliseconds(5))
        #expect(link.nextDeadline == milliseconds(5))
        #expect(
            link.poll(at: milliseconds(5)) == .deliver(.init(id: 1, bytes: 100), copies: 1, changedBit: nil))
        #expect(link.poll(at: milliseconds(5)) == nil)
        #expect(link.nextDeadline == nil)
    }

    @Test("sends by its rate and delivers after its delay")
    func rateAndDelay() throws {
        // 11.584 Mbit/s for 1,448 of 1,500 bytes: a full packet takes 1 ms.
        var link = try link("delay=10ms,rate=11.584mbit")
        for id in 0..<3 { link.receive(.init(id: UInt32(id), bytes: 1500), at: .zero) }
        let arrivals = drain(&link).arrivals
        #expect(arrivals.map(\.id) == [0, 1, 2])
        #expect(arrivals.map { ($0.time * 1000).rounded() / 1000 } == [11, 12, 13])
    }

    @Test("makes up for a late poll")
    func latePoll() throws {
        var link = try link("rate=11.584mbit")
        for id in 0..<10 { link.receive(.init(id: UInt32(id), bytes: 1500), at: .zero) }
        // The first call comes at 5.5 ms; what follows still goes by the rate.
        var early = 0
        while link.poll(at: milliseconds(5.5)) != nil { early += 1 }
        #expect(early == 5)
        let rest = drain(&link).arrivals.map { ($0.time * 1000).rounded() / 1000 }
        #expect(rest == [6, 7, 8, 9, 10])
    }

    @Test("drops the tail of a full queue")
    func fullQueue() throws {
        var link = try link("rate=11.584mbit,queue=3000b")
        for id in 0..<4 { link.receive(.init(id: UInt32(id), bytes: 1500), at: .zero) }
        let (arrivals, drops) = drain(&link)
        #expect(arrivals.map(\.id) == [0, 1])
        #expect(drops == [.queue, .queue])
    }

    @Test("holds in a queue of time what its rate sends in that time")
    func queueOfTime() throws {
        #expect(try link("rate=11.584mbit,queue=20ms").queueLimit == 30_000)
        #expect(try link("queue=20ms").queueLimit == .max)
    }

    @Test("applies a new rate to the packet being sent")
    func newRate() throws {
        var link = try link("rate=11.584mbit")
        link.receive(.init(id: 0, bytes: 1500), at: .zero)
        let slower = try ConditionChange(parsing: "rate=5.792mbit").applied(to: LinkConditions()).up
        link.change(slower, at: milliseconds(0.5))
        #expect(abs((drain(&link).arrivals.first?.time ?? 0) - 1.5) < 0.001)
    }

    @Test("keeps the order under jitter, and not where it reorders")
    func order() throws {
        var steady = try link("delay=20ms,jitter=15ms")
        var loose = try link("delay=20ms,jitter=15ms,reorder=jitter")
        var held = try link("delay=1ms,reorder=10%")
        for id in 0..<200 {
            let time = milliseconds(Double(id))
            steady.receive(.init(id: UInt32(id), bytes: 100), at: time)
            loose.receive(.init(id: UInt32(id), bytes: 100), at: time)
            held.receive(.init(id: UInt32(id), bytes: 100), at: time)
        }
        let order = drain(&steady).arrivals.map(\.id)
        #expect(order == Array(0..<200))
        for var link in [loose, held] {
            let order = drain(&link).arrivals.map(\.id)
            #expect(order != order.sorted())
            #expect(order.sorted() == Array(0..<200))
        }
    }

    @Test("loses the share that is asked for", arguments: ["loss=5%", "loss=5%,burst=8", "gilbert=1%/19%"])
    func lossShare(_ text: String) throws {
        var link = try link(text)
        for id in 0..<100_000 { link.receive(.init(id: UInt32(id), bytes: 100), at: .zero) }
        // Bursts of 8 make the deviation about four times that of single losses, 0.07 %.
        #expect((4600...5400).contains(drain(&link).drops.count))
    }

    @Test("loses bursts as long as asked for")
    func burstLength() throws {
        var link = try link("loss=5%,burst=8")
        for id in 0..<100_000 { link.receive(.init(id: UInt32(id), bytes: 100), at: .zero) }
        let ids = drain(&link).arrivals.map(\.id)
        let gaps = zip(ids, ids.dropFirst()).filter { $1 - $0 > 1 }.map { Double($1 - $0 - 1) }
        #expect((7...9).contains(gaps.reduce(0, +) / Double(gaps.count)))
    }

    @Test("treats the same packets the same with the same seed")
    func seed() throws {
        func fate(_ seed: UInt64) throws -> [UInt32] {
            var link = try link("delay=5ms,jitter=3ms,loss=10%,duplicate=5%,reorder=5%", seed: seed)
            for id in 0..<500 {
                link.receive(.init(id: UInt32(id), bytes: 100), at: milliseconds(Double(id)))
            }
            return drain(&link).arrivals.map(\.id)
        }
        #expect(try fate(3) == fate(3))
        #expect(try fate(3) != fate(4))
    }

    @Test("swallows what is under way too where it is a blackhole")
    func blackhole() throws {
        var link = try link("delay=10ms")
        link.receive(.init(id: 0, bytes: 100), at: .zero)
        link.change(
            try ConditionChange(parsing: "blackhole").applied(to: LinkConditions()).up, at: milliseconds(5))
        link.receive(.init(id: 1, bytes: 100), at: milliseconds(6))
        let (arrivals, drops) = drain(&link)
        #expect(arrivals.isEmpty)
        #expect(drops == [.blackhole, .blackhole])
    }
}
