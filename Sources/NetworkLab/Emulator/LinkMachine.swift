// One direction of an emulated link.
//
//  receive ──► queue ──► transmitter ──► radio ──► line ──► poll
//   policer    tail drop  rate or trace  loss      aggregation, delay, jitter, reordering
//              or CoDel
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
//  6. A policer drops before the queue; CoDel drops what comes to the head of it too late.
//  7. A blackhole swallows what comes in and what would come out.
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
        case policer
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
        var policed = 0
        var losses = 0
        var blackholed = 0
    }

    private(set) var conditions: DirectionConditions
    private(set) var statistics = Statistics()
    /// Bytes that wait for the transmitter or are being sent.
    private(set) var queuedBytes = 0

    private var queue = RingBuffer<Waiting>()
    /// When the first of the queue will have been sent.
    private var sent: MonotonicTime?
    private var cursor: TraceCursor?
    private var coDel = CoDel()
    private var policer: Policer?
    /// When the last packet was sent, and when those that are being aggregated arrive together.
    private var lastSent: MonotonicTime?
    private var burstEnd: MonotonicTime?
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

    private struct Waiting: Sendable {
        var packet: Packet
        var since: MonotonicTime
    }

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
        cursor = conditions.trace.map { TraceCursor($0, from: .zero) }
        policer = conditions.policing.map { Policer($0, at: .zero) }
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
        case .coDel: 1000 * 1500
        case .time(let time):
            (conditions.trace?.meanRate ?? conditions.rate.map(DirectionConditions.lineRate)).map {
                Int(time.inSeconds * $0 / 8)
            } ?? .max
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
        } else if policer?.passes(packet.bytes, at: time) == false {
            drop(packet, .policer)
        } else if conditions.rate != nil || cursor != nil {
            guard queue.isEmpty || queuedBytes + packet.bytes <= queueLimit else {
                drop(packet, .queue)
                return
            }
            queue.append(Waiting(packet: packet, since: time))
            queuedBytes += packet.bytes
            if sent == nil { sendNext(from: time) }
        } else {
            travel(packet, from: time)
        }
    }

    mutating func change(_ new: DirectionConditions, at now: MonotonicTime) {
        advance(to: now)
        let old = conditions
        conditions = new
        if old.policing != new.policing { policer = new.policing.map { Policer($0, at: time) } }
        if old.aggregation != new.aggregation { burstEnd = nil }
        guard old.rate != new.rate || old.trace != new.trace else { return }
        if old.trace != new.trace { cursor = new.trace.map { TraceCursor($0, from: time) } }
        guard let end = sent else { return }
        if cursor != nil || old.trace != nil, cursor != nil || new.rate != nil {
            // The packet being sent begins anew.
            sendNext(from: time)
        } else if let rate = new.rate, let oldRate = old.rate {
            // What is left of the packet being sent goes on at the new rate.
            let left = Double(end.nanoseconds - time.nanoseconds) * oldRate / rate
            sent = MonotonicTime(nanoseconds: time.nanoseconds + Int64(min(left, 1e18)))
        } else {
            sent = nil
            queuedBytes = 0
            while let waiting = queue.popFirst() { travel(waiting.packet, from: time) }
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
        while let end = sent, end <= now, let packet = queue.popFirst()?.packet {
            queuedBytes -= packet.bytes
            // Nothing keeps the transmitter from going on at once.
            sendNext(from: end)
            travel(packet, from: end)
        }
        time = now
    }

    /// Begins with the head of the queue, or with the first behind it that CoDel leaves there.
    private mutating func sendNext(from start: MonotonicTime) {
        sent = nil
        while let next = queue.first {
            if conditions.queue == .coDel {
                let waited = next.since.duration(to: start)
                if coDel.drops(waited: waited, behind: queuedBytes - next.packet.bytes, at: start) {
                    _ = queue.popFirst()
                    queuedBytes -= next.packet.bytes
                    drop(next.packet, .queue)
                    continue
                }
            }
            sent =
                cursor?.send(next.packet.bytes, from: start)
                ?? conditions.rate.map { start.advanced(by: Self.sendingTime(next.packet, $0)) }
            return
        }
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
        let arrival = MonotonicTime(nanoseconds: aggregated(start).nanoseconds + delay)
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

    /// When what was sent now leaves the radio: together with what else is sent in the same span.
    private mutating func aggregated(_ now: MonotonicTime) -> MonotonicTime {
        guard conditions.aggregation > .zero else { return now }
        defer { lastSent = now }
        if let end = burstEnd, now <= end { return end }
        // Alone on an idle link.
        guard let last = lastSent, last.advanced(by: conditions.aggregation) > now else {
            burstEnd = nil
            return now
        }
        let end = now.advanced(by: conditions.aggregation)
        burstEnd = end
        return end
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
        case .policer: statistics.policed += 1
        case .loss: statistics.losses += 1
        case .blackhole: statistics.blackholed += 1
        }
        lost.append(Lost(packet: packet, reason: reason))
    }

    private static func sendingTime(_ packet: Packet, _ rate: Double) -> Duration {
        .nanoseconds(Int64(Double(packet.bytes * 8) * 1e9 / DirectionConditions.lineRate(rate)))
    }
}
