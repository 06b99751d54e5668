import LinuxNet

/// A connection that an attempt brought, as far as the runner needs to know it.
package struct DialedConnection<Connection: Sendable, Output: Sendable>: Sendable {
    package var connection: Connection
    package var output: Output
    package var path: PathID
    /// Calls a closure with what the connection's follower tells.
    package var observe: @Sendable (@escaping @Sendable (ConnectionEvent) -> Void) -> Void
    /// Wakes the work that waits on the connection, which is closed soon after.
    package var interrupt: @Sendable () -> Void
    package var close: @Sendable () async -> Void

    package init(
        connection: Connection, output: Output, path: PathID,
        observe: @escaping @Sendable (@escaping @Sendable (ConnectionEvent) -> Void) -> Void,
        interrupt: @escaping @Sendable () -> Void, close: @escaping @Sendable () async -> Void
    ) {
        self.connection = connection
        self.output = output
        self.path = path
        self.observe = observe
        self.interrupt = interrupt
        self.close = close
    }
}

/// Performs a `ReconnectionMachine`'s actions. Everything runs in one task group: attempts, the user's work and
/// the wait for messages are its children, and none outlives `run`.
package struct ReconnectionRunner<Connection: Sendable, Output: Sendable, Progress: Sendable>: Sendable {
    package typealias Dialed = DialedConnection<Connection, Output>
    package typealias Body =
        @Sendable (ReconnectionSession<Connection, Output>, inout Progress) async throws -> ReconnectionStep
    package typealias Dial = @Sendable (ReconnectionMachine.Route) async throws -> Dialed

    fileprivate enum Message: Sendable {
        case watch(ReconnectionMachine.AttemptID, ConnectionEvent)
        case progress(ReconnectionMachine.AttemptID)
        case pathAppeared
        case time
    }

    /// What a child task ends with.
    fileprivate enum Input: Sendable {
        case dialed(ReconnectionMachine.AttemptID, Result<Dialed, any Error>)
        case user(Progress, Result<ReconnectionStep, any Error>)
        case messages([Message])
    }

    fileprivate let options: ReconnectionOptions
    fileprivate let monitor: PathMonitor
    fileprivate let body: Body
    fileprivate let dial: Dial

    package init(
        options: ReconnectionOptions, monitor: PathMonitor, body: @escaping Body, dial: @escaping Dial
    ) {
        self.options = options
        self.monitor = monitor
        self.body = body
        self.dial = dial
    }

    package func run(_ progress: Progress) async throws -> Progress {
        let mailbox = Mailbox<Message>()
        let alarm = Alarm(on: monitor.runtime.thread) { mailbox.post(.time) }
        let latest = Locked(monitor.latestPath)
        let observation = monitor.channel.observe { snapshot in
            let appeared = latest.withLock { latest in
                defer { latest = snapshot }
                return snapshot.interfaces.contains { latest?.path($0.index) == nil }
            }
            if appeared { mailbox.post(.pathAppeared) }
        }
        defer {
            monitor.channel.endObservation(observation)
            alarm.set(nil)
        }
        let result = await withTaskGroup(of: Input.self) { group in
            var loop = Loop(runner: self, mailbox: mailbox, alarm: alarm, progress: progress)
            return await loop.run(&group)
        }
        return try result.get()
    }

    /// The state between two inputs.
    private struct Loop {
        let runner: ReconnectionRunner
        let mailbox: Mailbox<Message>
        let alarm: Alarm
        var progress: Progress
        var machine: ReconnectionMachine
        var dialing: [ReconnectionMachine.AttemptID: OneShot] = [:]
        var dialed: [ReconnectionMachine.AttemptID: Dialed] = [:]
        var current: Current?
        var lastError: (any Error)?
        var result: Result<Progress, any Error>?

        struct Current {
            var id: ReconnectionMachine.AttemptID
            var dialed: Dialed
            let migration = OneShot()
            let stop = OneShot()
            let progressed = OneShot()
        }

        init(
            runner: ReconnectionRunner, mailbox: Mailbox<Message>, alarm: Alarm, progress: Progress
        ) {
            self.runner = runner
            self.mailbox = mailbox
            self.alarm = alarm
            self.progress = progress
            machine = ReconnectionMachine(configuration: runner.options.machine)
        }

        mutating func run(_ group: inout TaskGroup<Input>) async -> Result<Progress, any Error> {
            await perform(machine.begin(at: .now), &group)
            awaitMessages(&group)
            while result == nil, !Task.isCancelled, let input = await group.next() {
                // What a cancelled child brings is nothing to go on with.
                if Task.isCancelled { await discard(input) } else { await handle(input, &group) }
            }
            await end(&group)
            return result ?? .failure(CancellationError())
        }

        /// Cancels what still runs, waits for it, and closes every connection.
        private mutating func end(_ group: inout TaskGroup<Input>) async {
            group.cancelAll()
            current?.dialed.interrupt()
            for await input in group { await discard(input) }
            for dialed in dialed.values { await dialed.close() }
            await current?.dialed.close()
        }

        private mutating func discard(_ input: Input) async {
            switch input {
            case .dialed(_, .success(let late)): await late.close()
            // The work was done before it noticed that it should stop.
            case .user(let progress, .success(.finished)): result = result ?? .success(progress)
            case .dialed(_, .failure), .user, .messages: break
            }
        }

        private func awaitMessages(_ group: inout TaskGroup<Input>) {
            group.addTask { [mailbox] in .messages(await mailbox.next()) }
        }

        // MARK: Inputs

        private mutating func handle(_ input: Input, _ group: inout TaskGroup<Input>) async {
            switch input {
            case .dialed(let id, let outcome): await handle(id, outcome, &group)
            case .user(let progress, let outcome):
                self.progress = progress
                await handle(outcome, &group)
            case .messages(let messages):
                for message in messages { await handle(message, &group) }
                awaitMessages(&group)
            }
        }

        private mutating func handle(
            _ id: ReconnectionMachine.AttemptID, _ outcome: Result<Dialed, any Error>,
            _ group: inout TaskGroup<Input>
        ) async {
            let isWanted = dialing.removeValue(forKey: id)?.isFired == false
            switch outcome {
            case .success(let connection) where !isWanted: await connection.close()
            case .failure where !isWanted: break
            case .success(let connection):
                dialed[id] = connection
                await perform(machine.connected(id, over: connection.path, at: .now), &group)
            case .failure(let error):
                lastError = error
                let isWithoutPath = (error as? ConnectionError)?.code.isWithoutPath ?? false
                await perform(
                    machine.connectFailed(
                        id, reason: "\(error)", isWithoutPath: isWithoutPath, random: .random(in: 0..<1),
                        at: .now),
                    &group)
            }
        }

        private mutating func handle(
            _ outcome: Result<ReconnectionStep, any Error>, _ group: inout TaskGroup<Input>
        ) async {
            // Its message may still be under way.
            if current?.progressed.isFired == true { machine.progressed() }
            let isStopped = current?.stop.isFired == true
            // Over a path that carries nothing no farewell arrives, and none is waited for.
            if machine.isInTrouble, !isStopped { current?.dialed.interrupt() }
            await current?.dialed.close()
            current = nil
            let end: ReconnectionMachine.UserEnd
            switch outcome {
            case .success(.finished):
                result = .success(progress)
                return await perform(machine.userFinished(), &group)
            case .success(.reconnect): end = .reconnect
            case .success(.failed(let error)): end = .failed("\(error)")
            // Work that is cancelled, or finds the connection closed, may throw.
            case .failure where isStopped: end = .reconnect
            case .failure(let error) where machine.isInTrouble || runner.options.isBreak(error):
                end = .failed("\(error)")
            case .failure(let error):
                result = .failure(error)
                return await perform(machine.userFinished(), &group)
            }
            if case .success(.failed(let error)) = outcome { lastError = error }
            if case .failure(let error) = outcome { lastError = error }
            await perform(machine.userEnded(end, random: .random(in: 0..<1), at: .now), &group)
        }

        private mutating func handle(_ message: Message, _ group: inout TaskGroup<Input>) async {
            switch message {
            case .watch(let id, let event):
                guard id == current?.id else { return }
                switch event {
                case .viabilityChanged(let isViable, let trouble):
                    await perform(machine.viability(isViable ? nil : trouble, at: .now), &group)
                case .betterPathAvailable(let path): await perform(machine.betterPath(path, at: .now), &group)
                default: break
                }
            case .progress(let id): if id == current?.id { machine.progressed() }
            case .pathAppeared: await perform(machine.pathAppeared(at: .now), &group)
            case .time: await perform(machine.timeReached(.now), &group)
            }
        }

        // MARK: Actions

        private mutating func perform(
            _ actions: [ReconnectionMachine.Action], _ group: inout TaskGroup<Input>
        ) async {
            for action in actions {
                switch action {
                case .connect(let id, let route): connect(id, route, &group)
                case .abandon(let id):
                    dialing[id]?.fire()
                    await dialed.removeValue(forKey: id)?.close()
                case .askUserToLeave: current?.migration.fire()
                case .stopUser:
                    current?.migration.fire()
                    current?.stop.fire()
                    current?.dialed.interrupt()
                case .use(let id, let cause): await use(id, cause, &group)
                case .finish: break
                case .fail(let reason):
                    result = .failure(ReconnectionError(reason: reason, underlying: lastError))
                }
            }
            alarm.set(machine.nextDeadline)
        }

        private mutating func connect(
            _ id: ReconnectionMachine.AttemptID, _ route: ReconnectionMachine.Route,
            _ group: inout TaskGroup<Input>
        ) {
            let stop = OneShot()
            dialing[id] = stop
            let dial = runner.dial
            group.addTask {
                .dialed(
                    id,
                    await stoppable(by: stop) {
                        do { return .success(try await dial(route)) } catch { return .failure(error) }
                    })
            }
        }

        private mutating func use(
            _ id: ReconnectionMachine.AttemptID, _ cause: ReconnectionCause, _ group: inout TaskGroup<Input>
        ) async {
            guard let next = dialed.removeValue(forKey: id) else { return }
            await current?.dialed.close()
            let current = Current(id: id, dialed: next)
            self.current = current
            let (mailbox, body, progress) = (mailbox, runner.body, progress)
            next.observe { mailbox.post(.watch(id, $0)) }
            let session = ReconnectionSession(
                connection: next.connection, output: next.output, cause: cause, migration: current.migration,
                progressed: {
                    // The first report of a connection is all that counts, and work reports often.
                    guard !current.progressed.isFired else { return }
                    current.progressed.fire()
                    mailbox.post(.progress(id))
                })
            group.addTask {
                await stoppable(by: current.stop) {
                    var progress = progress
                    let outcome: Result<ReconnectionStep, any Error>
                    do { outcome = .success(try await body(session, &progress)) } catch {
                        outcome = .failure(error)
                    }
                    return .user(progress, outcome)
                }
            }
        }
    }
}
