// What earlier connections teach about the next one (RFC 8305 section 5: "historical RTT data").
//
// Kept is, for each network and destination, how long handshakes took and whether the last ones came to
// nothing. A handshake that is expected after 20 ms and has not come after 100 is late; one over a satellite
// is not late after 500, and must not cost a second SYN. Nothing learnt on one network is used on another:
// the network is part of the key, and what its interface knew is forgotten when it changes.

/// Handshake times by network and destination. Bounded, and forgotten after a day.
package struct PathHistory: Sendable {
    /// What makes a network the same one: the interface, its routers, its Wi-Fi name.
    package struct Network: Sendable, Hashable {
        var interface: InterfaceIndex
        var gateways: [IPAddress]
        var ssid: String?

        package init(_ path: PathInterface) {
            interface = path.index
            gateways = path.gateways
            ssid = path.ssid
        }

        /// An interface has been on a few networks at most: its index tells enough apart.
        package func hash(into hasher: inout Hasher) { hasher.combine(interface) }
    }

    package struct Destination: Sendable, Hashable {
        var host: String
        var port: UInt16

        package init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }
    }

    private struct Key: Hashable {
        var network: Network
        var destination: Destination
    }

    private struct Record {
        /// In nanoseconds, as is the variation: a duration's own arithmetic is of any number, and takes its time.
        var smoothed: Int64?
        var variation: Int64 = 0
        /// Attempts in a row that got no answer.
        var silences = 0
        var latest: MonotonicTime
    }

    /// At most so many records are kept; the oldest go first.
    package static let capacity = 1024
    package static let lifetime = Duration.seconds(24 * 3600)
    /// RFC 8305's minimum for a delay that history sets, and its maximum.
    package static let bounds = (minimum: Duration.milliseconds(100), maximum: Duration.seconds(2))

    private var records: [Key: Record] = [:]

    package init() {}

    package var count: Int { records.count }

    /// A handshake was completed after this time.
    package mutating func handshake(
        _ network: Network, _ destination: Destination, took time: Duration, at now: MonotonicTime
    ) {
        let time = min(time, Self.lifetime).wholeNanoseconds
        change(Key(network: network, destination: destination), at: now) { record in
            record.silences = 0
            // RFC 6298 section 2: the first sample, then gains of 1/8 and 1/4.
            guard let smoothed = record.smoothed else {
                (record.smoothed, record.variation) = (time, time / 2)
                return
            }
            record.variation = (record.variation * 3 + abs(time - smoothed)) / 4
            record.smoothed = (smoothed * 7 + time) / 8
        }
    }

    /// An attempt got no answer in the time it was given, while another path did.
    package mutating func silence(_ network: Network, _ destination: Destination, at now: MonotonicTime) {
        change(Key(network: network, destination: destination), at: now) { $0.silences += 1 }
    }

    /// How long to wait for this path before the next one starts; nil where nothing is known.
    package func attemptDelay(
        _ network: Network, _ destination: Destination, at now: MonotonicTime
    ) -> Duration? {
        guard let record = records[Key(network: network, destination: destination)],
            record.latest.duration(to: now) < Self.lifetime
        else { return nil }
        // A path that was silent last time gets the least that is allowed, not a place further back: it may
        // work again, and is still the preferred one.
        if record.silences > 0 { return Self.bounds.minimum }
        guard let smoothed = record.smoothed else { return nil }
        return min(
            max(.nanoseconds(smoothed + record.variation * 4), Self.bounds.minimum), Self.bounds.maximum)
    }

    /// Whether the last attempts got no answer, so that no other path need wait for what this path finds out.
    package func wasSilent(
        _ network: Network, _ destination: Destination, at now: MonotonicTime
    ) -> Bool {
        guard let record = records[Key(network: network, destination: destination)] else { return false }
        return record.silences > 0 && record.latest.duration(to: now) < Self.lifetime
    }

    /// Forgets the networks that are gone.
    package mutating func keep(_ networks: Set<Network>) {
        records = records.filter { networks.contains($0.key.network) }
    }

    private mutating func change(_ key: Key, at now: MonotonicTime, _ body: (inout Record) -> Void) {
        if records.count >= Self.capacity, records[key] == nil { forgetOldest(at: now) }
        func change(_ record: inout Record) {
            record.latest = now
            body(&record)
        }
        change(&records[key, default: Record(latest: now)])
    }

    /// A tenth at a time, so that a program with a new destination for every connection pays seldom.
    private mutating func forgetOldest(at now: MonotonicTime) {
        let ages = records.values.map(\.latest).sorted()
        let limit = max(
            ages[Self.capacity / 10], MonotonicTime(nanoseconds: now.nanoseconds - Self.dayInNanoseconds))
        records = records.filter { $0.value.latest > limit }
    }

    private static let dayInNanoseconds: Int64 = 24 * 3600 * 1_000_000_000
}
