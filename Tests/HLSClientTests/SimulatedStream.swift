import Foundation
import TestSupport

@testable import HLSClient

/// A server and a network in simulated time, and a session that fetches from them. What can be seen from outside is checked at
/// each step.
struct SimulatedStream {
    /// What the world is like.
    struct World {
        var rates = [400_000.0, 800_000, 1_600_000, 3_200_000]
        var segments = 30
        var duration = 2.0
        /// Bits per second at a time; 0 is silence.
        var rate: (Double) -> Double = { _ in 20e6 }
        var path: (Double) -> StreamPath? = { _ in StreamPath("wlan0") }
        var roundTrip = 0.04
        /// Seconds of the live window; nil for a stream on demand.
        var window: Double?
        /// Whether the connection breaks, asked each 20 ms in which bytes come.
        var breaks: (inout SplitMix64) -> Bool = { _ in false }
        /// What the server says to a request for a segment; nil for the segment.
        var refusal: (_ variant: Int, _ number: Int64, inout SplitMix64) -> FetchFailure? = { _, _, _ in nil }
        /// What the server says to a request for anything else; nil for what was asked for.
        var otherRefusal: (FetchRequest.Purpose, inout SplitMix64) -> FetchFailure? = { _, _ in nil }
        /// Whether the server sends everything where the rest was asked for.
        var ignoresRanges: (inout SplitMix64) -> Bool = { _ in false }
        /// Whether segments are encrypted, and how many of them have the same key.
        var segmentsPerKey: Int64?
        /// Whether each variant has an initialization section.
        var hasMaps = false
        /// Whether the output takes what it gets.
        var takes = true
        /// Whether the playlist says that a segment is missing.
        var isGap: (_ variant: Int, _ number: Int64) -> Bool = { _, _ in false }
    }

    private struct Transfer {
        var request: FetchRequest
        var begun: Double
        var hasHead = false
        var received: Int64
        var total: Int64
    }

    let world: World
    var machine: StreamMachine
    private var random: SplitMix64
    private(set) var now = 0.0
    private var transfers: [FetchID: Transfer] = [:]
    private(set) var told: [(time: Double, event: StreamEvent)] = []
    var events: [StreamEvent] { told.map(\.event) }
    private(set) var delivered: [(variant: Int, number: Int64, isDiscontinuous: Bool)] = []
    private var segments: [FetchID: (variant: Int, number: Int64)] = [:]
    private(set) var fetched: [(time: Double, request: FetchRequest)] = []
    private(set) var outcome: StreamReport.Outcome?
    private(set) var faults: [String] = []
    private var path: StreamPath?
    private var maps: [FetchID: Int] = [:]
    private var deliveredMap: Int?
    private var keys: Set<URL> = []
    private var pending: [(seconds: Double, bytes: Int64)] = []

    init(
        _ world: World, options: StreamOptions = StreamOptions(), tuning: StreamMachine.Tuning = .init(),
        seed: UInt64 = 1
    ) {
        self.world = world
        random = SplitMix64(seed: seed)
        machine = StreamMachine(url: Self.place("master.m3u8"), options: options, tuning: tuning)
    }

    static func place(_ name: String) -> URL { URL(string: "http://media.example/\(name)")! }

    var report: StreamReport { machine.report(outcome ?? .cancelled) }

    /// Runs until the session ends, or the time has come.
    mutating func run(until end: Double = 600) {
        perform(.start)
        while outcome == nil, now < end {
            now += 0.02
            let path = world.path(now)
            if path != self.path {
                self.path = path
                perform(.paths(path.map { [$0] } ?? []))
            }
            for id in transfers.keys.sorted(by: { $0.number < $1.number }) { advance(id) }
            while world.takes, let first = pending.first {
                pending.removeFirst()
                perform(.taken(seconds: first.seconds, bytes: first.bytes))
            }
            if let deadline = machine.nextDeadline, deadline <= now { perform(.tick) }
        }
    }

    private mutating func advance(_ id: FetchID) {
        guard var transfer = transfers[id], world.path(now) != nil else { return }
        let rate = world.rate(now)
        guard rate > 0, now - transfer.begun >= world.roundTrip else { return }
        if !transfer.hasHead {
            transfer.hasHead = true
            if case .segment(let number) = transfer.request.purpose,
                let failure = world.refusal(variant(of: transfer.request), number, &random)
            {
                transfers[id] = nil
                return perform(.failed(id, failure))
            }
            if !isSegment(transfer.request),
                let failure = world.otherRefusal(transfer.request.purpose, &random)
            {
                transfers[id] = nil
                return perform(.failed(id, failure))
            }
            if transfer.received > 0, world.ignoresRanges(&random) { transfer.received = 0 }
            transfers[id] = transfer
            perform(.head(id, offset: transfer.received, total: transfer.total, validator: nil))
            guard transfers[id] != nil else { return }
        }
        let share = Double(max(transfers.count, 1))
        let bytes = min(Int64(rate * 0.02 / 8 / share) + 1, transfer.total - transfer.received)
        transfer.received += bytes
        transfers[id] = transfer
        perform(.progressed(id, bytes: Int(bytes)))
        guard transfers[id] != nil else { return }
        if transfer.received == transfer.total {
            transfers[id] = nil
            finish(transfer)
        } else if world.breaks(&random) {
            transfers[id] = nil
            perform(.failed(id, FetchFailure(kind: .broken, reason: "the connection broke")))
        }
    }

    private func isSegment(_ request: FetchRequest) -> Bool {
        if case .segment = request.purpose { true } else { false }
    }

    private func variant(of request: FetchRequest) -> Int {
        Int(request.resource.url.lastPathComponent.prefix { $0 != "-" && $0 != "." }) ?? 0
    }

    private mutating func finish(_ transfer: Transfer) {
        guard case .playlist(let variant) = transfer.request.purpose else {
            if case .key = transfer.request.purpose { keys.insert(transfer.request.resource.url) }
            return perform(.finished(transfer.request.id))
        }
        let playlist: Playlist
        if let variant {
            playlist = .media(media(variant))
        } else {
            playlist = .multivariant(
                MultivariantPlaylist(
                    variants: world.rates.indices.map {
                        .init(url: Self.place("\($0).m3u8"), bandwidth: world.rates[$0])
                    }))
        }
        perform(.playlist(transfer.request.id, playlist, from: transfer.request.resource.url))
    }

    private func media(_ variant: Int) -> MediaPlaylist {
        var first = 0
        var end = world.segments
        if let window = world.window {
            end = min(Int((now + window) / world.duration), world.segments)
            first = max(end - Int(window / world.duration), 0)
        }
        return MediaPlaylist(
            targetDuration: world.duration, mediaSequence: Int64(first),
            segments: (first..<max(end, first)).map { segment(Int64($0), of: variant) },
            isEnded: end == world.segments)
    }

    private func segment(_ number: Int64, of variant: Int) -> MediaPlaylist.Segment {
        var resource = MediaPlaylist.Resource(url: Self.place("\(variant)-\(number).ts"))
        if let count = world.segmentsPerKey {
            resource.encryption = .init(
                keyURL: Self.place("\(number / count).key"),
                initializationVector: [UInt8](repeating: 0, count: 16))
        }
        return MediaPlaylist.Segment(
            number: number, resource: resource, duration: world.duration, isGap: world.isGap(variant, number),
            initialization: world.hasMaps ? .init(url: Self.place("init-\(variant).mp4")) : nil)
    }

    private mutating func perform(_ input: StreamMachine.Input) {
        for action in machine.handle(input, at: now) { perform(action) }
    }

    private mutating func perform(_ action: StreamMachine.Action) {
        if outcome != nil { faults.append("after the end: \(action)") }
        switch action {
        case .fetch(let request): begin(request)
        case .cancel(let id):
            if transfers.removeValue(forKey: id) == nil {
                faults.append("\(id) is not under way, and cancelled")
            }
        case .discard, .report(.segment): break
        case .report(let event): told.append((now, event))
        case .deliver(let delivery):
            guard let segment = segments.removeValue(forKey: delivery.segment) else {
                return faults.append("\(delivery.segment) is delivered, and was no whole segment")
            }
            if delivery.index != delivered.count { faults.append("piece \(delivery.index) is not the next") }
            if world.hasMaps { checkMap(delivery, segment.variant) }
            if let last = delivered.last, segment.number <= last.number {
                faults.append("segment \(segment.number) comes behind \(last.number)")
            }
            delivered.append((segment.variant, segment.number, delivery.isDiscontinuous))
            pending.append((delivery.duration, delivery.bytes))
        case .finish(let end): outcome = end
        }
    }

    /// Media stand behind their own variant's initialization section.
    private mutating func checkMap(_ delivery: StreamMachine.Delivery, _ variant: Int) {
        if let initialization = delivery.initialization {
            guard let map = maps[initialization] else {
                return faults.append("\(initialization) is delivered, and was no initialization section")
            }
            deliveredMap = map
        }
        if deliveredMap != variant {
            faults.append("a segment of \(variant) stands behind \(deliveredMap ?? -1)")
        }
    }

    private mutating func begin(_ request: FetchRequest) {
        fetched.append((now, request))
        if case .initialization = request.purpose {
            maps[request.id] = Int(request.resource.url.lastPathComponent.dropFirst(5).prefix { $0 != "." })
        }
        if let encryption = request.resource.encryption, !keys.contains(encryption.keyURL) {
            faults.append("\(request.id) comes before its key")
        }
        let total: Int64
        switch request.purpose {
        case .segment(let number):
            let variant = variant(of: request)
            total = Int64(world.rates[variant] * world.duration / 8)
            segments[request.id] = (variant, number)
            if transfers.values.contains(where: { isSegment($0.request) }) {
                faults.append("two segments are fetched at a time")
            }
            if request.offset > total { faults.append("\(request.offset) bytes are there of \(total)") }
        case .playlist: total = 2_000
        case .key, .initialization: total = 16
        }
        transfers[request.id] = Transfer(
            request: request, begun: now, received: request.offset, total: max(total, request.offset + 1))
    }
}
