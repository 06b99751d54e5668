import Foundation
import LinuxNet
import Multipath
import NetworkLab

/// When each link's addresses last became others. What had the old ones can neither send nor receive.
struct Renumberings {
    private var latest: [String: MonotonicTime] = [:]

    mutating func note(_ fault: String, _ link: String) {
        if fault == "renumber" { latest[link] = .now }
    }

    func happened(to link: String, since time: MonotonicTime) -> Bool {
        latest[link].map { time < $0 } ?? false
    }
}

/// One fault after the other, each on one link, and over before the next. No link has a NAT that forgets: a peer has room for
/// two subflows beside the first, and those that a NAT has forgotten on both links keep it taken (see Limits in the
/// documentation).
final class Faults: @unchecked Sendable {
    private static let kinds = [
        ("blackhole", "blackhole=none"), ("blackhole=up", "blackhole=none"),
        ("blackhole=down", "blackhole=none"),
        ("down", "up"), ("carrier off", "carrier on"), ("address off", "address on"),
        ("route off", "route on"),
        ("loss=30%", "loss=0%"), ("rtt=400ms", "rtt=30ms"), ("renumber", "renumber"),
    ]

    private let gap: Double
    private let seen: Locked<Seen>
    private var random = SystemRandomNumberGenerator()
    private(set) var count = 0

    init(_ gap: Double, _ seen: Locked<Seen>) { (self.gap, self.seen) = (gap, seen) }

    func next() async throws {
        let begun = MonotonicTime.now
        let link = Bool.random(using: &random) ? "wlan0" : "wwan0"
        let (begin, end) = Self.kinds[count % Self.kinds.count]
        try set(link, begin)
        try await Task.sleep(for: .seconds(gap * Double.random(in: 0.4...0.6, using: &random)))
        try set(link, end)
        count += 1
        let rest = MonotonicTime.now.duration(to: begun.advanced(by: .seconds(gap)))
        if rest > .zero { try await Task.sleep(for: rest) }
    }

    private func set(_ link: String, _ words: String) throws {
        try LabControl.set(link, words)
        seen.withLock { $0.renumberings.note(words, link) }
    }
}
