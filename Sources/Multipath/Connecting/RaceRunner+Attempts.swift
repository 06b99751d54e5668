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
        attempt.unregister()
        let candidate = machine.attempts[id].candidate
        let transport = transport(of: attempt, candidate)
        // Here, on the event thread: a race that ends meanwhile finds nothing to close.
        guard let socket = attempt.take() else { return }
        let entrant = RaceAttempt(socket, attempt.level)
        let addresses = planner.found
        let task = Task {
            do {
                let value = try await confirmation.run(entrant, candidate, transport, addresses)
                confirmed(id, value)
            } catch {
                running[id]?.confirmation = nil
                end(id)
                perform(machine.failed(id, reason: "\(error)", at: .now))
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

    func start(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        // Numbered in the order in which they start.
        running.append(nil)
        do throws(SystemError) {
            let attempt = try attempt(for: candidate)
            running[id] = Running(attempt: attempt)
            let (number, isConnected) = try attempt.connect(to: candidate)
            if isConnected {
                // Not from inside the machine's own list of actions.
                EventThread.shared.submit { self.onEventThread { $0.attemptIsReady(id) } }
                return
            }
            attempt.registration = try EventThread.shared.add(number, for: .writable) { _ in
                self.onEventThread { $0.attemptIsReady(id) }
            }
        } catch {
            end(id)
            if candidate.transport == .mptcp, error.meansNoMPTCP { kernelSpeaksMPTCP = false }
            let reason = error.words
            EventThread.shared.submit {
                self.onEventThread { $0.perform($0.machine.failed(id, reason: reason, at: .now)) }
            }
        }
    }

    private func attempt(for candidate: Candidate) throws(SystemError) -> RaceAttempt {
        let family = candidate.endpoint.address.family
        guard candidate.transport == .mptcp, configuration.mode != .disabled else {
            return RaceAttempt(
                try StreamSocket(family, candidate.transport), .observeOnly(because: .plainTCP))
        }
        let isMapped = family == .ipv4 && planner.mayNeedBothFamilies
        return try SteeringRegistry.shared.onEventThread { $0.attempt(family, isMapped: isMapped) }.get()
    }

    /// Closes an attempt's socket, or what its confirmation has made of it.
    func end(_ id: RaceMachine.AttemptID) {
        guard let ended = running[id] else { return }
        running[id] = nil
        ended.confirmation?.cancel()
        ended.attempt.unregister()
        _ = ended.attempt.take()
    }

    func transport(of attempt: RaceAttempt, _ candidate: Candidate) -> Transport {
        if let known = attempt.transport { return known }
        let isMPTCP = attempt.with { TransportSample.isMPTCP($0.descriptor.number) } ?? false
        let transport: Transport = isMPTCP ? .mptcp : .tcp(fallback: fallbackReason(of: candidate))
        // Asked once: a confirmation takes the socket away.
        attempt.transport = transport
        return transport
    }

    private func fallbackReason(of winner: Candidate) -> FallbackReason {
        if winner.transport == .mptcp {
            return StreamSocket.kernelWithholdsMPTCP ? .blackholeMemory : .peer
        }
        if !configuration.usesMPTCP || configuration.mode == .disabled { return .disabled }
        // A plain attempt takes part only beside its MPTCP twin, unless the kernel has none.
        return kernelSpeaksMPTCP ? .middlebox : .kernel
    }
}
