// What other connections of the process know of a path: they share verdicts, and while one of them probes a path it is told when
// others hear the peer. One connection's probes are few, and may be lost, or late behind another's data.

extension SteeringMachine {
    // MARK: Verdicts

    /// Another connection has found a path dead. It takes a sample to know what that means for this one.
    package mutating func sharedVerdict(_ verdict: PathVerdict, at now: MonotonicTime) {
        guard takesInput, subflow(meantBy: verdict) != nil else { return }
        sharedVerdicts.append(verdict)
        agenda.endGlances()
        agenda.schedule(sampleAt: now)
    }

    /// The subflow that another connection's verdict is about.
    func subflow(meantBy verdict: PathVerdict) -> SubflowID? {
        reconciler.subflows.first { $0.role == .data && $0.route.interface == verdict.interface }
    }

    /// Judges a path by what another connection has found. Handshakes with the same peer went unanswered: that is
    /// proof for this one too, unless it has heard from there since. Another peer's silence is a reason to probe.
    mutating func judgeBySharedVerdicts(at now: MonotonicTime) {
        let verdicts = sharedVerdicts
        sharedVerdicts = []
        for verdict in verdicts {
            guard let id = subflow(meantBy: verdict) else { continue }
            let subflow = reconciler.subflows[id]
            guard subflow.isOpen, let latest = subflow.progress.latest, !paths[subflow.path].hasFailed
            else { continue }
            // It has just been told otherwise: its own probes decide.
            if let sign = paths[subflow.path].state.probing?.heardElsewhere, sign.at > verdict.since {
                continue
            }
            let silence = min(latest.sinceAcknowledgement, latest.sinceDataReceived)
            guard now.advanced(by: .zero - silence) < verdict.since else { continue }
            if subflow.remote.address == verdict.remote {
                guard verdictDue(at: now) == nil else {
                    sharedVerdicts.append(verdict)
                    agenda.schedule(sampleAt: now.advanced(by: max(pace, tuning.handoff.look)))
                    continue
                }
                weigh(.sharedVerdict(verdict.trouble), on: subflow.path, at: now)
            } else if subflow.progress.waitingSince != nil {
                probe(subflow.path, .trouble(verdict.trouble), at: now)
            }
        }
    }

    // MARK: Signs of life

    /// The paths that are suspected and probed, each with the way to the host at its end.
    package var probedPaths: [(path: PathKey, way: PathToHost)] {
        paths.keys.compactMap { path in
            guard paths[path].isProbedForTrouble, let data = reconciler.subflows.data(on: path)
            else { return nil }
            return (path, reconciler.subflows[data].way)
        }
    }

    /// Another connection has heard the host at a path's end over the same interface: the probe that is under way may be lost, or
    /// late behind that connection's data. It is no proof: data may come in while nothing gets out any more. To be said before
    /// a sample.
    package mutating func heardElsewhere(_ path: PathKey, _ sign: SignOfLife) {
        paths[path].heardElsewhere(sign)
    }

    /// What the latest sample has found to be new, by way.
    ///
    /// - Parameter now: the time of that sample.
    package func news(at now: MonotonicTime) -> [(way: PathToHost, sign: SignOfLife)] {
        reconciler.subflows.all.compactMap { subflow in
            guard subflow.isOpen, subflow.progress.progressAt == now, let time = subflow.progress.newsAt
            else { return nil }
            // A receiver's own round trips are old: it reckons newer ones from the data.
            let received = subflow.progress.latest?.receiverRTT ?? .zero
            let answerTime = min(
                max(subflow.progress.answerTime(tuning), received), tuning.longestAnswerForOthers)
            return (subflow.way, SignOfLife(at: time, answerTime: answerTime))
        }
    }
}
