import LinuxNet

/// Runs the `HeartbeatSchedule` of a process: looks at the connections whose turn it is, has them asked, and keeps what is
/// learnt of networks. One alarm wakes it for all of them.
package final class HeartbeatHub: @unchecked Sendable {
    package static let process = HeartbeatHub(EventThreadClock(.shared))

    let clock: any HeartbeatClock
    // Where the clock's closures run.
    private var schedule: HeartbeatSchedule
    private var heartbeats: [HeartbeatSchedule.ID: WeakHeartbeat] = [:]
    private var nextID: HeartbeatSchedule.ID = 1
    private var networks: [HeartbeatSchedule.ID: HeartbeatNetwork] = [:]
    /// Where what is learnt of a network is kept.
    private var stores: [HeartbeatNetwork: HeartbeatStore] = [:]
    private var memory: HeartbeatMemory?
    private var isWatchingSleep = false
    private var isSettling = false
    private var slept: SuspendDetector?
    /// How often pings were sent, many at once counted as one.
    private let wakeUps = Locked(0)

    private struct WeakHeartbeat {
        weak var object: Heartbeat?
    }

    /// One of its own for other times.
    package static func onEventThread(tuning: HeartbeatTuning) -> HeartbeatHub {
        HeartbeatHub(EventThreadClock(.shared), tuning: tuning)
    }

    package init(_ clock: any HeartbeatClock, tuning: HeartbeatTuning = .standard) {
        self.clock = clock
        schedule = HeartbeatSchedule(tuning: tuning)
    }

    /// How often pings were sent, many at once counted as one.
    package var wakeUpCount: Int { wakeUps.withLock { $0 } }

    /// What is known of a network.
    package func search(of network: HeartbeatNetwork) async -> SilenceSearch? {
        await withCheckedContinuation { continuation in
            clock.submit { [self] in continuation.resume(returning: schedule.search(of: network)) }
        }
    }

    // MARK: From any thread

    func add(_ heartbeat: Heartbeat) {
        clock.submit { [self, weak heartbeat] in
            let id = nextID
            guard let heartbeat, heartbeat.begin(id) else { return }
            nextID += 1
            watchSleep()
            heartbeats[id] = WeakHeartbeat(object: heartbeat)
            let network = heartbeat.subject.heartbeatNetwork ?? Self.unknown
            networks[id] = network
            schedule.add(
                id, in: network, roundTrip: heartbeat.subject.heartbeatRoundTrip,
                remembered: remembered(network, heartbeat.subject.heartbeatStore), at: clock.now)
            heartbeat.note(interval: schedule.interval(of: id))
            settle()
        }
    }

    func answered(_ heartbeat: Heartbeat) {
        clock.submit { [self, weak heartbeat] in
            guard let heartbeat, let id = heartbeat.id, heartbeats[id] != nil else { return }
            let now = clock.now
            if let pinged = heartbeat.pinged { heartbeat.tell(.answered(after: pinged.duration(to: now))) }
            perform(schedule.answered(id, over: heartbeat.subject.heartbeatNetwork, at: now), at: now)
            // After the answer, so that it isn't asked once more.
            noteNetwork(of: id, heartbeat, at: now)
            heartbeat.note(interval: schedule.interval(of: id))
            settle()
        }
    }

    func connectionEnded(_ id: HeartbeatSchedule.ID, byReset: Bool, after silence: Duration?) {
        clock.submit { [self] in
            perform(schedule.ended(id, byReset: byReset, after: silence), at: clock.now)
            forget(id)
            settle()
        }
    }

    func remove(_ id: HeartbeatSchedule.ID) {
        clock.submit { [self] in
            forget(id)
            settle()
        }
    }

    // MARK: Where the clock's closures run

    /// Of a connection whose interface is not known.
    private static let unknown = HeartbeatNetwork(family: .ipv4, type: .other, name: "unknown")

    private func forget(_ id: HeartbeatSchedule.ID) {
        schedule.remove(id)
        (heartbeats[id], networks[id]) = (nil, nil)
    }

    private func timeReached() {
        if hasSlept() { schedule.woke() }
        look()
    }

    private func watchSleep() {
        guard !isWatchingSleep else { return }
        isWatchingSleep = true
        clock.watchSleep { [weak self] in
            guard let self else { return }
            // Its next alarm is not to take it for another sleep.
            _ = hasSlept()
            woke()
        }
    }

    /// The machine has slept.
    private func woke() {
        schedule.woke()
        look()
    }

    private func look() {
        let now = clock.now
        for id in schedule.due(at: now) {
            guard let heartbeat = heartbeats[id]?.object else {
                forget(id)
                continue
            }
            guard let silence = heartbeat.subject.heartbeatSilence() else {
                perform(schedule.ended(id, byReset: true), at: now)
                forget(id)
                continue
            }
            noteNetwork(of: id, heartbeat, at: now)
            schedule.heard(
                id, received: now.advanced(by: .zero - silence.received),
                arrived: now.advanced(by: .zero - silence.arrived),
                sent: now.advanced(by: .zero - silence.sent))
        }
        let actions = schedule.timeReached(now)
        if actions.contains(where: \.isPing) { wakeUps.withLock { $0 += 1 } }
        perform(actions, at: now)
        settle()
    }

    private func noteNetwork(of id: HeartbeatSchedule.ID, _ heartbeat: Heartbeat, at now: MonotonicTime) {
        guard let network = heartbeat.subject.heartbeatNetwork, network != networks[id] else { return }
        networks[id] = network
        let known = remembered(network, heartbeat.subject.heartbeatStore)
        perform(schedule.moved(id, to: network, remembered: known, at: now), at: now)
    }

    private func perform(_ actions: [HeartbeatSchedule.Action], at now: MonotonicTime) {
        for action in actions {
            switch action {
            case .ping(let id, let isRepeated):
                guard let heartbeat = heartbeats[id]?.object else { continue }
                if isRepeated { heartbeat.tell(.unanswered) }
                heartbeat.ping(at: now)
            case .dead(let id, let silence):
                let heartbeat = heartbeats[id]?.object
                forget(id)
                heartbeat?.died(after: silence)
            case .learnt(let network): store(network)
            }
        }
    }

    /// Sets the alarm when what is under way is over: many answers come at once.
    private func settle() {
        guard !isSettling else { return }
        isSettling = true
        clock.submit { [self] in
            isSettling = false
            clock.setAlarm(at: schedule.nextDeadline) { [weak self] in self?.timeReached() }
        }
    }

    /// Whether the machine has slept since the last look: its clock stood still, and the networks' did not.
    private func hasSlept() -> Bool {
        guard clock is EventThreadClock else { return false }
        let reading = SuspendDetector.Reading.now
        guard slept != nil else {
            slept = SuspendDetector(reading)
            return false
        }
        return slept?.resumed(reading) ?? false
    }

    // MARK: Memory

    /// What an earlier process proved of a network: nil until the file is read.
    private func remembered(_ network: HeartbeatNetwork, _ store: HeartbeatStore?) -> RememberedSilence? {
        guard let store else { return nil }
        stores[network] = store
        if memory == nil {
            memory = HeartbeatMemory()
            store.read { [self] memory in
                clock.submit { [self] in
                    self.memory = memory
                    for network in Set(networks.values) {
                        if let entry = memory[network] {
                            schedule.remember(entry.silence, of: network)
                        }
                    }
                }
            }
        }
        return memory?[network]?.silence
    }

    private func store(_ network: HeartbeatNetwork) {
        guard let search = schedule.search(of: network) else { return }
        stores[network]?.note(search, of: network)
    }
}

extension HeartbeatSchedule.Action {
    fileprivate var isPing: Bool {
        if case .ping = self { true } else { false }
    }
}
