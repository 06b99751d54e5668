import PathCore

/// A connection in a world where paths come, go, get slow, lossy, silent, forgetful, expensive; made from a
/// seed alone.
struct RandomWorld: CustomStringConvertible {
    /// When its users fall silent.
    static let activeTime = Duration.seconds(12)

    let seed: UInt64
    var configuration: SteeringConfiguration
    var steersServer = false
    var paths: [SimulatedPath] = []
    var first = 0
    var traffic = SimulatedTraffic([])
    var changes: [(time: Duration, change: SimulatedChange)] = []
    var options = Simulation.Options()

    private var random: SimulatedRandom

    /// - Parameters:
    ///   - tellsExpectation: whether the client's user says what it awaits; as the seed has it unless given.
    ///   - othersHear: whether other connections hear the server all the time, whatever happens to this one.
    init(seed: UInt64, tellsExpectation: Bool? = nil, othersHear: Bool = false) {
        self.seed = seed
        random = SimulatedRandom(seed: seed)
        configuration = SteeringConfiguration(mode: .handover)
        configuration.mode = pick(MultipathMode.allCases)
        configuration.hasHints = !oneIn(5)
        configuration.pathLossTimeout = oneIn(6) ? .seconds(Int(draw(4)) + 1) : .seconds(60)
        steersServer = oneIn(2)
        makePaths()
        makePolicy()
        makeTraffic()
        makeChanges()
        options.othersHearUntil = othersHear ? MonotonicTime(nanoseconds: .max) : nil
        options.seed = draw(.max)
        options.delaysAcknowledgements = oneIn(3)
        options.timerLag = oneIn(3) ? .milliseconds(Int(draw(4)) + 1) : .zero
        options.losesEvents = oneIn(8) ? draw(5) + 1 : 0
        // Bulk transfers are steered with more care than what is small.
        options.chunkSize = seed.isMultiple(of: 2) ? 10_000 : 1000
        options.monitorDelay = .milliseconds(Int(draw(20)))
        // What came later draws from numbers of its own: the rest of each world stays as it was.
        random = SimulatedRandom(seed: ~seed)
        if oneIn(2) { makeBursts() }
        if oneIn(3) { makeBottlenecks() }
        if oneIn(4) { for place in paths.indices { paths[place].reordering = pick([0, 0.01, 0.1, 0.5]) } }
        if oneIn(4) { makeHostile() }
        if oneIn(6) { makeFreezes() }
        options.tellsExpectation = tellsExpectation ?? oneIn(3)
    }

    /// Whether everything works again in the end, and the user says when data moves: then the machine comes to rest.
    var endsWell: Bool {
        // (What a server says where it can be reached breaks nothing.)
        let heals = changes.last { !$0.change.isWord }?.change.isHealing ?? false
        return heals && configuration.hasHints && !options.deniesFirst
            && paths.allSatisfy { $0.joins == .accepted }
    }

    func begin() -> Simulation {
        let simulation = Simulation(
            paths: paths, first: first, traffic: traffic, changes: changes, options: options)
        if steersServer { simulation.steer(.server, SteeringConfiguration(mode: configuration.mode)) }
        simulation.steer(.client, configuration)
        return simulation
    }

    // MARK: Drawing

    private mutating func draw(_ limit: UInt64) -> UInt64 { random.next() % limit }
    private mutating func oneIn(_ times: UInt64) -> Bool { draw(times) == 0 }
    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(draw(UInt64(values.count)))] }
    private mutating func time(_ range: Range<UInt64>) -> Duration {
        .milliseconds(Int64(range.lowerBound + draw(range.upperBound - range.lowerBound)))
    }

    private mutating func roundTrip() -> Duration { .milliseconds(pick([5, 15, 20, 30, 40, 60, 100, 180])) }

    private mutating func makePaths() {
        var kinds = [0, 1, 2, 3]
        for _ in 0..<pick([1, 2, 2, 2, 3, 3]) {
            let kind = kinds.remove(at: Int(draw(UInt64(kinds.count))))
            var path: SimulatedPath =
                switch kind {
                case 0: .wifi(roundTrip())
                case 1: .cellular(roundTrip())
                case 2: .wired(roundTrip())
                default:
                    SimulatedPath(
                        "wlan1", .wifi, index: 6, address: IPAddress(ipv4: 0xC633_6482),
                        roundTrip: roundTrip(), metric: 650)
                }
            if oneIn(3) { path.isExpensive.toggle() }
            if oneIn(8) { path.isConstrained = true }
            if oneIn(4) { path.jitter = pick([0.1, 0.3, 1]) }
            if oneIn(5) { path.loss = pick([0.005, 0.01, 0.03, 0.1]) }
            if oneIn(12) { path.joins = pick([.closedAtOnce, .refused]) }
            paths.append(path)
        }
        first = Int(draw(UInt64(paths.count)))
        for place in paths.indices where place != first && oneIn(4) {
            paths[place].exists = false
            changes.append((time(0..<6000), .plugged(place, true)))
        }
    }

    /// Of rules that forbid the path over which the connection came about nothing is kept.
    private mutating func makePolicy() {
        var policy = PathPolicy()
        if oneIn(5) { policy.allowsExpensivePaths = false }
        if oneIn(6) { policy.allowsConstrainedPaths = false }
        if oneIn(10) { policy.prohibitedInterfaceTypes = [pick([.wifi, .cellular, .wired])] }
        if oneIn(10) { policy.prohibitedInterfaces = [pick(["wlan0", "wlan1", "wwan0", "eth0"])] }
        if oneIn(20) { policy.requiredInterface = paths[first].name }
        if oneIn(6) { policy.preferredInterface = pick(paths.map(\.name)) }
        if policy.refusal(of: paths[first].interface) == nil { configuration.policy = policy }
    }

    private mutating func makeTraffic() {
        var start = Duration.zero
        while start < Self.activeTime {
            let pattern: SimulatedTraffic.Pattern =
                switch draw(10) {
                case 0: .idle
                case 1, 2: .upload(every: .milliseconds(pick([15, 30, 70, 200])))
                case 3, 4: .download(every: .milliseconds(pick([15, 30, 50, 70])))
                case 5: .both(every: .milliseconds(pick([25, 60])))
                default:
                    .requests(
                        answers: pick([1, 1, 1, 3, 10]), pause: .milliseconds(pick([1, 20, 50, 150, 600])))
                }
            traffic.phases.append((start, pattern))
            start += time(1000..<9000)
        }
        traffic.phases.append((Self.activeTime, .idle))
    }

    private mutating func makeChanges() {
        for _ in 0..<draw(7) {
            let start = time(50..<9000)
            let path = Int(draw(UInt64(paths.count)))
            let (change, undo) = change(path)
            changes.append((start, change))
            if let undo, !oneIn(4) { changes.append((start + time(20..<3000), undo)) }
        }
        if !oneIn(3) { changes.append((time(7000..<10_000), .heal)) }
        changes.sort { $0.time < $1.time }
    }

    // MARK: What came later

    /// Senders that send as BBR does.
    private mutating func makeBursts() {
        for place in traffic.phases.indices {
            let end: SimulatedEnd
            switch traffic.phases[place].pattern {
            case .upload, .both: end = .client
            case .download: end = .server
            case .idle, .requests, .bursts: continue
            }
            traffic.phases[place].pattern = .bursts(
                from: end, of: pick([4, 8, 16, 32]), pause: time(300..<5000))
        }
    }

    private mutating func makeBottlenecks() {
        for place in paths.indices where !oneIn(4) {
            paths[place].chunkTime = pick([100_000, 500_000, 2_000_000])
            // Shallow: some chunks. Deep: up to some tenths of a second.
            let chunks = oneIn(2) ? pick([3, 6, 12]) : 1000
            paths[place].queue = min(
                Int64(chunks) * paths[place].chunkTime, pick([50, 100, 300]) * 1_000_000)
        }
    }

    /// A server that says where else it can be reached, truly or not, and takes that back.
    private mutating func makeHostile() {
        options.server = IPEndpoint(IPAddress(ipv4: 0x5DB8_D822), port: 443)
        options.otherServers = [IPEndpoint(IPAddress(ipv4: 0x5DB8_D823), port: 443)]
        options.deniesFirst = oneIn(4)
        let own = paths[first].address
        // Its own, one that no host has, and what is none of its business.
        let addresses =
            [0x5DB8_D823, 0x5DB8_D8FE, 0x7F00_0001, 0xE000_0001, 0, 0xC0A8_0101, 0xA9FE_0101, 0xFFFF_FFFF]
            .map { IPAddress(ipv4: $0) } + [
                own, IPAddress(ipv6: 0x2600_1406 << 32, 1), IPAddress(ipv6: 0, 1),
            ]
        var removals = 0
        for _ in 0..<draw(20) {
            let id = UInt8(oneIn(3) ? draw(256) : draw(4))
            let start = time(0..<10_000)
            switch draw(8) {
            case 0: changes.append((start, .flood(Int(draw(400)))))
            case 1, 2:
                // Of what carries, twice at most: each time the pause before the next subflow grows.
                removals += id == 0 ? 1 : 0
                if id != 0 || removals <= 2 { changes.append((start, .remove(id))) }
            default: changes.append((start, .announce(id, IPEndpoint(pick(addresses), port: 443))))
            }
        }
        changes.sort { $0.time < $1.time }
    }

    private mutating func makeFreezes() {
        for _ in 0...draw(3) {
            let start = Int64(time(100..<11_000).wholeNanoseconds)
            options.freezes.append(start..<start + time(20..<600).wholeNanoseconds)
        }
    }

    private mutating func change(_ path: Int) -> (SimulatedChange, undo: SimulatedChange?) {
        let works = SimulatedChange.open(path, upwards: true, downwards: true)
        switch draw(20) {
        case 0...3: return (.open(path, upwards: false, downwards: false), works)
        case 4: return (.open(path, upwards: true, downwards: false), works)
        case 5: return (.open(path, upwards: false, downwards: true), works)
        case 6: return (.forget(path), nil)
        case 7: return (.carrier(path, false), .carrier(path, true))
        case 8: return (.up(path, false), .up(path, true))
        case 9: return (.plugged(path, false), .plugged(path, true))
        case 10: return (.renumber(path), nil)
        case 11: return (.address(path, false), .address(path, true))
        case 12: return (.route(path, false), .route(path, true))
        case 13, 14:
            let usual = Duration.nanoseconds(paths[path].roundTrip)
            return (.roundTrip(path, usual * Int(draw(20) + 1)), .roundTrip(path, usual))
        case 15: return (.loss(path, pick([0.02, 0.1, 0.3, 0.6])), .loss(path, 0))
        case 16:
            return (.expensive(path, !paths[path].isExpensive), .expensive(path, paths[path].isExpensive))
        case 17: return (.constrained(path, true), .constrained(path, false))
        case 18: return (.joins(path, pick([.closedAtOnce, .refused])), .joins(path, .accepted))
        default: return (.sleep(forgets: oneIn(2)), nil)
        }
    }

    var description: String {
        var lines = [
            "seed \(seed): \(configuration.mode), first \(paths[first].name)"
                + (configuration.hasHints ? "" : ", no hints") + (steersServer ? ", server steers too" : "")
                + (options.tellsExpectation ? ", tells what it awaits" : "")
                + (options.delaysAcknowledgements ? ", delayed acks" : "")
                + (options.losesEvents > 0 ? ", loses events" : "")
                + (options.deniesFirst ? ", denies its first address" : "")
                + ", timer lag \(options.timerLag), patience \(configuration.pathLossTimeout)",
            "  \(configuration.policy)",
        ]
        for path in paths {
            lines.append(
                "  \(path.name) \(path.roundTrip / 1_000_000) ms, loss \(path.loss), jitter \(path.jitter)"
                    + (path.isExpensive ? ", expensive" : "") + (path.isConstrained ? ", constrained" : "")
                    + (path.exists ? "" : ", not there") + ", joins \(path.joins)"
                    + (path.chunkTime > 0
                        ? ", chunk \(path.chunkTime / 1000) us, queue \(path.queue / 1000) us" : "")
                    + (path.reordering > 0 ? ", reordering \(path.reordering)" : ""))
        }
        for phase in traffic.phases { lines.append("  \(phase.start) \(phase.pattern)") }
        for change in changes { lines.append("  \(change.time) \(change.change)") }
        for freeze in options.freezes { lines.append("  \(freeze) ns: nothing runs") }
        return lines.joined(separator: "\n")
    }
}
