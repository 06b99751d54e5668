// Suspicion, probes and verdicts.

extension SteeringMachine {
    // MARK: What samples show

    mutating func take(_ samples: [SubflowSample], written: MonotonicTime?, at now: MonotonicTime) {
        for sample in samples {
            guard let local = sample.local, let remote = sample.remote else { continue }
            // The kernel goes on listing the first subflow, closed: no new one is that.
            let mayBeNew = sample.state == .synSent || sample.state.carriesData
            guard let index = subflow(local, remote, mayBeNew: mayBeNew) else {
                adopt(sample, local, remote, at: now)
                continue
            }
            subflows[index].port = local.port
            let number = subflows[index].number
            if !subflows[index].isEstablished, sample.state.carriesData { established(index, at: now) }
            // It may have taken another one's place.
            guard let place = subflows.firstIndex(where: { $0.number == number }),
                subflows[place].isEstablished
            else { continue }
            observe(place, sample, written: written, at: now)
        }
        // A subflow whose end nobody told. The kernel goes on listing the first one, closed.
        let listed = Set(
            samples.compactMap { sample in
                sample.local.map { Pair(local: $0, remote: sample.remote) }
            })
        for index in subflows.indices.reversed() {
            guard let local = subflows[index].local else {
                // One that begins is listed. It ended before anybody saw it.
                if subflows[index].asked.duration(to: now) >= Self.retry {
                    closed(index, SubflowEnd(), at: now)
                }
                continue
            }
            let own = samples.first { $0.local == local && $0.remote == subflows[index].remote }
            let isGone = !listed.contains(Pair(local: local, remote: subflows[index].remote))
            if isGone || own?.state == .closed { closed(index, SubflowEnd(), at: now) }
        }
        planSample(at: now)
    }

    private struct Pair: Hashable {
        var local: IPEndpoint
        var remote: IPEndpoint?
    }

    /// A subflow that somebody else made: the peer.
    private mutating func adopt(
        _ sample: SubflowSample, _ local: IPEndpoint, _ remote: IPEndpoint, at now: MonotonicTime
    ) {
        guard configuration.isAcceptor, sample.state.carriesData,
            let id = book.id(of: local.address, isUsed: { _ in true })
        else { return }
        // At an accepting end a path is what leads to one of the peer's addresses.
        var subflow = Subflow(
            path: "\(remote.address)", interface: latestSnapshot?.interface(with: local.address)?.index ?? 0,
            address: SubflowAction.LocalAddress(local.address, id: id), remote: remote, port: local.port,
            purpose: .data, isBackup: false, asked: now, number: nextNumber())
        subflow.established = now
        _ = subflow.watch.take(sample, written: nil, at: now)
        subflows.append(subflow)
        if records[subflow.path]?.isDead ?? true { records[subflow.path] = PathState() }
        tell(.joined(subflow.path))
    }

    private mutating func observe(
        _ index: Int, _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime
    ) {
        let name = subflows[index].path
        let progress = subflows[index].watch.take(sample, written: written, at: now)
        guard progress.isAny else { return }
        lastActivity = now
        if progress.hasReceived {
            if subflows[index].silenceAsks > 0 {
                subflows[index].gaps = min(subflows[index].gaps + 1, 4)
            } else if subflows[index].watch.run.isMultiple(of: 40) {
                subflows[index].gaps = max(subflows[index].gaps - 1, 0)
            }
            subflows[index].silenceAsks = 0
            // An answer to what was sent before the first may be among them.
            if subflows[index].watch.run >= 3 || sharesStream(index, at: now) {
                subflows[index].isStream = true
            }
            if subflows[index].isStream { subflows[index].streamedAt = now }
        }
        if subflows[index].purpose == .probe {
            // Data comes this way while the path's own subflow gets nothing: that one is forgotten somewhere.
            // One that has just taken its place is given its time.
            if let data = dataSubflow(name),
                max(subflows[data].watch.progressAt ?? .zero, subflows[data].established ?? .zero)
                    < subflows[index].asked
            {
                // Or somebody speaks now and then, and was shown another way in a pause.
                subflows[data].gaps = min(subflows[data].gaps + 1, 4)
                replace(data, by: index, at: now)
            }
            return
        }
        if subflows[index].purpose == .reserve {
            // What comes in this way does not come the other.
            if progress.hasReceived, let data = dataSubflow(name), subflows[data].isStream {
                subflows[data].silenceAsks = 0
                subflows[data].watch.expect(at: now)
            }
            if case .suspect = records[name]!.standing { clear(name, at: now) }
            return
        }
        subflows[index].stuckSince = nil
        if progress.hasAcknowledged {
            records[name]!.loss.take(sample)
            let recent = subflows[index].watch.recentRTT ?? sample.smoothedRTT
            let known = records[name]!.latency ?? recent
            // Half of what was known: one late answer is not yet a slow path. Interactive has its own patience,
            // and can't wait for a second measurement to know that a path has become slower.
            let isWorse = configuration.mode == .interactive && recent > known
            records[name]!.noteLatency(isWorse ? recent : (known + recent) / 2, at: now)
        }
        switch records[name]!.standing {
        case .suspect: clear(name, at: now)
        case .dead where !subflows[index].isBackup:
            // It got through after all.
            revive(name, at: now)
        case .good, .dead, .validating: break
        }
        if case .trouble = records[name]!.probe?.cause { records[name]!.probe = nil }
    }

    /// When to look again, after a sample.
    private mutating func planSample(at now: MonotonicTime) {
        var (due, silence): ([MonotonicTime], [MonotonicTime]) = ([], [])
        for subflow in subflows where subflow.isEstablished && subflow.purpose == .data {
            let record = records[subflow.path]!
            if subflow.watch.waitingSince != nil {
                due.append(
                    record.isDead
                        ? now.advanced(by: .milliseconds(200)) : suspicionDue(subflow, at: now) ?? now)
            }
            if asks, record.probe == nil, let due = subflow.silenceDue { silence.append(due) }
            // Whoever tells of data wakes the machine by the next that moves.
            if !configuration.hasHints, subflow.watch.progressAt == now {
                due.append(now.advanced(by: subflow.watch.answerTime))
            }
        }
        for subflow in subflows where subflow.purpose == .probe && !subflow.isBackup {
            // The peer was shown this way.
            due.append(now.advanced(by: max(subflow.watch.answerTime, .milliseconds(50))))
        }
        if subflows.contains(where: { $0.port == nil && $0.asked.duration(to: now) < .milliseconds(20) }) {
            due.append(now)
        }
        if !configuration.hasHints { due.append(now.advanced(by: .seconds(1))) }
        if due.isEmpty, let time = unsentDue(at: now) { due.append(time) }
        // Where round trips change, what carries is measured as often as what doesn't.
        if !due.isEmpty, wanders(at: now) { due.append(now.advanced(by: Self.closeLook)) }
        if let first = (due + silence).min() {
            schedule(sampleAt: max(first, now.advanced(by: pace)))
            agenda.awaitsSilence = due.isEmpty
        }
        // The latest round trips and losses are known for a while; interactive wants each.
        let isCalm =
            configuration.mode != .interactive && configuration.hasHints && isReady
            && subflows.allSatisfy { subflow in
                subflow.isEstablished && !subflow.isStream && subflow.watch.waitingSince == nil
                    && (subflow.purpose == .data || subflow.purpose == .reserve && subflow.isBackup)
                    && records[subflow.path]!.isCalm
            }
        agenda.glancesUntil = isCalm ? now.advanced(by: pace * 200) : .zero
    }

    // MARK: Suspicion

    mutating func judge(_ paths: [PathInterface], at now: MonotonicTime) {
        // A suspicion may make and end subflows.
        for number in subflows.filter({ $0.purpose == .data && $0.isEstablished }).map(\.number) {
            if let index = subflows.firstIndex(where: { $0.number == number }) {
                suspectIfLate(index, at: now)
            }
        }
        for name in sortedNames() {
            pursue(name, at: now)
            if case .validating(let until) = records[name]!.standing {
                // Where there is nothing else to lose there is nothing to prove.
                if now >= until || dataSubflow(name) != nil && !hasOther(than: name) {
                    records[name]!.standing = .good
                    records[name]!.goodSince = now
                } else {
                    wakeUps.append(until)
                }
            }
        }
    }

    private mutating func suspectIfLate(_ index: Int, at now: MonotonicTime) {
        let subflow = subflows[index]
        let record = records[subflow.path]!
        guard !record.isDead else { return }
        if let since = subflow.watch.waitingSince {
            if configuration.isAcceptor, isReplaced(subflow, since) {
                return endReplaced(index, since, at: now)
            }
            let due = suspectedAt(subflow, at: now) ?? now
            if now >= due {
                suspect(subflow.path, .noAcknowledgement, at: now)
                if !asks { judgeUnasked(index, at: now) }
            } else {
                wakeUps.append(due)
            }
        } else if let due = subflow.silenceDue, asks {
            if now >= due {
                // The probe that is under way decides first.
                guard record.probe == nil else { return }
                subflows[index].silenceAsks += 1
                // Told to nobody yet: a peer with nothing to say is no trouble.
                ask(subflow.path, .trouble(.noAnswer), at: now)
            } else {
                wakeUps.append(due)
            }
        }
    }

    /// Whether the peer has made another subflow over the same path, or used it, since this one began to wait.
    private func isReplaced(_ subflow: Subflow, _ since: MonotonicTime) -> Bool {
        subflows.contains { other in
            other.path == subflow.path && other.number != subflow.number
                && (other.established ?? .zero > since || other.watch.progressAt ?? .zero > since)
        }
    }

    /// The path works, so this says nothing against it; the subflow is forgotten somewhere, unless it recovers soon.
    private mutating func endReplaced(_ index: Int, _ since: MonotonicTime, at now: MonotonicTime) {
        let due = since.advanced(by: max(subflows[index].watch.answerTime * 3, .seconds(1)))
        guard now >= due else { return wakeUps.append(due) }
        destroy(subflows[index])
        subflows.remove(at: index)
    }

    /// Where no probes can be asked long silence is proof, if another subflow lives.
    private mutating func judgeUnasked(_ index: Int, at now: MonotonicTime) {
        let subflow = subflows[index]
        guard let since = subflow.watch.waitingSince else { return }
        let limit = max(subflow.watch.answerTime * 3, subflow.watch.answerTime + .milliseconds(50))
        let due = since.advanced(by: limit * records[subflow.path]!.patience(at: now))
        let hasOther = subflows.contains {
            $0.path != subflow.path && $0.isEstablished && !(records[$0.path]?.isDead ?? true)
        }
        if now < due {
            wakeUps.append(due)
        } else if hasOther {
            die(subflow.path, .noAcknowledgement, at: now)
        }
    }

    private mutating func suspect(_ name: String, _ trouble: PathTrouble, at now: MonotonicTime) {
        switch records[name]!.standing {
        case .good:
            records[name]!.standing = .suspect(trouble)
            tell(.suspected(name, trouble))
        case .validating:
            // It begins anew. To end the subflow for a mere suspicion would cost more than it does where it stands by.
            records[name]!.standing = .validating(until: now.advanced(by: records[name]!.validationTime))
        case .suspect, .dead: break
        }
        ask(name, .trouble(trouble), at: now)
    }

    mutating func clear(_ name: String, at now: MonotonicTime) {
        records[name]!.standing = .good
        records[name]!.noteFalseAlarm(at: now)
        tell(.cleared(name))
    }

    /// A dead path's data got through.
    mutating func revive(_ name: String, at now: MonotonicTime) {
        records[name]!.standing = .good
        records[name]!.goodSince = now
        records[name]!.noteFalseAlarm(at: now)
        tell(.answered(name))
    }

    // MARK: Questions

    mutating func ask(_ name: String, _ cause: PathState.Probing.Cause, at now: MonotonicTime) {
        guard asks, isReady, var record = records[name], !record.isDead, dataSubflow(name) != nil
        else { return }
        if let probe = record.probe {
            guard probe.cause == .measurement, cause != .measurement else { return }
            // What was sent to measure counts as the first probe.
            record.probe?.cause = cause
            record.probe?.needed = record.loss.probes
        } else {
            record.probe = PathState.Probing(
                cause: cause, needed: cause == .measurement ? 1 : record.loss.probes)
        }
        records[name] = record
        pursue(name, at: now)
    }

    /// Asks what is still to be asked, and draws the conclusion.
    private mutating func pursue(_ name: String, at now: MonotonicTime) {
        guard let probe = records[name]?.probe, let data = dataSubflow(name) else {
            records[name]?.probe = nil
            return
        }
        let answerTime = expectedAnswer(name, data, probe, at: now)
        let spacing = max(answerTime / 4, .milliseconds(5))
        let wait = answerTime + answerTime / 4
        if probe.count < probe.needed {
            let due = probe.count == 0 ? now : probe.latest.advanced(by: spacing)
            guard now >= due else { return wakeUps.append(due) }
            send(name, data, at: now)
            if probe.count == 0 { records[name]!.probe!.first = now }
            records[name]!.probe!.count += 1
            records[name]!.probe!.latest = now
            wakeUps.append(now.advanced(by: probe.count + 1 < probe.needed ? spacing : wait))
            return
        }
        let due = probe.latest.advanced(by: wait)
        guard now >= due else { return wakeUps.append(due) }
        // What came in at the last moment counts.
        if let news = subflows[data].watch.newsAt, news >= probe.latest {
            records[name]!.probe = nil
            return
        }
        records[name]!.loss.asked(false)
        switch probe.cause {
        case .measurement:
            records[name]!.probe!.cause = .trouble(.noAnswer)
            records[name]!.probe!.needed = max(records[name]!.loss.probes, 2)
            records[name]!.noteLatency(max(records[name]!.latency ?? wait, wait), at: nil)
            wakeUps.append(now)
        case .trouble(let trouble):
            actions.append(
                .share(
                    PathVerdict(
                        path: name, interface: subflows[data].interface,
                        remote: subflows[data].remote.address,
                        trouble: trouble, since: probe.first)))
            die(name, trouble, at: now)
        }
    }

    /// How long a handshake over the path takes at most.
    private func expectedAnswer(
        _ name: String, _ data: Int, _ probe: PathState.Probing, at now: MonotonicTime
    ) -> Duration {
        let latency = records[name]?.latency ?? .zero
        // Where nothing has come in for a while no queue is full: the answer takes the path's shortest time. (What
        // the kernel measured is of little use: a receiver sends too seldom.)
        let watch = subflows[data].watch
        if probe.cause == .trouble(.noAnswer), let least = watch.latest?.minimumRTT,
            let heard = watch.heardAt,
            heard.duration(to: probe.count == 0 ? now : probe.latest) >= .milliseconds(20)
        {
            return least * 6 / 5 + .milliseconds(5)
        }
        return max(
            subflows[data].watch.latest == nil ? .milliseconds(100) : subflows[data].watch.answerTime, latency
        )
    }

    /// A join over the path, which stands by so that no data takes it.
    private mutating func send(_ name: String, _ data: Int, at now: MonotonicTime) {
        // In a bulk transfer those before are still there, and there is not room for any number.
        let answered = subflows.filter { $0.path == name && $0.lingersUntil != nil }
        if answered.count >= 2 {
            destroy(answered[0])
            subflows.removeAll { $0.number == answered[0].number }
        }
        create(
            on: name, subflows[dataSubflow(name) ?? data].interface,
            subflows[dataSubflow(name) ?? data].address,
            subflows[dataSubflow(name) ?? data].remote, .probe, isBackup: true, at: now)
    }

    // MARK: Verdicts

    mutating func die(_ name: String, _ trouble: PathTrouble, at now: MonotonicTime) {
        records[name]!.noteFailure(at: now)
        records[name]!.standing = .dead(trouble)
        // Soon at first: what looked dead may have been very slow.
        records[name]!.nextAttempt = now.advanced(by: Self.retry / 4)
        tell(.failed(name, trouble))
    }

    /// Judges a path by what another connection has found. Handshakes with the same peer went unanswered: that is
    /// proof for this one too, unless it has heard from there since. Another peer's silence is a reason to ask.
    mutating func judgeBySharedVerdicts(at now: MonotonicTime) {
        for verdict in sharedVerdicts {
            guard let data = dataSubflow(verdict.path), subflows[data].isEstablished,
                subflows[data].interface == verdict.interface, let latest = subflows[data].watch.latest,
                records[verdict.path]?.isDead == false
            else { continue }
            let silence = min(latest.sinceAcknowledgement, latest.sinceDataReceived)
            guard now.advanced(by: .zero - silence) < verdict.since else { continue }
            if subflows[data].remote.address == verdict.remote {
                die(verdict.path, verdict.trouble, at: now)
            } else if subflows[data].watch.waitingSince != nil {
                ask(verdict.path, .trouble(verdict.trouble), at: now)
            }
        }
        sharedVerdicts = []
    }
}
