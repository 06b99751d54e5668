import FoundationEssentials

extension StreamMachine {
    // MARK: Asking

    /// - Parameter variant: nil for the URL that the session was given.
    mutating func fetchPlaylist(_ variant: Int?) {
        let id = newID()
        // Longer with each time that asking brought nothing, since a connection over a slow path takes its time.
        let failures = variant.map { variants[$0].failures } ?? firstTries
        let patience = tuning.silence * Double(min(failures + 1, tuning.longestSilences))
        playlists[id] = PlaylistFetch(variant: variant, active: now, patience: patience)
        if let variant { variants[variant].fetch = id }
        actions.append(
            .fetch(
                FetchRequest(
                    id: id, purpose: .playlist(variant: variant),
                    resource: MediaPlaylist.Resource(url: variant.map { variants[$0].url } ?? url),
                    limit: tuning.playlistLimit, isUrgent: true)))
    }

    /// A live stream's playlist is asked for again and again (RFC 8216 section 6.3.4).
    mutating func reloadPlaylist() {
        guard let variant, variants[variant].fetch == nil, let reloadAt = variants[variant].reloadAt,
            now >= reloadAt
        else { return }
        fetchPlaylist(variant)
    }

    /// What brings nothing is asked for anew.
    mutating func watchPlaylists() {
        for (id, fetch) in playlists where now - fetch.active >= fetch.patience {
            // The one before may have ended the stream.
            guard outcome == nil else { return }
            actions.append(.cancel(id))
            playlistFailed(id, FetchFailure(kind: .silent, reason: "the server sends nothing"))
        }
    }

    // MARK: Answers

    mutating func ingest(_ playlist: Playlist, _ id: FetchID, from url: URL) {
        guard let variant = playlists.removeValue(forKey: id).map(\.variant) else { return }
        activeAt = now
        switch (playlist, variant) {
        case (.multivariant(let playlist), nil): begin(playlist)
        case (.media(let playlist), nil): begin(playlist, from: url)
        case (.media(let playlist), let variant?): ingest(playlist, variant)
        case (.multivariant, let variant?):
            // One that names itself, or a ring of them, would never end.
            variants[variant].fetch = nil
            avoid(variant, "the variant's playlist names variants itself")
        }
    }

    private mutating func begin(_ playlist: MultivariantPlaylist) {
        let sound = Set(
            playlist.renditions.filter { $0.type == "AUDIO" && $0.url != nil }.map(\.group))
        func hasSound(_ variant: MultivariantPlaylist.Variant) -> Bool {
            variant.audioGroup.map { !sound.contains($0) } ?? true
        }
        var listed = playlist.variants
        if listed.contains(where: hasSound) {
            listed = listed.filter(hasSound)
        } else {
            report(.warning("the stream's sound is in a playlist of its own, and is left out"))
        }
        // Variants of sound alone are for paths that carry no picture.
        let pictures = listed.filter { $0.resolution != nil }
        if !pictures.isEmpty { listed = pictures }
        listed.sort { $0.rate < $1.rate }
        // The same rate twice is another host for the same (RFC 8216 section 6.2.4), or another codec: the first one counts.
        var rates: [Double] = []
        for variant in listed where rates.last != variant.rate {
            rates.append(variant.rate)
            variants.append(
                VariantPlaylist(
                    url: variant.url,
                    variant: StreamVariant(rate: variant.rate, resolution: variant.resolution)))
        }
        adaptation = Adaptation(
            rates: rates, maximumRate: options.maximumRate, expensiveRate: options.expensiveRate,
            tuning: tuning.adaptation)
        if let limit = options.maximumRate, let lowest = rates.first, lowest > limit {
            report(.warning("no variant takes as little as asked for; the lowest is used"))
        }
        activeAt = now
    }

    private mutating func begin(_ playlist: MediaPlaylist, from url: URL) {
        variants = [VariantPlaylist(url: url, variant: StreamVariant(rate: 0))]
        adaptation = Adaptation(rates: [1])
        ingest(playlist, 0)
    }

    private mutating func ingest(_ playlist: MediaPlaylist, _ variant: Int) {
        let isFirst = place == nil
        let change = variants[variant].ingest(playlist, at: now)
        makeRoom(besides: variant)
        guard let known = variants[variant].playlist else { return }
        if change == .restarted, place?.variant == variant {
            report(.trouble("the server numbers its segments anew"))
            place = nil
            isDiscontinuous = true
            // What is under way belongs to what was before.
            if let job {
                if job.isUnderWay { actions.append(.cancel(job.request.id)) }
                actions.append(.discard(job.request.id))
                self.job = nil
            }
        }
        if place == nil {
            self.variant = variant
            guard let number = variants[variant].firstNumber else {
                if known.isEnded { fail(.playlist, "the playlist names no segment") }
                return
            }
            let index = Int(number - known.mediaSequence)
            place = StreamPlace(
                variant: variant, number: number, time: variants[variant].starts[index],
                date: known.segments[index].date)
        }
        if isFirst {
            report(.loaded(variants: variants.map(\.variant), isLive: !known.isEnded))
        } else if variants[variant].isLive, variant == self.variant {
            let silence = now - variants[variant].changedAt
            if silence >= tuning.unchangedDurations * known.targetDuration, playhead.buffer < 0.1 {
                fail(
                    .server,
                    "the live playlist has brought nothing new for \(Duration.seconds(silence).inWords)")
            }
        }
    }

    /// What the variants' playlists name all together has a limit. The two that are needed stay: the one that plays, and the one
    /// that just came.
    private mutating func makeRoom(besides newest: Int) {
        var held = variants.reduce(0) { $0 + ($1.playlist?.segments.count ?? 0) }
        for variant in variants.indices
        where held > tuning.mostSegments && ![newest, self.variant, place?.variant].contains(variant) {
            held -= variants[variant].forget()
        }
    }

    // MARK: Failures

    mutating func playlistFailed(_ id: FetchID, _ failure: FetchFailure) {
        guard let variant = playlists.removeValue(forKey: id).map(\.variant) else { return }
        lastTrouble = failure.reason
        guard let variant else { return firstPlaylistFailed(failure) }
        variants[variant].fetch = nil
        variants[variant].failures += 1
        report(.trouble("playlist: \(failure.reason)"))
        let failures = variants[variant].failures
        if [.noPath, .broken, .silent].contains(failure.kind) {
            // The network's doing says nothing of the variant.
            let pause = pause(failures)
            variants[variant].reloadAt = now + pause
            if variant != self.variant || variants[variant].playlist == nil {
                variants[variant].avoidedUntil = now + pause
            }
        } else if variants[variant].playlist == nil || failures > tuning.busyTries {
            avoid(variant, failure.reason)
        } else {
            variants[variant].reloadAt = now + pause(failures)
        }
    }

    private mutating func firstPlaylistFailed(_ failure: FetchFailure) {
        firstTries += 1
        // Silence passes, or `checkPatience` ends it.
        let mayPass =
            failure.kind == .silent
            || firstTries < tuning.busyTries && [.broken, .busy].contains(failure.kind)
        guard mayPass else {
            return fail(
                failure.kind == .noPath ? .noPath : failure.kind == .broken ? .network : .server,
                failure.reason)
        }
        report(.trouble("playlist: \(failure.reason)"))
        firstRetryAt = now + pause(firstTries)
    }

    /// Leaves a variant alone for a while. Where there is no other the stream ends.
    private mutating func avoid(_ variant: Int, _ reason: String) {
        lastTrouble = reason
        variants[variant].avoidedUntil = now + tuning.avoidance
        variants[variant].reloadAt = now + tuning.avoidance
        guard variants.allSatisfy({ $0.avoidedUntil > now }) else { return }
        fail(.server, variants.count > 1 ? "no variant's playlist can be used; the last: \(reason)" : reason)
    }

    func pause(_ failures: Int) -> Double {
        min(tuning.retry * Double(1 << min(max(failures - 1, 0), 10)), tuning.longestRetry)
    }
}
