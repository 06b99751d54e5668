import PathCore
import SteeringSimulation

/// A connection in a world without chance: paths that do exactly as they are told.
struct Story {
    var mode = MultipathMode.handover
    var policy = PathPolicy()
    var paths: [SimulatedPath] = [.wifi(), .cellular()]
    var traffic = SimulatedTraffic([(.zero, .requests(answers: 1, pause: .milliseconds(20)))])
    var changes: [(time: Duration, change: SimulatedChange)] = []
    var patience = Duration.seconds(60)
    var seed: UInt64 = 1
    var delaysAcknowledgements = false
    var chunkSize: UInt64 = 1000
    /// Whether the server is steered too.
    var steersServer = false
    var freezes: [ClosedRange<Duration>] = []
    /// Until when other connections hear the server, over every path; nil for none.
    var othersHearUntil: MonotonicTime?
    /// Chunks that wait for one before them, of which an end takes no more; nil for any number.
    var room: Int?

    /// Cellular costs nothing either.
    static var free: Story {
        var story = Story()
        story.paths[1].isExpensive = false
        return story
    }

    /// Wi-Fi falls silent after two seconds.
    static let silence: (time: Duration, change: SimulatedChange) = (
        .seconds(2), .open(0, upwards: false, downwards: false)
    )

    func begin() -> Simulation {
        var options = Simulation.Options()
        options.seed = seed
        options.delaysAcknowledgements = delaysAcknowledgements
        options.chunkSize = chunkSize
        options.room = room
        // With a small send buffer there are not so many.
        if room != nil { options.mostOutstanding = 4096 }
        options.othersHearUntil = othersHearUntil
        options.freezes = freezes.map { $0.lowerBound.wholeNanoseconds..<$0.upperBound.wholeNanoseconds }
        let world = Simulation(paths: paths, traffic: traffic, changes: changes, options: options)
        if steersServer { world.steer(.server, SteeringConfiguration(mode: mode)) }
        world.steer(.client, SteeringConfiguration(mode: mode, policy: policy, pathLossTimeout: patience))
        return world
    }

    func run(until end: Duration) -> Simulation {
        let world = begin()
        world.run(until: end)
        return world
    }
}

extension Simulation {
    /// What the client's machine wanted from a time on, one line each, without what is said of its first subflow.
    func lines(from start: Duration = .zero) -> [String] {
        steps.filter {
            $0.time >= start.wholeNanoseconds && $0.end == .client && $0.action != .firstSubflowEnded
        }.map(\.words)
    }

    /// What was told of, with the time in milliseconds.
    func events(from start: Duration = .zero) -> [(time: Double, event: SteeringEvent)] {
        steps.compactMap { step in
            guard case .tell(let event) = step.action, step.time >= start.wholeNanoseconds else { return nil }
            return (Double(step.time) / 1e6, event)
        }
    }

    func time(of event: SteeringEvent, from start: Duration = .zero) -> Double? {
        events(from: start).first { $0.event == event }?.time
    }

    var moves: Int {
        events().count { if case .moved = $0.event { true } else { false } }
    }

    var creations: Int {
        steps.count { if case .perform(.create) = $0.action { true } else { false } }
    }
}

extension Simulation.Step: CustomStringConvertible {
    /// The action alone, with paths by their interfaces' names.
    var words: String {
        func name(_ address: IPAddress) -> String {
            switch "\(address)" {
            case "198.51.100.2": "wlan0"
            case "203.0.113.2": "wwan0"
            case "192.0.2.2": "eth0"
            case "198.51.100.130": "wlan1"
            case let other: other
            }
        }
        // An interface that was plugged in again has an index that is 10 higher.
        func name(_ interface: InterfaceIndex) -> String {
            [2: "eth0", 3: "wlan0", 4: "wwan0", 5: "wlan1"][interface % 10] ?? "interface \(interface)"
        }
        let text =
            switch action {
            case .tell(let event): "\(event)"
            case .startProbe(_, let interface, _): "probe \(name(interface))"
            case .probeIdle: "probe what is idle"
            case .widenReceiveBuffer: "more room"
            case .firstSubflowEnded: "first subflow ended"
            case .preparedToEnd: "may end"
            case .share(let verdict): "share \(name(verdict.interface))"
            case .perform(.create(let local, let isBackup, _)):
                "create \(name(local.address))\(isBackup ? " as backup" : "")"
            case .perform(.destroy(let local, _)): "destroy \(name(local.address)) \(local.port)"
            case .perform(.reset(let local, _, _)): "reset \(name(local.address)) \(local.port)"
            case .perform(.withdraw(let local)): "withdraw \(name(local.address))"
            case .perform(.announce(let local)): "announce \(name(local.address))"
            case .perform(.prioritize(let local, _, let isBackup)):
                "\(isBackup ? "backup" : "active") \(name(local.address)) \(local.port)"
            }
        return text + (failure.map { " (\($0))" } ?? "")
    }

    public var description: String {
        "\(Double(time) / 1e6) \(end == .client ? "" : "SERVER ")\(words)"
    }
}
