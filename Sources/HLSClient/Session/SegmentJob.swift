import FoundationEssentials

/// The segment that is being fetched, with what has to be there before it. Times are in seconds.
struct SegmentJob: Sendable {
    let variant: Int
    let segment: MediaPlaylist.Segment
    /// What is asked for just now: the key, the initialization section, the segment.
    var request: FetchRequest
    var isUnderWay = true
    /// When it is asked for again that is not under way.
    var retryAt = 0.0
    /// Failures in a row that brought nothing.
    var failures = 0
    /// How often what had arrived was of no use: the server knows no ranges, or has something else.
    var restarts = 0
    var total: Int64?
    var activeAt: Double

    /// What is measured of the path: bytes, and the time in which they came.
    var sampledBytes: Int64 = 0
    var sampledSeconds = 0.0
    /// Bytes that were there at some times of late.
    var window: [(time: Double, bytes: Int64)] = []

    init(variant: Int, segment: MediaPlaylist.Segment, request: FetchRequest, at now: Double) {
        self.variant = variant
        self.segment = segment
        self.request = request
        activeAt = now
    }

    var received: Int64 { request.offset }
    var isSegment: Bool { if case .segment = request.purpose { true } else { false } }

    /// How long it may bring nothing: longer with each time that asking again brought nothing, since a connection over a slow
    /// path takes its time.
    func patience(_ tuning: StreamMachine.Tuning) -> Double {
        tuning.silence * Double(min(failures + 1, tuning.longestSilences))
    }

    mutating func ingest(bytes: Int, at now: Double, _ tuning: StreamMachine.Tuning) {
        sampledBytes += Int64(bytes)
        sampledSeconds += min(now - activeAt, tuning.longestGap)
        request.offset += Int64(bytes)
        (activeAt, failures) = (now, 0)
        if window.last.map({ now - $0.time >= 0.1 }) ?? true { window.append((now, received)) }
        while window.count > 2, now - window[1].time > tuning.window { window.removeFirst() }
    }

    /// Bits per second of late; nil where too little is known.
    func recentRate(at now: Double, _ tuning: StreamMachine.Tuning) -> Double? {
        guard let first = window.first, now - first.time >= tuning.shortestWindow, received > first.bytes
        else {
            return nil
        }
        return Double(received - first.bytes) * 8 / (now - first.time)
    }

    /// Measures anew: another path carries.
    mutating func beginSample() { (sampledBytes, sampledSeconds, window) = (0, 0, []) }

    /// What arrived does not count any more.
    mutating func startOver() {
        if received > 0 { restarts += 1 }
        (request.offset, request.validator, request.total, total) = (0, nil, nil, nil)
    }

    /// The next of what is missing. The measurement goes on: all of it delays the segment.
    mutating func proceed(to request: FetchRequest, at now: Double) {
        self.request = request
        (total, window, activeAt) = (nil, [], now)
    }

    /// The same once more, from where it is.
    mutating func askAgain(_ id: FetchID, at now: Double) {
        request.continues = request.id
        request.id = id
        (isUnderWay, activeAt, window) = (true, now, [])
    }
}
