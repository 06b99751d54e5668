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

    /// Gives a link packets, each at its time in milliseconds, and polls it whenever it asks for that.
    private func arrivals(
        _ link: inout LinkMachine, _ packets: [(bytes: Int, time: Double)]
    ) -> [Double] {
        var arrivals: [Double] = []
        for (id, packet) in packets.enumerated() {
            let now = milliseconds(packet.time)
            arrivals += poll(&link, before: now)
            link.receive(.init(id: UInt32(id), bytes: packet.bytes), at: now)
        }
        return arrivals + drain(&link).arrivals.map(\.time)
    }

    private func poll(_ link: inout LinkMachine, before now: MonotonicTime) -> [Double] {
        var arrivals: [Double] = []
        while let deadline = link.nextDeadline, deadline < now {
            while case .deliver = link.poll(at: deadline) {
                arrivals.append(Double(deadline.nanoseconds) / 1e6)
            }
        }
        return arrivals
    }

    // MARK: Traces

    /// Packets arrive at the trace's opportunities, each of which carries 1,504 bytes.
    private func trace(_ lines: Int...) throws -> DirectionConditions {
        var conditions = DirectionConditions()
        conditions.trace = try RateTrace(
            parsing: lines.map(String.init).joined(separator: "\n"), name: "test")
        return conditions
    }

    @Test("sends at a trace's opportunities, and starts it over")
    func traceOpportunities() throws {
        var link = LinkMachine(try trace(2, 3, 3, 10), seed: 1)
        for id in 0..<6 { link.receive(.init(id: UInt32(id), bytes: 1500), at: .zero) }
        // The 4 bytes that each packet leaves of its opportunity are the next one's.
        #expect(drain(&link).arrivals.map(\.time) == [2, 3, 3, 10, 12, 13])
    }

    @Test("shares an opportunity among small packets, and loses what it has nothing to send for")
    func traceSharing() throws {
        var link = LinkMachine(try trace(2, 5, 9), seed: 1)
        let packets = [(500, 0), (500, 0), (500, 0), (500, 0), (100, 6.5)]
        #expect(arrivals(&link, packets) == [2, 2, 2, 5, 9])
    }

    @Test("finds its place in a trace after a long pause")
    func tracePause() throws {
        var link = LinkMachine(try trace(0, 4, 10), seed: 1)
        #expect(arrivals(&link, [(1500, 1_000_003), (1500, 1_000_008)]) == [1_000_004, 1_000_010])
    }

    @Test("has a trace's mean rate in the long run")
    func traceRate() throws {
        let conditions = try trace(1, 1, 2, 7, 7, 7, 20)
        var link = LinkMachine(conditions, seed: 1)
        for id in 0..<7_000 { link.receive(.init(id: UInt32(id), bytes: 1504), at: .zero) }
        // A queue of 100 ms of the mean rate: the rest is dropped.
        let (arrivals, drops) = drain(&link)
        #expect(arrivals.count + drops.count == 7_000 && arrivals.count == link.queueLimit / 1504)
        #expect(abs(conditions.trace!.meanRate - 7 * 1504 * 8 / 0.02) < 1)
    }

    @Test("changes between a rate and a trace while it sends")
    func traceChange() throws {
        var link = try link("rate=11.584mbit")
        for id in 0..<3 { link.receive(.init(id: UInt32(id), bytes: 1500), at: .zero) }
        var times = poll(&link, before: milliseconds(1.5))
        link.change(try trace(4, 8), at: milliseconds(1.5))
        times += poll(&link, before: milliseconds(7))
        link.change(DirectionConditions(), at: milliseconds(7))
        times += drain(&link).arrivals.map(\.time)
        #expect(times.map { ($0 * 1000).rounded() / 1000 } == [1, 5.5, 7])
    }

    // MARK: CoDel, policers, aggregation

    /// A sender of full packets at twice the rate of the link for some seconds: the waits of what arrives.
    private func overload(_ text: String, seconds: Int) throws -> (waits: [Double], drops: Int) {
        var link = try link(text)
        var (waits, drops): ([Double], Int) = ([], 0)
        for id in 0..<(seconds * 2000) {
            let now = milliseconds(Double(id) / 2)
            link.receive(.init(id: UInt32(id), bytes: 1500), at: now)
            while let outcome = link.poll(at: now) {
                switch outcome {
                case .deliver(let packet, _, _):
                    waits.append(Double(now.nanoseconds) / 1e6 - Double(packet.id) / 2)
                case .drop: drops += 1
                }
            }
        }
        return (waits, drops)
    }

    @Test("drops from the head by CoDel, ever more often, where tail drop lets packets wait")
    func coDel() throws {
        let tail = try overload("rate=11.584mbit,queue=1500000b", seconds: 20)
        let coDel = try overload("rate=11.584mbit,queue=codel", seconds: 20)
        // 1,000 packets of 1 ms each; CoDel has found by then how often to drop, against a sender that never yields.
        #expect(tail.waits.last! > 990)
        #expect(coDel.waits.suffix(1000).max()! < 700, "\(coDel.waits.suffix(3))")
        #expect(coDel.drops > 8_000)
    }

    @Test("drops nothing by CoDel where no packet waits for long")
    func coDelIdle() throws {
        var link = try link("rate=11.584mbit,queue=codel")
        for id in 0..<1000 {
            // Four at once every 10 ms wait for 3 ms at most.
            for part in 0..<4 {
                link.receive(
                    .init(id: UInt32(id * 4 + part), bytes: 1500), at: milliseconds(Double(id * 10)))
            }
        }
        #expect(drain(&link).drops.isEmpty)
    }

    @Test("polices a rate beyond a bucket, and delays nothing")
    func policer() throws {
        var link = try link("policer=11.584mbit/15kb")
        var passed = 0
        for id in 0..<4000 {
            let now = milliseconds(Double(id) / 2)
            link.receive(.init(id: UInt32(id), bytes: 1500), at: now)
            while let outcome = link.poll(at: now) { if case .deliver = outcome { passed += 1 } }
        }
        // One each millisecond, and ten from the bucket.
        #expect((2005...2011).contains(passed))
        #expect(link.statistics.policed == 4000 - passed)
    }

    @Test("delivers what it sends within a span together, and a packet on an idle link at once")
    func aggregation() throws {
        var link = try link("delay=1ms,burst=4ms")
        let packets = [0, 1, 2, 4.5, 5.5, 20, 30].map { (1500, $0) }
        #expect(arrivals(&link, packets) == [1, 6, 6, 6, 10.5, 21, 31])
    }
}
