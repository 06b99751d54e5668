import PathCore
import TestSupport
import Testing

@Suite("Heartbeats")
struct HeartbeatScheduleTests {
    @Test(
        "find within eight probes what 0.7 of a translator's memory is, lose nothing after that, and cost less",
        arguments: [45, 120, 400, 7_200])
    func converge(limit: Int) {
        var rates: [Double] = []
        for seed in 1...20 as ClosedRange<UInt64> {
            var world = HeartbeatWorld(limit: .seconds(limit), seed: seed)
            world.roundTrip = .milliseconds(Int.random(in: 5...1_500, using: &world.random))
            world.connect()
            world.run(for: .seconds(2 * 3_600)) { $0.search.isSettled }
            #expect(world.search.isSettled && world.probes <= 8, "seed \(seed): \(world.probes) probes")
            let best = min(Duration.seconds(limit), HeartbeatTuning.standard.longestInterval)
            #expect(world.search.interval >= best * 0.7, "seed \(seed): \(world.search.interval)")
            #expect(world.search.interval < .seconds(limit))
            let (lost, pings) = (world.deaths.count, world.pings)
            world.run(for: .seconds(24 * 3_600))
            #expect(world.deaths.count == lost, "seed \(seed)")
            let anHour = Double(world.pings - pings) / 24
            rates.append(anHour)
            // A fixed heartbeat every 30 s is sent 120 times.
            #expect(anHour <= 3_600 / (best.inSeconds * 0.7 * 0.9) + 1, "seed \(seed): \(anHour)")
        }
        func bytes(_ pings: Double) -> Int { Int(pings * Double(HeartbeatWorld.bytesOfPing)) }
        print(
            "measured: NAT of \(limit) s: \(rates.min() ?? 0) to \(rates.max() ?? 0) pings an hour,",
            "\(bytes(rates.min() ?? 0)) to \(bytes(rates.max() ?? 0)) bytes; every 30 s: 120, \(bytes(120)) bytes"
        )
    }

    @Test("of many connections that also carry data lose a few while one of them tries, and none after that")
    func many() {
        for (seed, limit) in [(1, 45), (2, 120), (3, 400)] as [(UInt64, Int)] {
            var world = HeartbeatWorld(limit: .seconds(limit), seed: seed)
            world.pauses = 1_000...600_000
            for _ in 0..<50 { world.connect() }
            world.run(for: .seconds(8 * 3_600)) { $0.search.isSettled }
            #expect(world.search.isSettled, "limit \(limit)")
            #expect(world.deaths.count <= 4, "limit \(limit): \(world.deaths.count) connections were lost")
            let lost = world.deaths.count
            world.run(for: .seconds(4 * 3_600))
            #expect(world.deaths.count == lost)
        }
    }

    @Test("tell of a dead peer within two times their patience after the first unanswered ping")
    func deadPeer() {
        for (roundTrip, patience) in [(20, 1_000), (1_000, 3_000), (4_000, 12_000), (9_000, 15_000)] {
            var world = HeartbeatWorld(limit: .seconds(7_200))
            world.roundTrip = .milliseconds(roundTrip)
            let id = world.connect()
            world.run(for: .seconds(100))
            world.kill(id)
            world.run(for: .seconds(300)) { !$0.deaths.isEmpty }
            #expect(world.deaths.map(\.afterPing) == [.milliseconds(2 * patience)])
        }
    }

    @Test("of a thousand connections wake the process together, and stay within a tenth of their interval")
    func together() {
        var world = HeartbeatWorld(limit: .seconds(35), seed: 7)
        let interval = world.search.interval
        let count = 1_000
        for _ in 0..<count {
            world.connect()
            world.pass(.milliseconds(30))
        }
        world.run(for: interval * 12)
        let (begun, pings) = (world.wakeUps.count, world.pings)
        world.run(for: .seconds(600))
        let wakeUps = world.wakeUps.count - begun
        let rounds = 600 / (world.search.interval.inSeconds * 0.9)
        #expect(world.pings - pings >= count * 16)
        // The one that tries a longer silence goes alone, until the search is over.
        #expect(Double(wakeUps) <= rounds + 10, "\(wakeUps) wake-ups for \(rounds) rounds")
        #expect(world.connections.count == count)
    }

    @Test("believe what is remembered only after one connection has tried it")
    func lies() {
        for remembered in [45, 300, 600, 100_000] {
            var world = HeartbeatWorld(limit: .seconds(100))
            for number in 0..<20 {
                let id = world.connect()
                guard number == 0 else { continue }
                world.schedule.remove(id)
                world.schedule = HeartbeatSchedule()
                world.schedule.add(
                    id, in: world.network, roundTrip: world.roundTrip,
                    remembered: RememberedSilence(proven: .seconds(remembered)), at: world.now)
            }
            world.run(for: .seconds(3 * 3_600))
            #expect(world.search.isSettled && world.search.interval >= .seconds(70))
            // The lie itself costs one connection, the search the usual few.
            #expect(world.deaths.count <= 4, "\(remembered): \(world.deaths.count)")
        }
        var world = HeartbeatWorld(limit: .seconds(400))
        let id = world.connect()
        world.schedule = HeartbeatSchedule()
        world.schedule.add(
            id, in: world.network, roundTrip: world.roundTrip,
            remembered: RememberedSilence(proven: .seconds(360)), at: world.now)
        world.run(for: .seconds(3_600)) { $0.search.proven ?? .zero >= .seconds(360) }
        #expect(world.probes == 2 && world.deaths.isEmpty, "the truth is proven by the second ping")
    }

    @Test("learn that a translator keeps less than it did")
    func shrinks() {
        var world = HeartbeatWorld(limit: .seconds(400))
        world.connect()
        world.run(for: .seconds(7_200)) { $0.search.isSettled }
        #expect(world.search.interval >= .seconds(280))
        world.limit = .seconds(60)
        let lost = world.deaths.count
        world.run(for: .seconds(3 * 3_600))
        #expect(world.search.interval >= .seconds(42) && world.search.interval < .seconds(60))
        #expect(world.deaths.count - lost <= 10, "\(world.deaths.count - lost)")
        let after = world.deaths.count
        world.run(for: .seconds(24 * 3_600))
        #expect(world.deaths.count == after)
    }

    private static let wifi = HeartbeatNetwork(family: .ipv4, type: .wifi, name: "hotel")
    private static let cell = HeartbeatNetwork(family: .ipv4, type: .cellular, name: "wwan0")

    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(seconds * 1e9)) }

    @Test("of a connection that moves while its answer is awaited ask again, and blame the path that it left")
    func moves() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        #expect(schedule.timeReached(at(30)) == [.ping(1, isRepeated: false)])
        let moved = schedule.moved(1, to: Self.cell, at: at(30.5))
        #expect(moved == [.learnt(Self.wifi), .ping(1, isRepeated: true)])
        #expect(schedule.answered(1, at: at(30.6)) == [])
        #expect(schedule.search(of: Self.wifi)?.lost == .seconds(30))
        #expect(schedule.search(of: Self.cell)?.proven == nil)
        #expect(schedule.interval(of: 1) == .seconds(30))
    }

    @Test("blame the network where a reset answers the ping, and not where the peer ends an idle connection")
    func resets() {
        for (isAsked, lost) in [(true, Duration.seconds(30)), (false, nil)] {
            var schedule = HeartbeatSchedule()
            schedule.add(1, in: Self.wifi, roundTrip: nil, at: at(0))
            if isAsked { #expect(schedule.timeReached(at(30)).count == 1) }
            _ = schedule.ended(1, byReset: true)
            #expect(schedule.search(of: Self.wifi)?.lost == lost)
            #expect(schedule.count == 0 && schedule.nextDeadline == nil)
        }
    }

    @Test("are not sent while data comes, and any byte after a ping is a sign of life")
    func data() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: nil, at: at(0))
        for second in 1...100 {
            let now = at(Double(second))
            schedule.heard(1, received: now, arrived: now, sent: now)
            #expect(schedule.timeReached(at(Double(second) + 0.5)) == [])
        }
        #expect(schedule.timeReached(at(130)) == [.ping(1, isRepeated: false)])
        schedule.heard(1, received: at(130.2), arrived: at(130.2), sent: at(130))
        #expect(schedule.timeReached(at(140)) == [])
        #expect(schedule.search(of: Self.wifi)?.proven == nil, "its answer has not come")
        #expect(schedule.nextDeadline.map { $0 > at(156) && $0 <= at(160.2) } == true)
    }

    @Test("ask at once after the machine has slept, which proves nothing of the network")
    func sleep() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        schedule.woke()
        #expect(schedule.nextDeadline.map { $0 <= at(1) } == true)
        #expect(schedule.timeReached(at(1)) == [.ping(1, isRepeated: false)])
        #expect(schedule.timeReached(at(2)) == [.ping(1, isRepeated: true)])
        #expect(schedule.timeReached(at(3)) == [.dead(1, silentFor: .seconds(3))])
        #expect(schedule.search(of: Self.wifi)?.lost == nil)
    }

    @Test("blame the service, and not the network, where the peer's kernel acknowledges the pings")
    func hungService() {
        var schedule = HeartbeatSchedule()
        schedule.add(1, in: Self.wifi, roundTrip: .milliseconds(50), at: at(0))
        #expect(schedule.timeReached(at(30)) == [.ping(1, isRepeated: false)])
        schedule.heard(1, received: at(0), arrived: at(30.05), sent: at(30))
        #expect(schedule.timeReached(at(31)) == [.ping(1, isRepeated: true)])
        schedule.heard(1, received: at(0), arrived: at(31.05), sent: at(31))
        #expect(
            schedule.timeReached(at(32)) == [.learnt(Self.wifi), .dead(1, silentFor: .seconds(32))])
        #expect(schedule.search(of: Self.wifi)?.proven == .seconds(30))
        #expect(schedule.search(of: Self.wifi)?.lost == nil)
    }
}
