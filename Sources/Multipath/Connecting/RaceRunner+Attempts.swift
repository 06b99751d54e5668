import LinuxNet

// The attempts: their sockets, and what confirms them.

extension RaceRunner {
    private func attemptIsReady(_ id: RaceMachine.AttemptID) {
        guard let attempt = running[id]?.attempt else { return }
        let (now, error) = (MonotonicTime.now, attempt.with { $0.consumeError() } ?? nil)
        // A refusal is an answer too.
        if error?.isRefusal ?? true {
            suspicions.alive(machine.attempts[id].candidate.interface, since: now)
        }
        if let error {
            end(id)
            perform(machine.failed(id, reason: error.words, at: now))
        } else {
            perform(machine.connected(id, at: now))
        }
    }

    func confirm(_ id: RaceMachine.AttemptID) {
        guard let confirmation, let attempt = running[id]?.attempt else { return }
        attempt.unregister(from: thread)
        let candidate = machine.attempts[id].candidate
        let facts = facts(of: attempt, candidate)
        // Here, on the event thread: a race that ends meanwhile finds nothing to close.
        guard let socket = attempt.take() else { return }
        let entrant = RaceAttempt(socket, attempt.level)
        let task = Task {
            do {
                let value = try await confirmation.run(entrant, facts)
                confirmed(id, value)
            } catch {
                running[id]?.confirmation = nil
                end(id)
                unconfirmed(id, error)
            }
        }
        running[id]?.confirmation = task
        jobs?.continuation.yield {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func confirmed(_ id: RaceMachine.AttemptID, _ value: any Sendable) {
        running[id]?.confirmation = nil
        guard machine.attempts[id].outcome == .pending else {
            confirmation?.discard(value)
            return
        }
        running[id]?.value = value
        perform(machine.confirmed(id, at: .now))
    }

    private func unconfirmed(_ id: RaceMachine.AttemptID, _ error: any Error) {
        let reason = "\(error)"
        let isRefuted = machine.attempts[id].outcome == .pending && error.refutesPeer
        if isRefuted { names.refute(machine.attempts[id].candidate, reason) }
        let level = names.level
        perform(machine.failed(id, reason: reason, isRefuted: isRefuted, at: .now))
        // At once, beside the next address: what one answer of a resolver is worth, the others may be as well.
        if isRefuted, !isOver, names.level == level, mayAskNext { askNextResolver() }
    }

    func start(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        // Numbered in the order in which they start.
        running.append(nil)
        do throws(SystemError) {
            let attempt = try attempt(for: candidate)
            running[id] = Running(attempt: attempt)
            guard attempt.level != .perConnectionByBroker else { return prepare(id, candidate) }
        } catch {
            return startFailed(id, candidate, error)
        }
        connect(id, candidate)
    }

    /// Has `mpathd` prepare the attempt's socket before that is connected: some tens of microseconds, as a rule.
    private func prepare(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        guard let number = running[id]?.attempt.with({ $0.descriptor.number }) else { return }
        runtime.steering.prepare(number) { preparation in
            self.onEventThread { $0.prepared(id, candidate, preparation) }
        }
    }

    private func prepared(
        _ id: RaceMachine.AttemptID, _ candidate: Candidate, _ preparation: BrokeredSteering.Preparation
    ) {
        // It may have lost meanwhile.
        guard let attempt = running[id]?.attempt else { return }
        do throws(SystemError) {
            switch preparation {
            case .done: break
            case .refused(let limit): attempt.set(.observeOnly(because: limit))
            case .unanswered:
                // The daemon may disconnect the one it was given at any moment.
                let family = attempt.isMapped ? .ipv6 : candidate.endpoint.address.family
                attempt.replaceSocket(
                    try StreamSocket(family, .mptcp), .observeOnly(because: .brokerSilent))
            }
        } catch {
            return startFailed(id, candidate, error)
        }
        connect(id, candidate)
    }

    private func connect(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        guard let attempt = running[id]?.attempt else { return }
        do throws(SystemError) {
            attempt.mark(configuration.trafficClass, candidate)
            let (number, isConnected) = try attempt.connect(to: candidate)
            if isConnected {
                // Not from inside the machine's own list of actions.
                submit { $0.attemptIsReady(id) }
                return
            }
            attempt.registration = try thread.add(number, for: .writable) { _ in
                self.onEventThread { $0.attemptIsReady(id) }
            }
        } catch {
            startFailed(id, candidate, error)
        }
    }

    private func startFailed(_ id: RaceMachine.AttemptID, _ candidate: Candidate, _ error: SystemError) {
        end(id)
        if candidate.transport == .mptcp, error.meansNoMPTCP { kernelSpeaksMPTCP = false }
        let reason = error.words
        submit { $0.perform($0.machine.failed(id, reason: reason, at: .now)) }
    }

    private func attempt(for candidate: Candidate) throws(SystemError) -> RaceAttempt {
        let family = candidate.endpoint.address.family
        guard candidate.transport == .mptcp else {
            return RaceAttempt(
                try StreamSocket(family, candidate.transport), .observeOnly(because: .plainTCP))
        }
        let isMapped = family == .ipv4 && planner.mayNeedBothFamilies
        let steering = runtime.steering
        if isMapped, let steered = try? steering.makeSocket(.ipv6) {
            let level = steered.level
            return RaceAttempt(steered.releaseSocket(), level, isMapped: true)
        }
        let steered = try steering.makeSocket(family)
        let level = steered.level
        return RaceAttempt(steered.releaseSocket(), level)
    }

    /// Closes an attempt's socket, or what its confirmation has made of it.
    func end(_ id: RaceMachine.AttemptID) {
        guard let ended = running[id] else { return }
        running[id] = nil
        ended.confirmation?.cancel()
        ended.attempt.unregister(from: thread)
        _ = ended.attempt.take()
    }

    /// What is known of a connected attempt.
    func facts(of attempt: RaceAttempt, _ candidate: Candidate) -> PendingConnection.Facts {
        let (transport, sample) = outcome(of: attempt, candidate)
        return PendingConnection.Facts(
            candidate, transport, attempt.level, sample, planner.found, request, marking: attempt.marking)
    }

    private func outcome(
        of attempt: RaceAttempt, _ candidate: Candidate
    ) -> (transport: Transport, sample: TransportSample?) {
        if let known = attempt.outcome { return known }
        let sample = attempt.with { TransportSample.read($0.descriptor.number) } ?? nil
        let transport: Transport =
            if case .mptcp? = sample?.kind { .mptcp } else { .tcp(fallback: fallbackReason(of: candidate)) }
        if case .mptcp(let token)? = sample?.kind, attempt.level == .perConnectionByBroker,
            let number = attempt.with({ $0.descriptor.number })
        {
            runtime.steering.attach(ConnectionToken(token), by: number)
        }
        if candidate.transport == .mptcp, !transport.isMPTCP { attempt.markAfterFallback(candidate) }
        // Looked at once: a confirmation takes the socket away.
        attempt.outcome = (transport, sample)
        return (transport, sample)
    }

    private func fallbackReason(of winner: Candidate) -> FallbackReason {
        if winner.transport == .mptcp {
            return StreamSocket.kernelWithholdsMPTCP ? .blackholeMemory : .peer
        }
        if !configuration.wantsMPTCP { return .disabled }
        // A plain attempt takes part only beside its MPTCP twin, unless the kernel has none.
        return kernelSpeaksMPTCP ? .middlebox : .kernel
    }
}
