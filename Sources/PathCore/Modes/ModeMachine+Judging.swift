// Doubts, questions and verdicts.

extension ModeMachine {
    // MARK: What samples show

    mutating func take(_ samples: [SubflowSample], written: MonotonicTime?, at now: MonotonicTime) {
        for sample in samples {
            guard let local = sample.local, let remote = sample.remote else { continue }
            // The kernel goes on listing the first subflow, closed: no new one is that.
            let mayBeNew = sample.state == .synSent || sample.state.carriesData
            guard let index = flow(local, remote, mayBeNew: mayBeNew) else {
                adopt(sample, local, remote, at: now)
                continue
            }
            flows[index].port = local.port
            let number = flows[index].number
            if !flows[index].isEstablished, sample.state.carriesData { established(index, at: now) }
            // It may have taken another one's place.
            guard let place = flows.firstIndex(where: { $0.number == number }), flows[place].isEstablished
            else { continue }
            observe(place, sample, written: written, at: now)
        }
        // A flow whose end nobody told. The kernel goes on listing the first one, closed.
        let listed = Set(
            samples.compactMap { sample in
                sample.local.map { Pair(local: $0, remote: sample.remote) }
            })
        for index in flows.indices.reversed() {
            guard let local = flows[index].local else {
                // One that begins is listed. It ended before anybody saw it.
                if flows[index].asked.duration(to: now) >= Self.retry { closed(index, SubflowEnd(), at: now) }
                continue
            }
            let own = samples.first { $0.local == local && $0.remote == flows[index].remote }
            let isGone = !listed.contains(Pair(local: local, remote: flows[index].remote))
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
        var flow = Flow(
            path: "\(remote.address)", interface: latestSnapshot?.interface(with: local.address)?.index ?? 0,
            address: SubflowAction.LocalAddress(local.address, id: id), remote: remote, port: local.port,
            purpose: .data, isBackup: false, asked: now, number: nextNumber())
        flow.established = now
        _ = flow.watch.take(sample, written: nil, at: now)
        flows.append(flow)
        if records[flow.path]?.isDead ?? true { records[flow.path] = PathMemory() }
        tell(.joined(flow.path))
    }

    private mutating func observe(
        _ index: Int, _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime
    ) {
        let name = flows[index].path
        let progress = flows[index].watch.take(sample, written: written, at: now)
        guard progress.isAny else { return }
        lastActivity = now
        if progress.hasReceived {
            if flows[index].silenceAsks > 0 {
                flows[index].gaps = min(flows[index].gaps + 1, 4)
            } else if flows[index].watch.run.isMultiple(of: 40) {
                flows[index].gaps = max(flows[index].gaps - 1, 0)
            }
            flows[index].silenceAsks = 0
            // An answer to what was sent before the first may be among them.
            if flows[index].watch.run >= 3 || sharesStream(index, at: now) { flows[index].isStream = true }
            if flows[index].isStream { flows[index].streamedAt = now }
        }
        if flows[index].purpose == .question {
            // Data comes this way while the path's own subflow gets nothing: that one is forgotten somewhere.
            // One that has just taken its place is given its time.
            if let data = dataFlow(name),
                max(flows[data].watch.progressAt ?? .zero, flows[data].established ?? .zero)
                    < flows[index].asked
            {
                // Or somebody speaks now and then, and was shown another way in a pause.
                flows[data].gaps = min(flows[data].gaps + 1, 4)
                replace(data, by: index, at: now)
            }
            return
        }
        if flows[index].purpose == .spare {
            // What comes in this way does not come the other.
            if progress.hasReceived, let data = dataFlow(name), flows[data].isStream {
                flows[data].silenceAsks = 0
                flows[data].watch.expect(at: now)
            }
            if case .suspect = records[name]!.standing { clear(name, at: now) }
            return
        }
        flows[index].stuckSince = nil
        if progress.hasAcknowledged {
            records[name]!.loss.take(sample)
            let recent = flows[index].watch.recentRTT ?? sample.smoothedRTT
            let known = records[name]!.latency ?? recent
            // Half of what was known: one late answer is not yet a slow path. Interactive has its own patience,
            // and can't wait for a second measurement to know that a path has become slower.
            let isWorse = configuration.mode == .interactive && recent > known
            records[name]!.noteLatency(isWorse ? recent : (known + recent) / 2, at: now)
        }
        switch records[name]!.standing {
        case .suspect: clear(name, at: now)
        case .dead where !flows[index].isBackup:
            // It got through after all.
            revive(name, at: now)
        case .good, .dead, .onTrial: break
        }
        if case .trouble = records[name]!.question?.cause { records[name]!.question = nil }
    }

    /// When to look again, after a sample.
    private mutating func planSample(at now: MonotonicTime) {
        var (due, silence): ([MonotonicTime], [MonotonicTime]) = ([], [])
        for flow in flows where flow.isEstablished && flow.purpose == .data {
            let record = records[flow.path]!
            if flow.watch.waitingSince != nil {
                due.append(
                    record.isDead ? now.advanced(by: .milliseconds(200)) : doubtDue(flow, at: now) ?? now)
            }
            if asks, record.question == nil, let due = flow.silenceDue { silence.append(due) }
            // Whoever tells of data wakes the machine by the next that moves.
            if !configuration.hasHints, flow.watch.progressAt == now {
                due.append(now.advanced(by: flow.watch.answerTime))
            }
        }
        for flow in flows where flow.purpose == .question && !flow.isBackup {
            // The peer was shown this way.
            due.append(now.advanced(by: max(flow.watch.answerTime, .milliseconds(50))))
        }
        if flows.contains(where: { $0.port == nil && $0.asked.duration(to: now) < .milliseconds(20) }) {
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
            && flows.allSatisfy { flow in
                flow.isEstablished && !flow.isStream && flow.watch.waitingSince == nil
                    && (flow.purpose == .data || flow.purpose == .spare && flow.isBackup)
                    && records[flow.path]!.isCalm
            }
        agenda.glancesUntil = isCalm ? now.advanced(by: pace * 200) : .zero
    }

    // MARK: Doubts

    mutating func judge(_ paths: [PathInterface], at now: MonotonicTime) {
        // A doubt may make and end flows.
        for number in flows.filter({ $0.purpose == .data && $0.isEstablished }).map(\.number) {
            if let index = flows.firstIndex(where: { $0.number == number }) { doubt(index, at: now) }
        }
        for name in sortedNames() {
            pursue(name, at: now)
            if case .onTrial(let until) = records[name]!.standing {
                // Where there is nothing else to lose there is nothing to prove.
                if now >= until || dataFlow(name) != nil && !hasOther(than: name) {
                    records[name]!.standing = .good
                    records[name]!.goodSince = now
                } else {
                    wakeUps.append(until)
                }
            }
        }
    }

    private mutating func doubt(_ index: Int, at now: MonotonicTime) {
        let flow = flows[index]
        let record = records[flow.path]!
        guard !record.isDead else { return }
        if let since = flow.watch.waitingSince {
            if configuration.isAcceptor, isReplaced(flow, since) { return endReplaced(index, since, at: now) }
            let due = doubtful(flow, at: now) ?? now
            if now >= due {
                suspect(flow.path, .noAcknowledgement, at: now)
                if !asks { judgeUnasked(index, at: now) }
            } else {
                wakeUps.append(due)
            }
        } else if let due = flow.silenceDue, asks {
            if now >= due {
                // The question that is under way decides first.
                guard record.question == nil else { return }
                flows[index].silenceAsks += 1
                // Told to nobody yet: a peer with nothing to say is no trouble.
                ask(flow.path, .trouble(.noAnswer), at: now)
            } else {
                wakeUps.append(due)
            }
        }
    }

    /// Whether the peer has made another subflow over the same path, or used it, since this one began to wait.
    private func isReplaced(_ flow: Flow, _ since: MonotonicTime) -> Bool {
        flows.contains { other in
            other.path == flow.path && other.number != flow.number
                && (other.established ?? .zero > since || other.watch.progressAt ?? .zero > since)
        }
    }

    /// The path works, so this says nothing against it; the subflow is forgotten somewhere, unless it recovers soon.
    private mutating func endReplaced(_ index: Int, _ since: MonotonicTime, at now: MonotonicTime) {
        let due = since.advanced(by: max(flows[index].watch.answerTime * 3, .seconds(1)))
        guard now >= due else { return wakeUps.append(due) }
        destroy(flows[index])
        flows.remove(at: index)
    }

    /// Where no questions can be asked long silence is proof, if another subflow lives.
    private mutating func judgeUnasked(_ index: Int, at now: MonotonicTime) {
        let flow = flows[index]
        guard let since = flow.watch.waitingSince else { return }
        let limit = max(flow.watch.answerTime * 3, flow.watch.answerTime + .milliseconds(50))
        let due = since.advanced(by: limit * records[flow.path]!.patience(at: now))
        let hasOther = flows.contains {
            $0.path != flow.path && $0.isEstablished && !(records[$0.path]?.isDead ?? true)
        }
        if now < due {
            wakeUps.append(due)
        } else if hasOther {
            die(flow.path, .noAcknowledgement, at: now)
        }
    }

    private mutating func suspect(_ name: String, _ trouble: PathTrouble, at now: MonotonicTime) {
        switch records[name]!.standing {
        case .good:
            records[name]!.standing = .suspect(trouble)
            tell(.suspected(name, trouble))
        case .onTrial:
            // It begins anew. To end the subflow for a mere suspicion would cost more than it does where it stands by.
            records[name]!.standing = .onTrial(until: now.advanced(by: records[name]!.trial))
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

    mutating func ask(_ name: String, _ cause: PathMemory.Question.Cause, at now: MonotonicTime) {
        guard asks, isReady, var record = records[name], !record.isDead, dataFlow(name) != nil
        else { return }
        if let question = record.question {
            guard question.cause == .measurement, cause != .measurement else { return }
            // What was sent to measure counts as the first question.
            record.question?.cause = cause
            record.question?.needed = record.loss.questions
        } else {
            record.question = PathMemory.Question(
                cause: cause, needed: cause == .measurement ? 1 : record.loss.questions)
        }
        records[name] = record
        pursue(name, at: now)
    }

    /// Asks what is still to be asked, and draws the conclusion.
    private mutating func pursue(_ name: String, at now: MonotonicTime) {
        guard let question = records[name]?.question, let data = dataFlow(name) else {
            records[name]?.question = nil
            return
        }
        let answerTime = expectedAnswer(name, data, question, at: now)
        let spacing = max(answerTime / 4, .milliseconds(5))
        let wait = answerTime + answerTime / 4
        if question.count < question.needed {
            let due = question.count == 0 ? now : question.latest.advanced(by: spacing)
            guard now >= due else { return wakeUps.append(due) }
            send(name, data, at: now)
            if question.count == 0 { records[name]!.question!.first = now }
            records[name]!.question!.count += 1
            records[name]!.question!.latest = now
            wakeUps.append(now.advanced(by: question.count + 1 < question.needed ? spacing : wait))
            return
        }
        let due = question.latest.advanced(by: wait)
        guard now >= due else { return wakeUps.append(due) }
        // What came in at the last moment counts.
        if let news = flows[data].watch.newsAt, news >= question.latest {
            records[name]!.question = nil
            return
        }
        records[name]!.loss.asked(false)
        switch question.cause {
        case .measurement:
            records[name]!.question!.cause = .trouble(.noAnswer)
            records[name]!.question!.needed = max(records[name]!.loss.questions, 2)
            records[name]!.noteLatency(max(records[name]!.latency ?? wait, wait), at: nil)
            wakeUps.append(now)
        case .trouble(let trouble):
            actions.append(
                .share(
                    PathVerdict(
                        path: name, interface: flows[data].interface, remote: flows[data].remote.address,
                        trouble: trouble, since: question.first)))
            die(name, trouble, at: now)
        }
    }

    /// How long a handshake over the path takes at most.
    private func expectedAnswer(
        _ name: String, _ data: Int, _ question: PathMemory.Question, at now: MonotonicTime
    ) -> Duration {
        let latency = records[name]?.latency ?? .zero
        // Where nothing has come in for a while no queue is full: the answer takes the path's shortest time. (What
        // the kernel measured is of little use: a receiver sends too seldom.)
        let watch = flows[data].watch
        if question.cause == .trouble(.noAnswer), let least = watch.latest?.minimumRTT,
            let heard = watch.heardAt,
            heard.duration(to: question.count == 0 ? now : question.latest) >= .milliseconds(20)
        {
            return least * 6 / 5 + .milliseconds(5)
        }
        return max(
            flows[data].watch.latest == nil ? .milliseconds(100) : flows[data].watch.answerTime, latency)
    }

    /// A join over the path, which stands by so that no data takes it.
    private mutating func send(_ name: String, _ data: Int, at now: MonotonicTime) {
        // In a bulk transfer those before are still there, and there is not room for any number.
        let answered = flows.filter { $0.path == name && $0.lingersUntil != nil }
        if answered.count >= 2 {
            destroy(answered[0])
            flows.removeAll { $0.number == answered[0].number }
        }
        create(
            on: name, flows[dataFlow(name) ?? data].interface, flows[dataFlow(name) ?? data].address,
            flows[dataFlow(name) ?? data].remote, .question, isBackup: true, at: now)
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
    mutating func judgeByRumour(at now: MonotonicTime) {
        for verdict in rumours {
            guard let data = dataFlow(verdict.path), flows[data].isEstablished,
                flows[data].interface == verdict.interface, let latest = flows[data].watch.latest,
                records[verdict.path]?.isDead == false
            else { continue }
            let silence = min(latest.sinceAcknowledgement, latest.sinceDataReceived)
            guard now.advanced(by: .zero - silence) < verdict.since else { continue }
            if flows[data].remote.address == verdict.remote {
                die(verdict.path, verdict.trouble, at: now)
            } else if flows[data].watch.waitingSince != nil {
                ask(verdict.path, .trouble(verdict.trouble), at: now)
            }
        }
        rumours = []
    }
}
