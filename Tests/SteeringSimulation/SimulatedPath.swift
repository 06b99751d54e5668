import PathCore

/// One of the client's ways to the server: an interface, and the network behind it.
package struct SimulatedPath: Sendable {
    /// What the server does with a join that comes this way.
    package enum JoinFate: Sendable {
        case accepted
        /// Complete for the client, and ended at once: the server has no room for more.
        case closedAtOnce
        case refused
    }

    package var name: String
    package var type: InterfaceType
    package var index: InterfaceIndex
    package var address: IPAddress
    package var metric: UInt32
    package var isExpensive = false
    package var isConstrained = false

    // MARK: The interface

    package var exists = true
    package var isUp = true
    package var hasCarrier = true
    package var hasAddress = true
    package var hasRoute = true

    /// What its radio reads, in dBm; nil for no radio, or in no network.
    package internal(set) var signal: Int?
    var signalDetector = SignalDetector()

    // MARK: The network

    /// In each direction, in nanoseconds.
    package var upwards: Int64
    package var downwards: Int64
    /// Up to how much longer a packet takes, as a share.
    package var jitter = 0.0
    package var loss = 0.0
    package var isOpenUpwards = true
    package var isOpenDownwards = true
    package var joins = JoinFate.accepted
    /// The share of packets that later ones overtake.
    package var reordering = 0.0
    /// How long the bottleneck takes for a chunk, in nanoseconds; 0 where there is none.
    package var chunkTime: Int64 = 0
    /// For how many nanoseconds of its time chunks may wait there, in each direction. What comes then is dropped.
    package var queue: Int64 = 0
    /// When it is done with what waits there.
    var busyUpwards: Int64 = 0
    var busyDownwards: Int64 = 0
    /// Whether anything has happened to it that its packets could feel.
    package internal(set) var wasTouched = false
    /// Counts how often what is on the way forgot its subflows.
    package var memory = 0
    /// Since when packets and handshakes have been getting through as they do now; nil while they do not.
    package internal(set) var worksSince: Int64? = 0

    package init(
        _ name: String, _ type: InterfaceType, index: InterfaceIndex, address: IPAddress,
        roundTrip: Duration, metric: UInt32 = 100
    ) {
        self.name = name
        self.type = type
        self.index = index
        self.address = address
        self.metric = metric
        upwards = roundTrip.wholeNanoseconds / 2
        downwards = roundTrip.wholeNanoseconds / 2
    }

    package var roundTrip: Int64 { upwards + downwards }

    /// How much longer than usual a packet takes that others overtake, at most.
    var overtaking: Int64 { reordering > 0 ? roundTrip / 4 : 0 }

    /// How long a chunk and its acknowledgement take at most.
    package var longestRoundTrip: Int64 {
        Int64(Double(roundTrip) * (1 + jitter)) + 2 * (queue + chunkTime + overtaking)
    }

    /// How many round trips it takes at most until all that a connection may have under way has passed the bottleneck: it is
    /// sent in bursts, and again in bursts.
    package var burstTrips: Int64 {
        chunkTime == 0 ? 0 : Int64(Simulation.maximumOutstanding) / (queue / chunkTime + 1)
    }

    /// Whether its packets may get lost.
    package var mayLose: Bool { loss > 0 || chunkTime > 0 }

    /// Whether nothing was ever wrong with it: who takes it for dead is mistaken.
    package var isSound: Bool {
        isUsable && isOpenUpwards && isOpenDownwards && joins == .accepted && loss == 0 && !wasTouched
    }

    /// Whether the kernel routes Internet traffic this way.
    package var isUsable: Bool { exists && isUp && hasCarrier && hasAddress && hasRoute }

    package var works: Bool {
        isUsable && isOpenUpwards && isOpenDownwards && joins == .accepted && loss <= 0.02
    }

    /// The path as the monitor sees it.
    package var interface: PathInterface {
        var interface = PathInterface(
            index: index, name: name, type: Verdict(type, .kernel),
            expensive: Verdict(isExpensive ? .yes : .no, .settings),
            constrained: Verdict(isConstrained, .settings),
            addresses: hasAddress ? [InterfaceAddress(address, prefixLength: 24)] : [],
            metric: hasRoute ? metric : nil, supportsIPv4: isUsable)
        interface.quality = PathQuality(signal: signal, isFading: signalDetector.isFading)
        return interface
    }

    var exclusion: ExcludedInterface.Reason {
        if !isUp { return .down }
        if !hasCarrier { return .noCarrier }
        return hasAddress ? .noDefaultRoute : .noAddress
    }
}

extension SimulatedPath {
    /// 198.51.100.2, interface 3.
    package static func wifi(_ roundTrip: Duration = .milliseconds(20)) -> SimulatedPath {
        SimulatedPath(
            "wlan0", .wifi, index: 3, address: IPAddress(ipv4: 0xC633_6402), roundTrip: roundTrip, metric: 600
        )
    }

    /// 203.0.113.2, interface 4, expensive.
    package static func cellular(_ roundTrip: Duration = .milliseconds(40)) -> SimulatedPath {
        var path = SimulatedPath(
            "wwan0", .cellular, index: 4, address: IPAddress(ipv4: 0xCB00_7102), roundTrip: roundTrip,
            metric: 700)
        path.isExpensive = true
        return path
    }

    /// 192.0.2.2, interface 2.
    package static func wired(_ roundTrip: Duration = .milliseconds(10)) -> SimulatedPath {
        SimulatedPath(
            "eth0", .wired, index: 2, address: IPAddress(ipv4: 0xC000_0202), roundTrip: roundTrip)
    }
}

/// Something that happens to a path of the client, meant by its place, or to the client.
package enum SimulatedChange: Sendable {
    case roundTrip(Int, Duration)
    case jitter(Int, Double)
    case loss(Int, Double)
    /// In each direction: whether packets get through.
    case open(Int, upwards: Bool, downwards: Bool)
    /// A translator loses its table: what belongs to old subflows vanishes, new ones work.
    case forget(Int)
    case up(Int, Bool)
    case carrier(Int, Bool)
    case address(Int, Bool)
    case route(Int, Bool)
    /// The interface appears, with a new index and a new address, or is unplugged.
    case plugged(Int, Bool)
    case renumber(Int)
    /// Its radio's reading, in dBm.
    case signal(Int, Int?)
    case expensive(Int, Bool)
    case constrained(Int, Bool)
    case joins(Int, SimulatedPath.JoinFate)
    /// The client sleeps; its clock stands still meanwhile. Whether translators forget it.
    case sleep(forgets: Bool)
    /// The client's user awaits bytes from now on, or does no more.
    case awaits(Bool)
    /// Another connection of the process finds that handshakes over a path go unanswered.
    case verdict(Int)
    /// Everything gets through again, everywhere.
    case heal
    /// The server announces an address (ADD_ADDR), its own or any other.
    case announce(UInt8, IPEndpoint)
    /// It announces so many, one each millisecond.
    case flood(Int)
    /// It takes an address back (RM_ADDR).
    case remove(UInt8)

    /// Whether it is what the server says of its addresses.
    var isWord: Bool {
        switch self {
        case .announce, .flood, .remove: true
        default: false
        }
    }

    var isHealing: Bool { if case .heal = self { true } else { false } }
}
