import FoundationEssentials

extension StreamMachine {
    // MARK: Bytes

    mutating func ingestHead(_ id: FetchID, offset: Int64, total: Int64?, validator: String?) {
        if playlists[id] != nil { playlists[id]?.active = now }
        guard job?.request.id == id else { return }
        if offset == 0 {
            job?.startOver()
            // Bytes come each time, so that neither failures in a row nor silence would end it.
            if let job, job.restarts >= tuning.restarts {
                actions.append(.cancel(id))
                return unusable("it never comes whole; at last: \(lastTrouble)")
            }
        }
        job?.request.offset = offset
        // What begins anew is known by its own validator alone.
        if offset == 0 || validator != nil { job?.request.validator = validator }
        job?.request.total = total
        job?.total = total
        job?.window = [(now, offset)]
    }

    mutating func ingestProgress(_ id: FetchID, _ bytes: Int) {
        let playlist = playlists[id]
        let isPlaylist = playlist != nil
        guard isPlaylist || job?.request.id == id else { return }
        activeAt = now
        if let path = playlist?.path ?? path {
            counts.bytes[path, default: 0] += Int64(bytes)
        } else {
            counts.unknownBytes += Int64(bytes)
        }
        if isPlaylist {
            playlists[id]?.active = now
        } else {
            job?.ingest(bytes: bytes, at: now, tuning)
        }
    }

    /// What was measured until now is the path's that carried it.
    mutating func closeSample() {
        guard let job, let path, job.sampledBytes > 0 else { return }
        estimators[path.id, default: ThroughputEstimator()].ingest(
            bits: Double(job.sampledBytes) * 8, seconds: max(job.sampledSeconds, 0.001))
        self.job?.beginSample()
    }

    // MARK: Ends

    mutating func ingestFinished(_ id: FetchID) {
        guard let job, job.request.id == id, job.isUnderWay else { return }
        activeAt = now
        switch job.request.purpose {
        case .playlist: return
        case .key: heldKeys.insert(job.request.resource.url)
        case .initialization:
            if let held = heldInitialization { actions.append(.discard(held.id)) }
            heldInitialization = (job.request.resource, id, false)
        case .segment: return segmentArrived(job)
        }
        let request = request(for: job.segment)
        self.job?.proceed(to: request, at: now)
        actions.append(.fetch(request))
    }

    private mutating func segmentArrived(_ job: SegmentJob) {
        closeSample()
        self.job = nil
        let duration = max(job.segment.duration, tuning.shortestSegment)
        if playhead.begun == nil { report(.started(after: .seconds(now))) }
        if let stall = playhead.fetched(duration, at: now) { report(.resumed(after: .seconds(stall))) }
        let initialization =
            job.segment.initialization == nil || heldInitialization?.isDelivered == true
            ? nil : heldInitialization?.id
        if job.segment.initialization != nil { heldInitialization?.isDelivered = true }
        actions.append(
            .deliver(
                Delivery(
                    segment: job.request.id, initialization: initialization, index: counts.segments,
                    duration: duration, bytes: job.received,
                    isDiscontinuous: isDiscontinuous || job.segment.isDiscontinuous,
                    variant: job.variant)))
        report(
            .segment(
                number: job.segment.number, variant: job.variant, bytes: job.received,
                duration: .seconds(duration), path: path, throughput: throughput))
        counts.segments += 1
        counts.mediaBytes += job.received
        pendingBytes += job.received
        (missingInARow, isDiscontinuous, excluded, cap) = (0, false, [], nil)
        // Where the server began anew meanwhile, the place is another's.
        if var place, place.number == job.segment.number, place.variant == job.variant {
            advance(&place, by: job.segment.duration)
            self.place = place
        }
    }

    mutating func ingestFailure(_ id: FetchID, _ failure: FetchFailure) {
        if playlists[id] != nil { return playlistFailed(id, failure) }
        guard let job, job.request.id == id, job.isUnderWay else { return }
        lastTrouble = failure.reason
        self.job?.isUnderWay = false
        self.job?.failures += 1
        let failures = job.failures + 1
        switch failure.kind {
        case .broken, .silent, .noPath:
            let date = failures == 1 ? now : now + pause(failures - 1)
            self.job?.retryAt = date
            if failures > 1 { report(.trouble(failure.reason)) }
        case .changed:
            report(.trouble(failure.reason))
            if failures > tuning.busyTries { return unusable(failure.reason) }
            actions.append(.discard(id))
            self.job?.startOver()
            self.job?.retryAt = now
        case .busy:
            report(.trouble(failure.reason))
            if failures > tuning.busyTries { return unusable(failure.reason) }
            let date = now + pause(failures)
            self.job?.retryAt = date
        case .missing where variants[job.variant].isLive && failures <= 2:
            // Perhaps it is not there yet.
            let date = now + (variants[job.variant].playlist?.targetDuration ?? 1) / 2
            self.job?.retryAt = date
        case .missing, .unusable:
            report(.trouble(failure.reason))
            unusable(failure.reason)
        }
        if let retryAt = self.job?.retryAt, retryAt <= now { askAgain() }
    }

    /// The variant has not got it.
    private mutating func unusable(_ reason: String) {
        guard let job else { return }
        actions.append(.discard(job.request.id))
        self.job = nil
        excluded.insert(job.variant)
        lastTrouble = reason
    }

    // MARK: Watching

    /// Looks after the segment that is under way: silence, a retry that is due, a rate at which it comes too late.
    mutating func watchJob() {
        guard let job else { return }
        guard job.isUnderWay else {
            if now >= job.retryAt { askAgain() }
            return
        }
        if now - job.activeAt >= job.patience(tuning) {
            self.job?.failures += 1
            lastTrouble = "the server sends nothing"
            // Whatever carries the next try may be slower: a lower variant may be there sooner than the rest of this one.
            if !abandon(rate: throughput ?? tuning.adaptation.unknownRate) {
                actions.append(.cancel(job.request.id))
                askAgain()
            }
        } else if job.isSegment, !options.isRecording, job.variant > adaptation.ceiling(on: path),
            let total = job.total,
            Double(total - job.received) * 8 > adaptation.rates[adaptation.ceiling(on: path)]
                * job.segment.duration
        {
            // The path has become one that is not to carry as much, and what is missing is more than all of what it may carry.
            giveUp(job, for: adaptation.ceiling(on: path))
        } else if let rate = job.recentRate(at: now, tuning) {
            _ = abandon(rate: rate)
        }
    }

    /// Goes on where it was.
    private mutating func askAgain() {
        guard let old = job else { return }
        if old.isSegment, old.received > 0 {
            counts.continued += 1
            report(.continued(number: old.segment.number, at: old.received))
        }
        let id = newID()
        job?.askAgain(id, at: now)
        if let request = job?.request { actions.append(.fetch(request)) }
    }

    /// - Returns: whether the segment was given up.
    private mutating func abandon(rate: Double) -> Bool {
        guard let job, job.isSegment, let total = job.total, playhead.begun != nil, !options.isRecording
        else {
            return false
        }
        let situation = Adaptation.Situation(
            buffer: playhead.buffer, throughput: throughput, segmentDuration: job.segment.duration,
            path: path,
            current: job.variant)
        guard
            let lower = adaptation.alternative(
                to: job.variant, remaining: Double(total - job.received), rate: rate, situation),
            variants[lower].playlist != nil || variants[lower].fetch == nil
        else { return false }
        giveUp(job, for: lower)
        // The rate that was just seen counts more than what the path carried before.
        if let path {
            var estimator = ThroughputEstimator()
            estimator.ingest(bits: rate, seconds: 1)
            estimators[path.id] = estimator
        }
        return true
    }

    /// Has the segment that is under way begun anew in a lower variant.
    private mutating func giveUp(_ job: SegmentJob, for lower: Int) {
        report(.abandoned(number: job.segment.number, variant: job.variant, received: job.received))
        actions.append(.cancel(job.request.id))
        actions.append(.discard(job.request.id))
        closeSample()
        self.job = nil
        cap = lower
    }
}
