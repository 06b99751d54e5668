import FoundationEssentials

extension StreamMachine {
    // MARK: The next segment

    /// - Returns: whether to look again at once: a segment was skipped.
    mutating func chooseNext() -> Bool {
        roomAt = nil
        guard let place else {
            // Before the first playlist of a variant, or after the server began anew.
            let first = variant ?? firstVariant
            if variants[first].fetch == nil,
                variants[first].playlist == nil || variants[first].reloadAt == nil,
                variants[first].avoidedUntil <= now
            {
                fetchPlaylist(first)
            }
            return false
        }
        let current = place.variant
        guard let segment = segment(at: place, in: current) else { return atTheEnd(place) }
        guard hasRoom(for: max(segment.duration, tuning.shortestSegment)) else { return false }
        let chosen = choose(segment.duration)
        guard let chosen else { return skip(lastTrouble, segment.duration) }
        guard chosen != current else { return begin(segment, in: current) }
        // Another variant: its playlist has to be there, and of a live stream it has to be a new one.
        let known = variants[chosen]
        let isFresh =
            known.playlist != nil
            && (!known.isLive || now - known.loadedAt < (known.playlist?.targetDuration ?? 0))
        guard isFresh else {
            if known.fetch == nil { fetchPlaylist(chosen) }
            // A buffer that may run dry while the playlist comes is filled in the meantime as before.
            if playhead.buffer < 2 * segment.duration, playhead.begun != nil, !excluded.contains(current),
                cap == nil
            {
                return begin(segment, in: current)
            }
            return false
        }
        var there = place
        there.number = known.number(at: place, cameFrom: variants[current])
        there.variant = chosen
        guard let other = self.segment(at: there, in: chosen) else {
            // It is not there yet.
            if excluded.contains(current) {
                excluded.insert(chosen)
            } else {
                return begin(segment, in: current)
            }
            return true
        }
        if let known = known.playlist, known.isEnded {
            there.time = variants[chosen].starts[Int(other.number - known.mediaSequence)]
        }
        self.place = there
        return begin(other, in: chosen)
    }

    private var firstVariant: Int {
        var chooser = adaptation
        let choice = chooser.choose(
            Adaptation.Situation(buffer: 0, throughput: throughput, segmentDuration: 1, path: path))
        let wanted = pinned ?? choice
        return variants[wanted].avoidedUntil <= now
            ? wanted : variants.indices.first { variants[$0].avoidedUntil <= now } ?? wanted
    }

    /// The variant that a recording takes all of: the highest that is allowed.
    private var pinned: Int? {
        guard options.isRecording, variant.map({ !variants[$0].isLive }) ?? true else { return nil }
        return adaptation.ceiling(on: path)
    }

    private func segment(at place: StreamPlace, in variant: Int) -> MediaPlaylist.Segment? {
        variants[variant].playlist?.segment(place.number)
    }

    private mutating func choose(_ duration: Double) -> Int? {
        var choice =
            pinned
            ?? adaptation.choose(
                Adaptation.Situation(
                    buffer: playhead.buffer, throughput: throughput, segmentDuration: duration, path: path,
                    current: counts.segments > 0 ? variant : nil))
        if let cap { choice = min(choice, cap) }
        func isUsable(_ index: Int) -> Bool {
            !excluded.contains(index) && variants[index].avoidedUntil <= now
        }
        if isUsable(choice) { return choice }
        // The next lower one, else the next higher one; one that is only avoided before none at all.
        let order = variants.indices.sorted {
            abs($0 - choice) * 2 + ($0 > choice ? 1 : 0) < abs($1 - choice) * 2 + ($1 > choice ? 1 : 0)
        }
        if let usable = order.first(where: isUsable) {
            choice = usable
        } else if let place, !excluded.contains(place.variant) {
            choice = place.variant
        } else {
            return nil
        }
        return choice
    }

    private mutating func hasRoom(for duration: Double) -> Bool {
        if pendingBytes > tuning.backlogBytes {
            roomAt = now + 0.5
            return false
        }
        if options.isRecording {
            guard playhead.fetched - playhead.taken > tuning.backlog else { return true }
            roomAt = now + 0.5
            return false
        }
        guard playhead.begun != nil else { return true }
        // As many bytes of a low variant are more time: where only that one fits, the path is one that soon carries nothing.
        let many = options.bufferTarget.inSeconds * adaptation.headroom(over: variant ?? 0, on: path)
        let most = max(options.bufferTarget, options.longestBuffer).inSeconds
        var target = max(min(many, most), duration)
        if path?.isConstrained == true { target = min(target, tuning.constrainedSegments * duration) }
        let excess = playhead.buffer + duration - target
        guard excess > 0.001 else { return true }
        roomAt = now + max(excess, 0.02)
        return false
    }

    private mutating func atTheEnd(_ place: StreamPlace) -> Bool {
        guard let playlist = variants[place.variant].playlist else { return false }
        if place.number < playlist.mediaSequence {
            // A live stream's window has moved on.
            let missing = playlist.mediaSequence - place.number
            counts.skipped += Int(min(missing, 1_000_000))
            report(
                .skipped(
                    number: place.number,
                    reason:
                        "\(missing) \(missing == 1 ? "segment is" : "segments are") gone from the playlist"))
            isDiscontinuous = true
            self.place = StreamPlace(
                variant: place.variant, number: playlist.mediaSequence, time: 0,
                date: playlist.segments.first?.date)
            return true
        }
        if playlist.isEnded {
            playhead.complete()
            if counts.segments == 0, counts.skipped > 0 {
                fail(.server, "no segment can be had; the last: \(lastTrouble)")
            } else {
                finish(.ended)
            }
            return false
        }
        // The reload brings what follows. Nothing to fetch is no reason to give up.
        if playlist.endSequence >= place.number { activeAt = max(activeAt, variants[place.variant].loadedAt) }
        return false
    }

    // MARK: Beginning

    private mutating func begin(_ segment: MediaPlaylist.Segment, in variant: Int) -> Bool {
        if segment.isGap {
            // Another variant may have it.
            excluded.insert(variant)
            lastTrouble = Self.gap
            return true
        }
        if let before = self.variant, before != variant, counts.segments > 0 {
            counts.switches += 1
            report(.switched(from: before, to: variant, buffer: .seconds(playhead.buffer)))
        }
        self.variant = variant
        place?.variant = variant
        activeAt = now
        let request = request(for: segment)
        job = SegmentJob(variant: variant, segment: segment, request: request, at: now)
        actions.append(.fetch(request))
        return false
    }

    /// What of a segment is missing first.
    mutating func request(for segment: MediaPlaylist.Segment) -> FetchRequest {
        let (isUrgent, id) = (counts.segments == 0, newID())
        let held = heldKeys
        func make(
            _ purpose: FetchRequest.Purpose, _ resource: MediaPlaylist.Resource, _ limit: Int64
        )
            -> FetchRequest
        {
            FetchRequest(
                id: id, purpose: purpose, resource: resource, limit: limit,
                isUrgent: isUrgent)
        }
        func key(_ resource: MediaPlaylist.Resource) -> FetchRequest? {
            guard let key = resource.encryption?.keyURL, !held.contains(key) else { return nil }
            return make(.key, MediaPlaylist.Resource(url: key), 1 << 10)
        }
        if let initialization = segment.initialization, heldInitialization?.resource != initialization {
            return key(initialization) ?? make(.initialization, initialization, tuning.initializationLimit)
        }
        return key(segment.resource)
            ?? make(
                .segment(number: segment.number), segment.resource, Int64(options.maximumSegmentSize))
    }

    // MARK: Skipping

    private static let gap = "the server says that it is missing"

    /// - Returns: whether to go on at once.
    @discardableResult
    mutating func skip(_ reason: String, _ duration: Double) -> Bool {
        guard var place else { return false }
        report(.skipped(number: place.number, reason: reason))
        counts.skipped += 1
        // What the server itself calls a gap is no failure.
        if reason != Self.gap { missingInARow += 1 }
        isDiscontinuous = true
        excluded = []
        guard missingInARow < tuning.missing else {
            fail(.server, "\(missingInARow) segments in a row can't be had; the last: \(reason)")
            return false
        }
        advance(&place, by: duration)
        self.place = place
        return true
    }

    func advance(_ place: inout StreamPlace, by duration: Double) {
        place.number += 1
        place.time += duration
        place.date = place.date.map { $0 + duration }
        // Dates that the playlist says count, not their sum.
        if let next = variants[place.variant].playlist?.segment(place.number)?.date { place.date = next }
    }
}
