import Multipath

/// How many sockets are kept ready, so that the program's call need not wait while one is prepared.
package struct ReservePlan: Sendable {
    /// As many as the trap keeps of one family (`RESERVE`).
    package static let most = 32
    private static let least: [IPAddress.Family: Int] = [.ipv4: 3, .ipv6: 2]

    private var wanted: [IPAddress.Family: Int] = Self.least
    private var kept: [IPAddress.Family: Int] = [:]
    private var making: [IPAddress.Family: Int] = [:]

    package init() {}

    /// How many are to be made now; they count as being made from then on.
    package mutating func order(_ family: IPAddress.Family) -> Int {
        let missing = (wanted[family] ?? 0) - (kept[family] ?? 0) - (making[family] ?? 0)
        guard missing > 0 else { return 0 }
        making[family, default: 0] += missing
        return missing
    }

    /// One that was ordered has been handed to the trap, or could not be made.
    package mutating func made(_ family: IPAddress.Family, isKept: Bool) {
        making[family, default: 0] -= 1
        if isKept { kept[family, default: 0] += 1 }
    }

    /// The program has taken one.
    package mutating func taken(_ family: IPAddress.Family) {
        kept[family] = max(0, (kept[family] ?? 0) - 1)
    }

    /// The program found none ready: from now on there are more.
    package mutating func missed(_ family: IPAddress.Family) {
        wanted[family] = min(Self.most, (wanted[family] ?? 0) * 2)
    }

    /// A new trap has none.
    package mutating func lost() { kept = [:] }
}
