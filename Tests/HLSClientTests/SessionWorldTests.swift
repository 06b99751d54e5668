import Foundation
import TestSupport
import Testing

@testable import HLSClient

/// Sessions in random worlds: each is its seed's.
@Suite("A session in random worlds")
struct SessionWorldTests {
    /// Paths that change, fall silent and break, servers that refuse, lie and know no ranges, keys and initialization sections
    /// that come late: whatever happens, each segment comes once, in order, behind its key and its section, and the session ends.
    @Test("ends, with each segment at most once and in order")
    func worlds() {
        for seed in 0..<120 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let world = Self.world(&random)
            var stream = SimulatedStream(world, seed: seed)
            stream.run(until: 2_000)
            #expect(stream.faults.isEmpty, "seed \(seed): \(stream.faults.prefix(3))")
            #expect(stream.outcome != nil, "seed \(seed) does not end: \(stream.machine.status)")
            let there = stream.delivered.count + stream.report.skipped
            if world.window == nil, stream.outcome == .ended {
                #expect(there == world.segments, "seed \(seed): \(there) of \(world.segments)")
            }
            // What was left out shows in what follows.
            for (before, after) in zip(stream.delivered, stream.delivered.dropFirst())
            where after.number > before.number + 1 {
                #expect(after.isDiscontinuous, "seed \(seed): \(after.number) behind \(before.number)")
            }
        }
    }

    private static func world(_ random: inout SplitMix64) -> SimulatedStream.World {
        var world = SimulatedStream.World()
        world.segments = Int.random(in: 1...50, using: &random)
        world.duration = Double.random(in: 0.5...6, using: &random)
        world.roundTrip = Double.random(in: 0.01...0.8, using: &random)
        if random.oneIn(3) {
            world.window = world.duration * Double(Int.random(in: 3...8, using: &random))
        }
        let phases = (0..<40).map { _ in Double.random(in: 0.1e6...20e6, using: &random) }
        let silent = (0..<40).map { _ in random.oneIn(6) }
        let expensive = (0..<40).map { _ in random.oneIn(3) }
        let constrained = (0..<40).map { _ in random.oneIn(5) }
        let none = (0..<40).map { _ in random.oneIn(12) }
        world.rate = { time in
            let phase = Int(time / 4) % 40
            return silent[phase] ? 0 : phases[phase]
        }
        world.path = { time in
            let phase = Int(time / 9) % 40
            guard !none[phase] else { return nil }
            return StreamPath(
                expensive[phase] ? "wwan0" : "wlan0", isExpensive: expensive[phase],
                isConstrained: constrained[phase])
        }
        let (breaking, refusing, anew, gap) = (
            UInt64.random(in: 20...400, using: &random), UInt64.random(in: 5...60, using: &random),
            UInt64.random(in: 1...4, using: &random), Int64.random(in: 5...40, using: &random)
        )
        world.breaks = { $0.oneIn(breaking) }
        func failure(_ random: inout SplitMix64) -> FetchFailure? {
            guard random.oneIn(refusing) else { return nil }
            let kinds: [FetchFailure.Kind] = [.broken, .busy, .missing, .unusable, .changed, .silent]
            return FetchFailure(kind: kinds[Int.random(in: 0..<6, using: &random)], reason: "chance")
        }
        world.refusal = { _, _, random in failure(&random) }
        // The first playlist's failures are told at once; a test of its own has them.
        world.otherRefusal = { purpose, random in
            purpose == .playlist(variant: nil) ? nil : failure(&random)
        }
        world.ignoresRanges = { $0.oneIn(anew) }
        if random.oneIn(3) { world.segmentsPerKey = Int64.random(in: 1...5, using: &random) }
        world.hasMaps = random.oneIn(3)
        world.isGap = { (Int64($0) + $1) % gap == gap - 1 }
        return world
    }

    @Test("spares a constrained path: the lowest variant's bytes for what is played there, and two segments")
    func constrained() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var world = SimulatedStream.World()
            world.segments = 60
            world.duration = Double.random(in: 1...6, using: &random)
            let rate = Double.random(in: 1e6...40e6, using: &random)
            world.rate = { _ in rate }
            // From the beginning, or from some time on, and for some time or for good.
            let from = random.oneIn(3) ? 0 : Double.random(in: 0...60, using: &random)
            let to = random.oneIn(2) ? 1e9 : from + Double.random(in: 5...60, using: &random)
            world.path = { StreamPath("wlan0", isConstrained: $0 >= from && $0 < to) }
            var stream = SimulatedStream(world, seed: seed)
            stream.run(until: min(to, 1_000))
            #expect(stream.faults.isEmpty, "seed \(seed): \(stream.faults.prefix(3))")
            let segment = world.rates[0] * world.duration / 8
            let played = min(stream.now, to) - from
            let bytes = stream.report.bytes.filter(\.key.isConstrained).values.reduce(0, +)
            // Playlists take 2,000 bytes each here.
            let most = world.rates[0] / 8 * max(played, 0) + 2 * segment + 12_000
            #expect(Double(bytes) <= most, "seed \(seed): \(bytes) bytes in \(played) s, \(from) to \(to)")
            #expect(stream.report.stalls == 0, "seed \(seed)")
        }
    }

    @Test("says within a second that no path is left, and goes on within a second of one")
    func waits() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var world = SimulatedStream.World()
            let (from, length) = (
                Double.random(in: 0.5...40, using: &random), Double.random(in: 3...90, using: &random)
            )
            world.path = { (from..<from + length).contains($0) ? nil : StreamPath("wlan0") }
            var stream = SimulatedStream(world, seed: seed)
            stream.run()
            #expect(stream.outcome == .ended, "seed \(seed): \(String(describing: stream.outcome))")
            #expect(stream.delivered.count == world.segments, "seed \(seed)")
            guard stream.now > from + length else { continue }
            #expect(
                stream.told.contains { $0.event == .pathChanged(nil) && $0.time < from + 1 }, "seed \(seed)")
            // Unless its buffer was full.
            let next = stream.fetched.first { $0.time >= from + length }?.time ?? .infinity
            let isFull = stream.told.contains { $0.time >= from + length && $0.event == .stalled }
            #expect(next < from + length + 1 || !isFull, "seed \(seed): \(next) behind \(from + length)")
        }
    }

    @Test("is not confused by a clock that stands, goes back or jumps a day")
    func clocks() {
        var stream = SimulatedStream(.init())
        stream.run(until: 5)
        let before = stream.machine.now
        _ = stream.machine.handle(.tick, at: before - 100)
        #expect(stream.machine.now == before)
        #expect(stream.machine.nextDeadline.map { $0 > before } == true)
        // The machine slept: nothing came for a day, which is not the server's doing alone, but longer than any patience.
        let actions = stream.machine.handle(.tick, at: before + 86_400)
        #expect(actions.filter { if case .finish = $0 { true } else { false } }.count <= 1)
        #expect(stream.machine.status.buffer >= 0)
    }
}
