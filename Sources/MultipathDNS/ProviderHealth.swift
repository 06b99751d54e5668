import PathCore

// In which order providers are asked: as they were given, those that failed lately behind the others.
//
// Rules:
//  1. A failure sets a provider back for a while, doubled for each further one without an answer in between.
//  2. Once that is over it is asked in its turn again; an answer makes it as good as new.
//  3. Where all are set back, they are asked all the same: the one whose time is over first before the others.

/// Decides in which order the providers of names are asked. It asks nothing.
struct ProviderHealth: Sendable {
    private struct Failure: Sendable {
        var until: MonotonicTime
        var pause: Duration
    }

    /// How long the first failure sets a provider back …
    static let shortestPause = Duration.seconds(5)
    /// … and how long any does at most.
    static let longestPause = Duration.seconds(300)

    private var failures: [Int: Failure] = [:]

    /// - Parameter range: the providers that count, by their places.
    func order(of range: Range<Int>, at now: MonotonicTime) -> [Int] {
        let setBack = range.filter { failures[$0].map { now < $0.until } ?? false }
            .sorted { (failures[$0]?.until ?? now) < (failures[$1]?.until ?? now) }
        return range.filter { !setBack.contains($0) } + setBack
    }

    mutating func answered(_ provider: Int) { failures[provider] = nil }

    mutating func failed(_ provider: Int, at now: MonotonicTime) {
        let before = failures[provider]
        // Those that were asked at the same time fail at the same time: that is one failure.
        if let before, now < before.until { return }
        let pause = before.map { min($0.pause * 2, Self.longestPause) } ?? Self.shortestPause
        failures[provider] = Failure(until: now.advanced(by: pause), pause: pause)
    }
}
