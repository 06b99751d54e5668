import FoundationEssentials

/// A variant with what is known of its playlist. Times are in seconds.
struct VariantPlaylist: Sendable {
    let url: URL
    let variant: StreamVariant
    private(set) var playlist: MediaPlaylist?
    /// Where each segment begins, from the playlist's start; one more than there are segments.
    private(set) var starts: [Double] = [0]
    private(set) var loadedAt = 0.0
    /// When the playlist last brought something new.
    private(set) var changedAt = 0.0
    /// When to ask for it again (RFC 8216 section 6.3.4); nil for one that has ended.
    var reloadAt: Double?
    var fetch: FetchID?
    var failures = 0
    /// Answers in a row that end before the window that is known.
    private var farAnswers = 0
    /// Not to be chosen before then: its playlist can't be had.
    var avoidedUntil = 0.0

    init(url: URL, variant: StreamVariant) {
        self.url = url
        self.variant = variant
    }

    var isLive: Bool { playlist.map { !$0.isEnded } ?? false }

    /// What a new playlist means.
    enum Change: Sendable, Equatable {
        case grown
        case unchanged
        /// It is older than the one before: a cache's. It counts as unchanged.
        case older
        /// The server numbers its segments anew.
        case restarted
    }

    mutating func ingest(_ new: MediaPlaylist, at now: Double) -> Change {
        (failures, avoidedUntil, fetch) = (0, 0, nil)
        let change = change(to: new, at: now)
        loadedAt = now
        if change == .grown || change == .restarted {
            playlist = new
            starts = new.segments.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.duration) }
            changedAt = now
        }
        let isLive = playlist.map { !$0.isEnded } ?? false
        let target = new.targetDuration
        reloadAt = isLive ? now + (change == .grown ? target : target / 2) : nil
        return change
    }

    /// Makes room for others' playlists: it has to be asked for again.
    ///
    /// - Returns: how many segments it named.
    mutating func forget() -> Int {
        let count = playlist?.segments.count ?? 0
        (playlist, starts, reloadAt) = (nil, [0], nil)
        return count
    }

    private mutating func change(to new: MediaPlaylist, at now: Double) -> Change {
        guard let playlist else { return .grown }
        if new.endSequence >= playlist.endSequence { farAnswers = 0 }
        if new.endSequence > playlist.endSequence { return .grown }
        if new.endSequence == playlist.endSequence {
            return new.isEnded != playlist.isEnded ? .grown : .unchanged
        }
        // An older one comes from a cache now and then; one that stays is a server that began anew.
        let isFar = new.endSequence < playlist.mediaSequence
        if isFar { farAnswers += 1 } else { farAnswers = 0 }
        return farAnswers > 1 || now - changedAt > 3 * playlist.targetDuration ? .restarted : .older
    }

    /// The segment to begin with, where nothing was played yet.
    var firstNumber: Int64? {
        guard let playlist, !playlist.segments.isEmpty, let end = starts.last else { return nil }
        if playlist.isEnded || playlist.startOffset != nil {
            let offset = playlist.startOffset ?? 0
            return number(nearest: offset >= 0 ? offset : max(end + offset, 0), roundsDown: true)
        }
        // RFC 8216 section 6.3.3, or what the server says.
        let back = max(playlist.holdBack ?? 3 * playlist.targetDuration, 0)
        return number(nearest: max(end - back, 0), roundsDown: true)
    }

    /// The segment that begins nearest to a time, or the one in which it lies.
    private func number(nearest time: Double, roundsDown: Bool) -> Int64? {
        guard let playlist, !playlist.segments.isEmpty else { return nil }
        var (low, high) = (0, playlist.segments.count)
        // The first that begins behind the time.
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] > time + 0.001 { high = middle } else { low = middle + 1 }
        }
        var index = max(low - 1, 0)
        if !roundsDown, index + 1 < starts.count, starts[index + 1] - time < time - starts[index] {
            index += 1
        }
        return playlist.mediaSequence + Int64(index)
    }

    /// The number here of what comes next at a place in the stream.
    func number(at place: StreamPlace, cameFrom other: VariantPlaylist) -> Int64 {
        guard let playlist, let otherPlaylist = other.playlist, other.url != url else { return place.number }
        if playlist.isEnded, otherPlaylist.isEnded {
            // Behind the last segment, too.
            if place.time >= (starts.last ?? 0) - 0.001 { return playlist.endSequence }
            return number(nearest: place.time, roundsDown: false) ?? place.number
        }
        // Each segment's own date counts: dates may jump from one to the next.
        guard let date = place.date, let last = playlist.segments.last, let lastDate = last.date else {
            return place.number
        }
        if date >= lastDate + last.duration / 2 { return playlist.endSequence }
        let nearest = playlist.segments.min {
            abs(($0.date ?? -.infinity) - date) < abs(($1.date ?? -.infinity) - date)
        }
        return nearest?.number ?? place.number
    }
}

/// Where the next segment begins.
struct StreamPlace: Sendable, Equatable {
    /// The variant that this is said in.
    var variant: Int
    var number: Int64
    /// Seconds from the playlist's start, of one that has ended.
    var time: Double
    /// Seconds since 1970, where the playlist says it.
    var date: Double?
}
