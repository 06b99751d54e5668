import Foundation
import TestSupport
import Testing

@testable import HLSClient

private let wifi = StreamPath("wlan0")
private let cellular = StreamPath("wwan0", isExpensive: true)

@Suite("A session")
struct SessionTests {
    private func run(
        _ world: SimulatedStream.World, options: StreamOptions = StreamOptions(), until end: Double = 600
    ) -> SimulatedStream {
        var stream = SimulatedStream(world, options: options)
        stream.run(until: end)
        #expect(stream.faults.isEmpty, "\(stream.faults)")
        return stream
    }

    @Test("plays a stream on demand to its end, each segment once and in order")
    func whole() {
        let stream = run(.init())
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.map(\.number) == Array(0..<30))
        #expect(stream.report.stalls == 0)
        #expect(stream.report.fetched == .seconds(60))
        #expect(stream.report.startup.map { $0 < .seconds(1) } == true)
    }

    @Test("begins with the lowest variant, and has the highest soon on a fast path")
    func rampUp() {
        let stream = run(.init())
        #expect(stream.delivered.first?.variant == 0)
        #expect(
            stream.delivered.dropFirst(8).allSatisfy { $0.variant == 3 }, "\(stream.delivered.map(\.variant))"
        )
    }

    @Test("fetches no more than the buffer's target ahead of the player")
    func target() {
        var options = StreamOptions()
        (options.bufferTarget, options.longestBuffer) = (.seconds(12), .seconds(12))
        var stream = SimulatedStream(.init(segments: 60), options: options)
        stream.run(until: 40)
        let media = stream.fetched.filter { if case .segment = $0.request.purpose { true } else { false } }
        // 12 s at most, beside what was played.
        #expect(media.count <= (40 + 12) / 2 + 1)
        #expect(stream.machine.status.buffer <= 12.1)
    }

    @Test("has more ahead where the path carries a low variant only: as many bytes, up to 90 s")
    func lowVariant() {
        var stream = SimulatedStream(.init(segments: 400, rate: { _ in 1e6 }))
        stream.run(until: 300)
        #expect(stream.delivered.suffix(5).allSatisfy { $0.variant <= 1 })
        #expect(stream.machine.status.buffer > 60 && stream.machine.status.buffer <= 90.1)
        // What is asked for counts.
        var options = StreamOptions()
        (options.bufferTarget, options.longestBuffer) = (.seconds(20), .seconds(20))
        stream = SimulatedStream(.init(segments: 400, rate: { _ in 1e6 }), options: options)
        stream.run(until: 300)
        #expect(stream.machine.status.buffer <= 20.1)
    }

    @Test("outlives 20 s of silence with what it has in its buffer")
    func elevator() {
        var world = SimulatedStream.World()
        world.rate = { (3..<23).contains($0) ? 0 : 50e6 }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.report.stalls == 0, "\(stream.report)")
    }

    @Test("stalls where silence lasts longer, tells how long, and goes on")
    func longSilence() {
        var world = SimulatedStream.World()
        world.rate = { (3..<60).contains($0) ? 0 : 20e6 }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.report.stalls == 1)
        #expect(
            stream.report.stalled > .seconds(20) && stream.report.stalled < .seconds(40), "\(stream.report)")
        #expect(stream.events.contains(.stalled))
    }

    @Test("gives up where nothing comes for as long as its patience, and says so")
    func patience() {
        var (world, options) = (SimulatedStream.World(), StreamOptions())
        world.rate = { $0 < 3 ? 20e6 : 0 }
        options.patience = .seconds(40)
        let stream = run(world, options: options)
        guard case .failed(let failure) = stream.outcome else {
            Issue.record("\(String(describing: stream.outcome))")
            return
        }
        #expect(failure.code == .network)
        #expect(failure.reason == "nothing came for 40 s; at last: the server sends nothing")
        #expect(stream.now < 80)
    }

    @Test("goes on by a range of bytes where the connection breaks, and fetches no byte twice")
    func breaks() {
        var world = SimulatedStream.World()
        world.rate = { _ in 5e6 }
        world.breaks = { $0.oneIn(20) }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.report.continued > 3)
        let media = stream.delivered.reduce(0) { $0 + Int64(stream.world.rates[$1.variant] * 2 / 8) }
        let total = stream.report.bytes.values.reduce(0, +)
        // Beside the segments there are playlists, and what was given up for a lower variant.
        #expect(total < media + 900_000)
    }

    @Test("takes the lowest variant on a constrained path, and no more than two segments ahead")
    func constrained() {
        var world = SimulatedStream.World()
        world.segments = 60
        world.path = { StreamPath("wlan0", isConstrained: $0 > 10) }
        var stream = SimulatedStream(world)
        stream.run(until: 70)
        let late = stream.fetched.filter {
            $0.time > 12 && $0.request.resource.url.lastPathComponent.contains("-")
        }
        #expect(!late.isEmpty)
        #expect(late.allSatisfy { $0.request.resource.url.lastPathComponent.hasPrefix("0-") })
        #expect(stream.machine.status.buffer <= 4.1)
        #expect(stream.report.stalls == 0)
    }

    @Test("takes no more than the user allows while the path costs money")
    func expensive() {
        var (world, options) = (SimulatedStream.World(), StreamOptions())
        world.segments = 60
        world.path = { $0 < 20 ? wifi : cellular }
        options.expensiveRate = 900_000
        var stream = SimulatedStream(world, options: options)
        stream.run(until: 100)
        let late = stream.fetched.filter {
            $0.time > 21 && $0.request.resource.url.lastPathComponent.contains("-")
        }
        #expect(late.allSatisfy { ["0", "1"].contains($0.request.resource.url.lastPathComponent.prefix(1)) })
        #expect(stream.report.bytes[cellular] ?? 0 > 0)
    }

    @Test("follows a live stream at three target durations from its end")
    func live() {
        var world = SimulatedStream.World()
        (world.segments, world.window) = (60, 12)
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.first?.number == 3)
        #expect(stream.delivered.map(\.number) == Array(3..<60))
        #expect(stream.report.stalls == 0, "\(stream.report)")
    }

    @Test(
        "jumps to what there is where a live stream's window has moved on, and says that something is missing"
    )
    func lateLive() {
        var world = SimulatedStream.World()
        (world.segments, world.window) = (60, 12)
        world.rate = { (10..<60).contains($0) ? 0 : 20e6 }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.report.skipped > 5)
        #expect(stream.delivered.contains { $0.isDiscontinuous })
        #expect(stream.events.contains { if case .skipped = $0 { true } else { false } })
    }

    @Test("asks for a missing segment in another variant")
    func missingInOne() {
        var world = SimulatedStream.World()
        world.refusal = { variant, number, _ in
            variant == 3 && number == 10 ? FetchFailure(kind: .missing, reason: "404") : nil
        }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.map(\.number) == Array(0..<30))
        #expect(stream.delivered.first { $0.number == 10 }?.variant != 3)
    }

    @Test("leaves out a segment that no variant has, and says that what follows is discontinuous")
    func missingInAll() {
        var world = SimulatedStream.World()
        world.refusal = { _, number, _ in number == 10 ? FetchFailure(kind: .missing, reason: "404") : nil }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.map(\.number) == Array(0..<10) + Array(11..<30))
        #expect(stream.delivered.first { $0.number == 11 }?.isDiscontinuous == true)
        #expect(stream.report.skipped == 1)
    }

    @Test("keeps two playlists, and of others no more than its limit, and plays to the end all the same")
    func manyPlaylists() {
        var world = SimulatedStream.World()
        // Each variant's playlist is asked for.
        world.refusal = { _, number, _ in number == 10 ? FetchFailure(kind: .missing, reason: "404") : nil }
        var tuning = StreamMachine.Tuning()
        tuning.mostSegments = 3 * world.segments
        var stream = SimulatedStream(world, tuning: tuning)
        stream.run()
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.map(\.number) == Array(0..<10) + Array(11..<30))
        #expect(stream.machine.variants.count { $0.playlist != nil } == 3)
    }

    @Test("fails where ten segments in a row are missing")
    func allMissing() {
        var world = SimulatedStream.World()
        world.refusal = { _, number, _ in
            number >= 5 ? FetchFailure(kind: .unusable, reason: "a page of HTML") : nil
        }
        let stream = run(world)
        #expect(
            stream.outcome
                == .failed(
                    StreamFailure(.server, "10 segments in a row can't be had; the last: a page of HTML")))
    }

    @Test("tries again where the server is busy")
    func busy() {
        var world = SimulatedStream.World()
        world.refusal = { _, _, random in
            random.oneIn(3) ? FetchFailure(kind: .busy, reason: "the server answered 503") : nil
        }
        let stream = run(world)
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.count >= 28)
    }

    @Test("records everything as fast as it goes, in the highest variant")
    func recording() {
        var options = StreamOptions()
        options.isRecording = true
        let stream = run(.init(), options: options)
        #expect(stream.outcome == .ended)
        #expect(stream.delivered.allSatisfy { $0.variant == 3 })
        #expect(stream.now < 20)
    }

    @Test(
        "fetches no more than 256 MiB ahead of its output, however short a playlist says that its segments are"
    )
    func backlog() {
        var (world, options) = (SimulatedStream.World(), StreamOptions())
        // Segments of 50 MB that take a tenth of a second, for an output that takes nothing.
        (world.rates, world.duration, world.segments, world.takes) = ([4e9], 0.1, 100, false)
        world.rate = { _ in 4e9 }
        options.isRecording = true
        var stream = SimulatedStream(world, options: options)
        stream.run(until: 60)
        #expect(stream.outcome == nil)
        #expect(stream.delivered.count == 6)
    }

    @Test("says that a variant's playlist which names variants is none")
    func cyclic() {
        var machine = StreamMachine(url: SimulatedStream.place("master.m3u8"))
        let place = SimulatedStream.place("master.m3u8")
        let playlist = Playlist.multivariant(
            MultivariantPlaylist(variants: [.init(url: place, bandwidth: 1_000_000)]))
        guard case .fetch(let first)? = machine.handle(.start, at: 0).first else {
            Issue.record("nothing is fetched")
            return
        }
        let next = machine.handle(.playlist(first.id, playlist, from: place), at: 0.1)
        guard case .fetch(let second)? = next.last else {
            Issue.record("the variant's playlist is not fetched: \(next)")
            return
        }
        let end = machine.handle(.playlist(second.id, playlist, from: place), at: 0.2)
        #expect(
            end.contains(
                .finish(.failed(StreamFailure(.server, "the variant's playlist names variants itself")))))
    }

    @Test("begins anew at the live end where the server numbers its segments anew")
    func restarted() {
        var known = VariantPlaylist(url: SimulatedStream.place("0.m3u8"), variant: StreamVariant(rate: 1))
        func playlist(_ first: Int64) -> MediaPlaylist {
            MediaPlaylist(
                targetDuration: 2, mediaSequence: first,
                segments: (first..<first + 6).map {
                    .init(number: $0, resource: .init(url: SimulatedStream.place("\($0).ts")), duration: 2)
                })
        }
        #expect(known.ingest(playlist(100), at: 0) == .grown)
        #expect(known.ingest(playlist(100), at: 2) == .unchanged)
        #expect(known.reloadAt == 3)
        #expect(known.ingest(playlist(99), at: 3) == .older)
        #expect(known.ingest(playlist(101), at: 4) == .grown)
        #expect(known.reloadAt == 6)
        #expect(known.ingest(playlist(0), at: 6) == .older)
        #expect(known.ingest(playlist(0), at: 7) == .restarted)
    }
}
