// One direction of an emulated link.
//
//  receive ──► queue ──► transmitter ──► radio ──► line ──► poll
//              tail drop  rate           loss      delay, jitter, reordering
//
// Rules:
//  1. A packet waits in the queue until the transmitter has sent what came before it; sending takes its size
//     by the rate. With no rate there is neither.
//  2. The queue is full by bytes, the packet being sent included. A packet that doesn't fit is dropped; one
//     that finds the queue empty always fits.
//  3. What has been sent may be lost, changed or doubled: it has used the rate all the same, as on a radio.
//  4. On the line packets keep their order, whatever the jitter says, unless reordering is asked for.
//  5. Times are those at which things happen on the link, not those at which `poll` is called: a late call
//     delays what it finds, and nothing after it.
//  6. A blackhole swallows what comes in and what would come out.
//
// Call order: `receive` for each packet, then `poll` until it returns nil; again at `nextDeadline`. `change`
// is legal at any time. Time never goes back: an earlier one is taken for the latest given.

import PathCore

struct LinkMachine: Sendable {
    struct Packet: Sendable, Hashable {
        /// The caller's name for it.
        var id: UInt32
        /// What it weighs on the link: its IP packet's length.
        var bytes: Int
    }

    enum Drop: Sendable, Hashable {
        case queue
        case loss
        case blackhole
    }

    /// What became of a packet that was received.
    enum Outcome: Sendable, Hashable {
        /// - Parameter changedBit: a bit to change, counted from any number up; take it by the packet's size.
        case deliver(Packet, copies: Int, changedBit: UInt64?)
        case drop(Packet, Drop)
    }

    struct Statistics: Sendable, Hashable {
        var receivedPackets = 0
        var receivedBytes = 0
        var deliveredPackets = 0
        var deliveredBytes = 0
        var queueDrops = 0
        var losses = 0
        var blackholed = 0
    }

    private(set) var conditions: DirectionConditions
    private(set) var statistics = Statistics()
    /// Bytes that wait for the transmitter or are being sent.
    private(set) var queuedBytes = 0

    private var queue = RingBuffer<Packet>()
    /// When the first of the queue will have been sent.
    private var sent: MonotonicTime?
    private var line = RingBuffer<Travelling>()
    /// Those out of order, the next one last.
    private var stragglers: [Travelling] = []
    private var lost = RingBuffer<Lost>()
    private var lastArrival = MonotonicTime.zero
    private var time = MonotonicTime.zero
    private var isBad = false

    private var lossRandom: SeededRandom
    private var jitterRandom: SeededRandom
    private var duplicationRandom: SeededRandom
    private var corruptionRandom: SeededRandom
    private var reorderingRandom: SeededRandom

    private struct Travelling: Sendable {
        var arrival: MonotonicTime
        var packet: Packet
        var copies: Int
        var changedBit: UInt64?
    }

    private struct Lost: Sendable {
        var packet: Packet
        var reason: Drop
    }

    init(_ conditions: DirectionConditions = DirectionConditions(), seed: UInt64) {
        self.conditions = conditions
        lossRandom = SeededRandom(seed: seed, stream: 1)
        jitterRandom = SeededRandom(seed: seed, stream: 2)
        duplicationRandom = SeededRandom(seed: seed, stream: 3)
        corruptionRandom = SeededRandom(seed: seed, stream: 4)
        reorderingRandom = SeededRandom(seed: seed, stream: 5)
    }

    /// How many packets are inside.
    var count: Int { queue.count + line.count + stragglers.count + lost.count }

    /// The size at which the queue is full.
    var queueLimit: Int {
        switch conditions.queue {
        case .bytes(let bytes): bytes
        case .time(let time):
            conditions.rate.map { Int(time.inSeconds * Self.lineRate($0) / 8) } ?? .max
        }
    }

    /// When `poll` will have something to say, if nothing else happens.
    var nextDeadline: MonotonicTime? {
        if !lost.isEmpty { return time }
        let deadlines = [sent, line.first?.arrival, stragglers.last?.arrival]
        return deadlines.compactMap { $0 }.min()
    }

    // MARK: Inputs

    mutating func receive(_ packet: Packet, at now: MonotonicTime) {
        advance(to: now)
        statistics.receivedPackets += 1
        statistics.receivedBytes += packet.bytes
        if conditions.isBlackhole {
            drop(packet, .blackhole)
        } else if let rate = conditions.rate {
            guard queue.isEmpty || queuedBytes + packet.bytes <= queueLimit else {
                drop(packet, .queue)
                return
            }
            queue.append(packet)
            queuedBytes += packet.bytes
            if sent == nil { sent = time.advanced(by: Self.sendingTime(packet, rate)) }
        } else {
            travel(packet, from: time)
        }
    }

    mutating func change(_ new: DirectionConditions, at now: MonotonicTime) {
        advance(to: now)
        let old = conditions
        conditions = new
        guard old.rate != new.rate, let end = sent, let oldRate = old.rate else { return }
        if let rate = new.rate {
            // What is left of the packet being sent goes on at the new rate.
            let left = Double(end.nanoseconds - time.nanoseconds) * oldRate / rate
            sent = MonotonicTime(nanoseconds: time.nanoseconds + Int64(min(left, 1e18)))
        } else {
            sent = nil
            queuedBytes = 0
            while let packet = queue.popFirst() { travel(packet, from: time) }
        }
    }

    /// The next packet that has come to its end by now.
    mutating func poll(at now: MonotonicTime) -> Outcome? {
        advance(to: now)
        if let lost = lost.popFirst() { return .drop(lost.packet, lost.reason) }
        guard let next = nextArrival(by: time) else { return nil }
        if conditions.isBlackhole {
            statistics.blackholed += 1
            return .drop(next.packet, .blackhole)
        }
        statistics.deliveredPackets += next.copies
        statistics.deliveredBytes += next.packet.bytes * next.copies
        return .deliver(next.packet, copies: next.copies, changedBit: next.changedBit)
    }

    // MARK: The link

    private mutating func advance(to now: MonotonicTime) {
        guard now > time else { return }
        while let end = sent, end <= now, let packet = queue.popFirst() {
            queuedBytes -= packet.bytes
            // Nothing keeps the transmitter from going on at once.
            sent = queue.first.flatMap { next in
                conditions.rate.map { end.advanced(by: Self.sendingTime(next, $0)) }
            }
            travel(packet, from: end)
        }
        time = now
    }

    private mutating func travel(_ packet: Packet, from start: MonotonicTime) {
        guard !loses() else {
            drop(packet, .loss)
            return
        }
        var delay = conditions.delay.wholeNanoseconds
        if conditions.jitter > .zero {
            let jitter = Double(conditions.jitter.wholeNanoseconds)
            delay = max(0, delay + Int64((jitterRandom.share() * 2 - 1) * jitter))
        }
        let arrival = MonotonicTime(nanoseconds: start.nanoseconds + delay)
        var travelling = Travelling(
            arrival: arrival, packet: packet,
            copies: duplicationRandom.happens(conditions.duplication) ? 2 : 1,
            changedBit: corruptionRandom.happens(conditions.corruption) ? corruptionRandom.next() : nil)
        if reorderingRandom.happens(conditions.reordering) {
            travelling.arrival = arrival.advanced(by: conditions.reorderingDelay)
            straggle(travelling)
        } else if conditions.jitterReorders, arrival < lastArrival {
            straggle(travelling)
        } else {
            travelling.arrival = max(arrival, lastArrival)
            lastArrival = travelling.arrival
            line.append(travelling)
        }
    }

    private mutating func straggle(_ packet: Travelling) {
        let place = stragglers.firstIndex { $0.arrival <= packet.arrival } ?? stragglers.count
        stragglers.insert(packet, at: place)
    }

    private mutating func nextArrival(by now: MonotonicTime) -> Travelling? {
        let first = line.first?.arrival
        if let straggler = stragglers.last, straggler.arrival <= now,
            first.map({ straggler.arrival < $0 }) ?? true
        {
            return stragglers.removeLast()
        }
        guard let first, first <= now else { return nil }
        return line.popFirst()
    }

    private mutating func loses() -> Bool {
        switch conditions.loss {
        case .random(let share): return lossRandom.happens(share)
        case .bursts(let share, let length):
            // A Gilbert model with this mean share and this mean length of a bad time.
            guard share > 0, share < 1 else { return share >= 1 }
            let toGood = 1 / length
            return loses(.init(toBad: min(1, share * toGood / (1 - share)), toGood: toGood))
        case .gilbertElliott(let model): return loses(model)
        }
    }

    private mutating func loses(_ model: DirectionConditions.GilbertElliott) -> Bool {
        if lossRandom.happens(isBad ? model.toGood : model.toBad) { isBad.toggle() }
        return lossRandom.happens(isBad ? model.lossInBad : model.lossInGood)
    }

    /// Hands a packet back by way of `poll`.
    private mutating func drop(_ packet: Packet, _ reason: Drop) {
        switch reason {
        case .queue: statistics.queueDrops += 1
        case .loss: statistics.losses += 1
        case .blackhole: statistics.blackholed += 1
        }
        lost.append(Lost(packet: packet, reason: reason))
    }

    private static func sendingTime(_ packet: Packet, _ rate: Double) -> Duration {
        .nanoseconds(Int64(Double(packet.bytes * 8) * 1e9 / lineRate(rate)))
    }

    /// The bits of IP packets that make `rate` bits of a bulk transfer: 1,448 of 1,500 bytes are its data.
    private static func lineRate(_ rate: Double) -> Double { rate * 1500 / 1448 }
}
