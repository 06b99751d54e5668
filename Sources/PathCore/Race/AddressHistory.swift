// Which of a name's addresses answered, and how fast, by network (RFC 8305 section 4, RFC 6724 section 6 rule 1).
//
// A success counts +1 and a failure −1, within bounds, and every ten minutes the sum is halved. So one failure puts an address
// behind the others for ten minutes, several for half an hour at most; then it is tried again in its place.

/// How connections to addresses went. Bounded, and forgotten after a day.
package struct AddressHistory: Sendable {
    /// What is known of an address, for the order in which addresses are tried.
    package enum Standing: Sendable, Hashable {
        /// The last connections to it failed.
        case bad
        /// Nothing that counts.
        case unknown
        /// It answered, after this round trip where that was measured.
        case good(rtt: Duration?)
    }

    private struct Key: Hashable {
        var network: PathHistory.Network
        /// With its port: a port on which nothing listens says nothing of another.
        var endpoint: IPEndpoint
    }

    private struct Record {
        var score = 0.0
        /// When the score was set, or halved last.
        var scored: MonotonicTime
        /// In nanoseconds.
        var rtt: Int64?
        var latest: MonotonicTime

        /// The score as it is now, and when it was halved last.
        func halved(at now: MonotonicTime) -> (score: Double, since: MonotonicTime) {
            let halvings =
                max(0, now.nanoseconds - scored.nanoseconds) / AddressHistory.halving.wholeNanoseconds
            guard halvings > 0 else { return (score, scored) }
            let since = scored.advanced(by: .nanoseconds(halvings * AddressHistory.halving.wholeNanoseconds))
            return (halvings < 64 ? score / Double(UInt64(1) << UInt64(halvings)) : 0, since)
        }
    }

    /// After so long a score is worth half.
    package static let halving = Duration.seconds(600)
    /// No sum of failures or successes counts for more.
    package static let bound = 4.0
    /// One failure, not yet halved.
    private static let badScore = -1.0
    /// At most so many records are kept; the oldest go first.
    package static let capacity = 1024
    package static let lifetime = Duration.seconds(24 * 3600)

    private var records: [Key: Record] = [:]

    package init() {}

    package var count: Int { records.count }

    /// A connection was made, after this round trip where it is known.
    package mutating func succeeded(
        _ network: PathHistory.Network, _ endpoint: IPEndpoint, rtt: Duration?, at now: MonotonicTime
    ) {
        change(network, endpoint, by: 1, at: now) { record in
            guard let rtt = rtt.map({ min($0, Self.lifetime).wholeNanoseconds }) else { return }
            // RFC 6298 section 2's gain.
            record.rtt = record.rtt.map { ($0 * 7 + rtt) / 8 } ?? rtt
        }
    }

    /// None was made, while another address answered over the same network.
    package mutating func failed(
        _ network: PathHistory.Network, _ endpoint: IPEndpoint, at now: MonotonicTime
    ) {
        change(network, endpoint, by: -1, at: now) { _ in }
    }

    /// What is known of an address on a network.
    package func standing(
        _ network: PathHistory.Network, _ endpoint: IPEndpoint, at now: MonotonicTime
    ) -> Standing {
        guard let record = records[Key(network: network, endpoint: endpoint)],
            record.latest.duration(to: now) < Self.lifetime
        else { return .unknown }
        let score = record.halved(at: now).score
        if score <= Self.badScore { return .bad }
        return score > 0 ? .good(rtt: record.rtt.map { .nanoseconds($0) }) : .unknown
    }

    /// Forgets the networks that are gone.
    package mutating func keep(_ networks: Set<PathHistory.Network>) {
        records = records.filter { networks.contains($0.key.network) }
    }

    private mutating func change(
        _ network: PathHistory.Network, _ endpoint: IPEndpoint, by step: Double, at now: MonotonicTime,
        _ body: (inout Record) -> Void
    ) {
        let key = Key(network: network, endpoint: endpoint)
        if records.count >= Self.capacity, records[key] == nil { forgetOldest() }
        var record = records[key] ?? Record(scored: now, latest: now)
        let (score, since) = record.halved(at: now)
        record.score = min(max(score + step, -Self.bound), Self.bound)
        (record.scored, record.latest) = (since, now)
        body(&record)
        records[key] = record
    }

    /// A tenth at a time, so that a program with a new address for every connection pays seldom.
    private mutating func forgetOldest() {
        let ages = records.values.map(\.latest).sorted()
        let limit = ages[Self.capacity / 10]
        records = records.filter { $0.value.latest > limit }
    }
}
