import FoundationEssentials
import Multipath

// A stream's session: which playlists and segments are fetched when, in which variant, and what the output gets.
//
// Rules:
//  1. One segment at a time, in order; playlists beside it. A segment goes to the output when it is whole.
//  2. What broke goes on where it was, by a range of bytes. What fell silent is asked for again over a new connection, which
//     takes a path that works.
//  3. What a server has not got in one variant is asked for in another; what it has in none is skipped. After so many skipped
//     in a row the stream has failed.
//  4. Nothing is fetched that a player does not need soon: the buffer has a target, and on a path where data is to be saved it is
//     two segments.
//
// Order of calls: `handle` with what happened, each time with the time; then perform its actions; and `handle(.tick)` at
// `nextDeadline`. Times are seconds of any clock that goes forward.

/// Decides what a session does. It sends and writes nothing.
struct StreamMachine {
    /// What happened.
    enum Input {
        case start
        case playlist(FetchID, Playlist, from: URL)
        /// The answer's head is there: so much of the resource is there before the body.
        case head(FetchID, offset: Int64, total: Int64?, validator: String?)
        case progressed(FetchID, bytes: Int)
        case finished(FetchID)
        case failed(FetchID, FetchFailure)
        /// The paths that there are now, the best first.
        case paths([StreamPath])
        /// The path that carries an answer.
        case carried(FetchID, by: StreamPath)
        /// The output has taken so many seconds of media, and so many bytes.
        case taken(seconds: Double, bytes: Int64)
        case tick
    }

    /// What is to be done.
    enum Action: Sendable, Equatable {
        case fetch(FetchRequest)
        /// The request is not wanted any more. What arrived stays, for the one that goes on with it.
        case cancel(FetchID)
        case deliver(Delivery)
        /// What arrived is not wanted any more.
        case discard(FetchID)
        case report(StreamEvent)
        case finish(StreamReport.Outcome)
    }

    /// A segment for the output.
    struct Delivery: Sendable, Equatable {
        var segment: FetchID
        /// What has to go before it; nil where it went already.
        var initialization: FetchID?
        /// From 0, of what the output gets.
        var index: Int
        var duration: Double
        /// As they were fetched.
        var bytes: Int64
        var isDiscontinuous: Bool
        var variant: Int
    }

    /// Each number, with its reason.
    struct Tuning: Sendable {
        var adaptation = Adaptation.Tuning()
        /// An answer that brings nothing for so long is asked for again. MPTCP moves within one second.
        var silence = 3.0
        /// … and after several silences in a row after so many times that.
        var longestSilences = 3
        /// The pause before a second try; it doubles with each.
        var retry = 0.25
        var longestRetry = 4.0
        /// Tries that a server may refuse for the moment before its answer counts as one for good.
        var busyTries = 3
        /// How often a segment is begun anew in one variant by a server that does not go on where it was.
        var restarts = 5
        /// Segments in a row that may be missing.
        var missing = 10
        /// A silence counts no longer than that in the measurement of throughput: it is the path's end, not its rate.
        var longestGap = 1.0
        /// How far back the rate of a segment that is under way is measured, and from when on it says something.
        var window = 2.0
        var shortestWindow = 0.5
        /// Media that the output has not taken yet, while recording.
        var backlog = 30.0
        /// The same in bytes, always: a playlist may say that its segments take no time.
        var backlogBytes: Int64 = 256 << 20
        /// What a segment counts at least, in seconds.
        var shortestSegment = 0.1
        /// A live playlist that brings nothing new for so many target durations has ended without a word.
        var unchangedDurations = 12.0
        /// A variant whose playlist can't be had is left alone for so long.
        var avoidance = 20.0
        /// Playlists hold no more than that, keys and initialization sections neither.
        var playlistLimit: Int64 = 16 << 20
        var initializationLimit: Int64 = 8 << 20
        /// All variants' playlists together name no more segments, but for two of them.
        var mostSegments = 2 * PlaylistParser.Limits().segments
        /// Segments ahead of the player on a constrained path.
        var constrainedSegments = 2.0
    }

    let url: URL
    let options: StreamOptions
    let tuning: Tuning

    var now = 0.0
    var actions: [Action] = []
    var lastID = 0
    var outcome: StreamReport.Outcome?

    var playhead = Playhead()
    var variants: [VariantPlaylist] = []
    var adaptation = Adaptation(rates: [1])
    var estimators: [PathID: ThroughputEstimator] = [:]
    var path: StreamPath?
    var paths: [StreamPath] = []

    /// Playlists that are on their way, with the time at which they last brought something.
    var playlists: [FetchID: PlaylistFetch] = [:]
    var firstTries = 0
    var firstRetryAt: Double?

    var place: StreamPlace?
    var variant: Int?
    var job: SegmentJob?
    /// Variants that have not got the next segment, and what was said then.
    var excluded: Set<Int> = []
    var lastTrouble = ""
    /// The highest variant for the next segment, which was given up in a higher one; nil where none was.
    var cap: Int?
    var missingInARow = 0
    var isDiscontinuous = false
    var heldKeys: Set<URL> = []
    var heldInitialization: (resource: MediaPlaylist.Resource, id: FetchID, isDelivered: Bool)?
    /// When there is room in the buffer again; nil where that is not what is waited for.
    var roomAt: Double?
    /// When something last came, or nothing was wanted.
    var activeAt = 0.0

    /// Bytes that were delivered and that the output has not taken.
    var pendingBytes: Int64 = 0

    var counts = Counts()

    /// A playlist that is on its way.
    struct PlaylistFetch {
        /// Nil for the URL that the session was given.
        var variant: Int?
        var active: Double
        /// How long it may bring nothing.
        var patience: Double
        /// The path that carries it; nil before its answer.
        var path: StreamPath?
    }

    /// What the report has beside the playhead's.
    struct Counts {
        var bytes: [StreamPath: Int64] = [:]
        var unknownBytes: Int64 = 0
        var mediaBytes: Int64 = 0
        var segments = 0
        var skipped = 0
        var continued = 0
        var switches = 0
    }

    init(url: URL, options: StreamOptions = StreamOptions(), tuning: Tuning = Tuning()) {
        self.url = url
        self.options = options
        self.tuning = tuning
    }

    // MARK: Commands

    mutating func handle(_ input: Input, at now: Double) -> [Action] {
        guard outcome == nil else { return [] }
        self.now = max(self.now, now)
        if playhead.advance(to: self.now) { report(.stalled) }
        switch input {
        case .start:
            activeAt = self.now
            fetchPlaylist(nil)
        case .playlist(let id, let playlist, let url): ingest(playlist, id, from: url)
        case .head(let id, let offset, let total, let validator):
            ingestHead(id, offset: offset, total: total, validator: validator)
        case .progressed(let id, let bytes): ingestProgress(id, bytes)
        case .finished(let id): ingestFinished(id)
        case .failed(let id, let failure): ingestFailure(id, failure)
        case .paths(let paths): ingest(paths)
        case .carried(let id, let path): ingestCarrier(id, path)
        case .taken(let seconds, let bytes):
            playhead.took(seconds)
            pendingBytes -= bytes
        case .tick: break
        }
        pump()
        defer { actions = [] }
        return actions
    }

    /// When `handle(.tick)` is due; nil where only something that happens matters.
    var nextDeadline: Double? {
        guard outcome == nil else { return nil }
        var dates = [
            firstRetryAt, playhead.emptyAt, roomAt,
            job.map { $0.isUnderWay ? $0.activeAt + $0.patience(tuning) : $0.retryAt },
        ]
        dates += playlists.values.map { $0.active + $0.patience }
        if let variant { dates.append(variants[variant].fetch == nil ? variants[variant].reloadAt : nil) }
        if place == nil { dates += variants.map { $0.avoidedUntil > now ? $0.avoidedUntil : nil } }
        if roomAt == nil { dates.append(activeAt + options.patience.inSeconds) }
        return dates.compactMap { $0 }.min().map { max($0, now + 0.005) }
    }

    // MARK: State

    /// For a status line.
    var status: StreamStatus {
        var status = StreamStatus()
        status.state =
            outcome != nil
            ? .ended : playhead.begun == nil ? .starting : playhead.stalledSince != nil ? .stalled : .playing
        (status.buffer, status.played) = (playhead.buffer, playhead.played)
        status.variant = variant.map { variants[$0].variant }
        status.path = path
        status.throughput = throughput
        status.stalls = playhead.stalls.count + (playhead.stalledSince == nil ? 0 : 1)
        status.stalled = playhead.stalled(at: now)
        status.bytes = counts.bytes.values.reduce(counts.unknownBytes, +)
        status.isLive = variant.map { variants[$0].isLive } ?? false
        return status
    }

    /// What has become of it until now.
    func report(_ outcome: StreamReport.Outcome) -> StreamReport {
        StreamReport(
            outcome: outcome, startup: playhead.begun.map { .seconds($0) },
            stalls: playhead.stalls.count + (playhead.stalledSince == nil ? 0 : 1),
            stalled: .seconds(playhead.stalled(at: now)), played: .seconds(playhead.played),
            fetched: .seconds(playhead.fetched), switches: counts.switches,
            meanRate: playhead.fetched > 0 ? Double(counts.mediaBytes) * 8 / playhead.fetched : 0,
            bytes: counts.bytes, segments: counts.segments, skipped: counts.skipped,
            continued: counts.continued, duration: .seconds(now))
    }

    /// Of the path that carries the stream now.
    var throughput: Double? { path.flatMap { estimators[$0.id]?.rate } }

    mutating func newID() -> FetchID {
        lastID += 1
        return FetchID(number: lastID)
    }

    mutating func report(_ event: StreamEvent) { actions.append(.report(event)) }

    mutating func finish(_ outcome: StreamReport.Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        for id in playlists.keys { actions.append(.cancel(id)) }
        if let job, job.isUnderWay { actions.append(.cancel(job.request.id)) }
        actions.append(.finish(outcome))
    }

    mutating func fail(_ code: StreamFailure.Code, _ reason: String) {
        finish(.failed(StreamFailure(code, reason)))
    }

    // MARK: Paths

    private mutating func ingest(_ paths: [StreamPath]) {
        let before = self.paths.first?.id
        self.paths = paths
        let same = paths.first { $0.id == path?.id }
        if let same, before == paths.first?.id || before == nil {
            move(to: same)
        } else if let first = paths.first {
            move(to: first)
        } else {
            setPath(nil)
        }
        // What waited for a path has one.
        if !paths.isEmpty, job?.isUnderWay == false { job?.retryAt = now }
        guard !paths.isEmpty else { return }
        if firstRetryAt != nil { firstRetryAt = now }
        for index in variants.indices where variants[index].playlist == nil {
            variants[index].avoidedUntil = now
        }
    }

    /// A segment's path is the stream's; a playlist's connection may well go another way.
    private mutating func ingestCarrier(_ id: FetchID, _ path: StreamPath) {
        if playlists[id] != nil {
            playlists[id]?.path = paths.first { $0.id == path.id } ?? path
        } else if job?.request.id == id {
            move(to: path)
        }
    }

    private mutating func move(to path: StreamPath) {
        // The tags are the system's word, which the connection may not have heard yet.
        setPath(paths.first { $0.id == path.id } ?? path)
    }

    private mutating func setPath(_ path: StreamPath?) {
        guard path != self.path else { return }
        if path?.id != self.path?.id { closeSample() }
        self.path = path
        report(.pathChanged(path))
    }

    // MARK: What comes next

    private mutating func pump() {
        guard outcome == nil else { return }
        if let firstRetryAt, now >= firstRetryAt {
            self.firstRetryAt = nil
            fetchPlaylist(nil)
        }
        watchPlaylists()
        guard outcome == nil, !variants.isEmpty else { return checkPatience() }
        reloadPlaylist()
        watchJob()
        var steps = 0
        while outcome == nil, job == nil, steps < 1_000 {
            steps += 1
            guard chooseNext() else { break }
        }
        checkPatience()
    }

    private mutating func checkPatience() {
        guard outcome == nil else { return }
        if roomAt != nil { activeAt = now }
        guard now - activeAt >= options.patience.inSeconds else { return }
        let reason = lastTrouble.isEmpty ? "" : "; at last: \(lastTrouble)"
        fail(paths.isEmpty ? .noPath : .network, "nothing came for \(options.patience.inWords)\(reason)")
    }
}

extension Duration {
    /// In seconds.
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// `2 min`, `45 s`
    var inWords: String {
        let seconds = components.seconds
        return seconds >= 120 && seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
