// CoDel, RFC 8289: packets are dropped from the head of a queue in which every packet of the last 100 ms has waited for
// longer than 5 ms, more and more often until one waits for less.
//
//               waited > target for a whole interval, drop
//    sending ───────────────────────────────────────────────► dropping ─┐ drop at interval / √count
//       ▲                    waited ≤ target                      │  ▲    │
//       └─────────────────────────────────────────────────────────┘  └────┘

import PathCore

/// Decides about each packet that is about to be sent. Section 5 of the RFC, without marking.
struct CoDel: Sendable {
    /// How long a packet may wait (section 4.3).
    static let target = Duration.milliseconds(5)
    /// For so long every packet must have waited longer (section 4.2): the longest usual round trip.
    static let interval = Duration.milliseconds(100)
    private static let fullPacket = 1500

    /// When an interval above the target is over; nil below it.
    private var dropsFrom: MonotonicTime?
    private var isDropping = false
    private var nextDrop = MonotonicTime.zero
    private var count = 0
    private var lastCount = 0

    /// Whether the packet at the head is dropped; to be asked again about the next one then.
    ///
    /// - Parameters:
    ///   - waited: for how long it was in the queue.
    ///   - behind: the bytes that wait behind it.
    mutating func drops(waited: Duration, behind: Int, at now: MonotonicTime) -> Bool {
        let isLate = isLate(waited, behind, now)
        if isDropping {
            guard isLate else {
                isDropping = false
                return false
            }
            guard now >= nextDrop else { return false }
            count += 1
            nextDrop = nextDrop.advanced(by: pause)
            return true
        }
        guard isLate else { return false }
        isDropping = true
        // Soon after the last time it goes on near the rate of drops that was enough then.
        let added = count - lastCount
        count = added > 1 && now < nextDrop.advanced(by: Self.interval * 16) ? added : 1
        lastCount = count
        nextDrop = now.advanced(by: pause)
        return true
    }

    private mutating func isLate(_ waited: Duration, _ behind: Int, _ now: MonotonicTime) -> Bool {
        guard waited >= Self.target, behind > Self.fullPacket else {
            dropsFrom = nil
            return false
        }
        guard let dropsFrom else {
            self.dropsFrom = now.advanced(by: Self.interval)
            return false
        }
        return now >= dropsFrom
    }

    /// The control law (section 4.4).
    private var pause: Duration {
        .nanoseconds(Int64(Double(Self.interval.wholeNanoseconds) / Double(count).squareRoot()))
    }
}
