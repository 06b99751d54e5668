import PathCore

/// What a link does to the packets that go one way.
public struct DirectionConditions: Sendable, Hashable {
    /// How long a packet is under way once it has been sent.
    public var delay: Duration = .zero
    /// How far a packet's delay strays from `delay`, at most, evenly to both sides. Packets keep their order
    /// all the same, unless `jitterReorders`.
    public var jitter: Duration = .zero
    /// Whether packets may overtake each other by their jitter.
    public var jitterReorders = false
    /// Bits a second; nil has no limit and no queue. It is what a bulk transfer in full packets gets, as iperf3
    /// and speed tests count it: 1,448 of each 1,500 bytes.
    public var rate: Double?
    /// The rate is that of a recorded radio link instead.
    public var trace: RateTrace?
    /// What may wait for the rate's sake. What comes when it is full is dropped.
    public var queue: Queue = .time(.milliseconds(100))
    /// What exceeds a rate is dropped before the queue; nil for no such limit.
    public var policing: Policing?
    /// Wi-Fi's aggregation: a packet that is sent within so long of the one before arrives together with all that are sent
    /// in the same span. A packet on an idle link arrives alone.
    public var aggregation: Duration = .zero
    /// Which packets are lost.
    public var loss = Loss.random(0)
    /// The share of packets that arrive twice.
    public var duplication = 0.0
    /// The share of packets that arrive with one bit changed.
    public var corruption = 0.0
    /// The share of packets that are held back for `reorderingDelay`, so that later ones pass them.
    public var reordering = 0.0
    /// For how long those are held back.
    public var reorderingDelay: Duration = .milliseconds(5)
    /// Nothing arrives, and no error says so.
    public var isBlackhole = false

    /// Nothing is done to a packet: no delay, no limit, no loss.
    public init() {}

    /// How much may wait.
    public enum Queue: Sendable, Hashable {
        /// So many bytes.
        case bytes(Int)
        /// As many bytes as the rate sends in that time.
        case time(Duration)
        /// Room for 1,000 full packets, of which CoDel (RFC 8289) drops those that wait for too long.
        case coDel
    }

    /// A policer's token bucket.
    public struct Policing: Sendable, Hashable {
        /// Bits a second, counted as `rate` is.
        public var rate: Double
        /// Bytes that may exceed it at once.
        public var bucket: Int

        /// - Parameters:
        ///   - rate: bits a second.
        ///   - bucket: bytes; what the rate sends in 100 ms where nil.
        public init(rate: Double, bucket: Int? = nil) {
            self.rate = rate
            self.bucket = max(bucket ?? Int(rate / 80), 3000)
        }
    }

    /// The bits of IP packets that make `rate` bits of a bulk transfer: 1,448 of 1,500 bytes are its data.
    static func lineRate(_ rate: Double) -> Double { rate * 1500 / 1448 }

    /// How losses are distributed.
    public enum Loss: Sendable, Hashable {
        /// Each packet by itself.
        case random(Double)
        /// Losses come together: a mean share, and how many in a row on average.
        case bursts(share: Double, length: Double)
        /// By two states.
        case gilbertElliott(GilbertElliott)

        /// The share of packets that are lost in the long run.
        public var share: Double {
            switch self {
            case .random(let share), .bursts(let share, _): share
            case .gilbertElliott(let model): model.share
            }
        }
    }

    /// Two states, each with its own loss, and the chance of a change with each packet.
    public struct GilbertElliott: Sendable, Hashable {
        /// The chance, from 0 to 1, that a packet takes the good state to the bad one.
        public var toBad: Double
        /// The chance, from 0 to 1, that a packet takes the bad state to the good one.
        public var toGood: Double
        /// The share of packets that are lost in the bad state.
        public var lossInBad: Double
        /// The share of packets that are lost in the good state.
        public var lossInGood: Double

        /// Two states; each figure is from 0 to 1.
        public init(toBad: Double, toGood: Double, lossInBad: Double = 1, lossInGood: Double = 0) {
            (self.toBad, self.toGood) = (toBad, toGood)
            (self.lossInBad, self.lossInGood) = (lossInBad, lossInGood)
        }

        /// The share of packets that are lost in the long run.
        public var share: Double {
            let sum = toBad + toGood
            guard sum > 0 else { return lossInGood }
            return (toBad * lossInBad + toGood * lossInGood) / sum
        }
    }
}

/// What a link does to packets both ways, and the box at its far end.
public struct LinkConditions: Sendable, Hashable {
    /// From the client.
    public var up = DirectionConditions()
    /// To the client.
    public var down = DirectionConditions()
    /// What a box at the far end does to MPTCP.
    public var middlebox = Middlebox.none
    /// How long an idle flow is remembered by a NAT at the link's far end; nil for no NAT.
    public var natTimeout: Duration?

    /// Nothing is done to packets, either way.
    public init() {}

    /// A box that meddles with MPTCP.
    public enum Middlebox: String, Sendable, Hashable, CaseIterable {
        /// There is none.
        case none
        /// Takes the MPTCP option out of every packet.
        case strip
        /// Drops SYNs that carry the MPTCP option.
        case drop
        /// Drops SYNs that would join a connection.
        case blockJoins = "block-joins"
    }
}
