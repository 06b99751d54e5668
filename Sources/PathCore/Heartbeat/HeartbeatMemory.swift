// What earlier processes found out about networks, as the state folder keeps it:
//
//     372 500 1763812345 ipv4 wifi My\x20Telephone
//
// The silence that was survived and the one that was not (or `-`), in seconds; when that was found, in seconds of UTC; the
// network. The file is a hint and no more: what it says is tried by one connection before others rely on it, so that a lie
// costs one. What can't be read is skipped.

/// The longest survived silences by network.
package struct HeartbeatMemory: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        /// Seconds.
        package var proven: Int
        /// Seconds.
        package var lost: Int?
        /// Seconds of UTC.
        package var found: Int

        /// The same for a search.
        package var silence: RememberedSilence {
            RememberedSilence(proven: .seconds(proven), lost: lost.map { .seconds($0) })
        }

        package init(proven: Int, lost: Int? = nil, found: Int) {
            self.proven = proven
            self.lost = lost
            self.found = found
        }
    }

    package private(set) var entries: [HeartbeatNetwork: Entry] = [:]

    /// More is no such file.
    package static let fileLimit = 64 * 1024
    /// A person meets fewer in a month. The oldest are dropped.
    package static let capacity = 200
    /// A translator's settings change, and names of networks are used again.
    package static let lifetime = 30 * 86_400

    package init() {}

    /// - Parameter now: seconds of UTC. What is older than `lifetime`, or of a later day than today, is left out.
    /// - Returns: with how many lines could not be read.
    package static func parse(
        _ text: String, now: Int, tuning: HeartbeatTuning = .standard
    ) -> (memory: HeartbeatMemory, unreadable: Int) {
        var memory = HeartbeatMemory()
        var unreadable = 0
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let (network, entry) = parse(line, tuning) else {
                unreadable += 1
                continue
            }
            guard entry.found <= now + 86_400, entry.found > now - Self.lifetime else { continue }
            memory.entries[network] = entry
        }
        memory.dropOldest()
        return (memory, unreadable)
    }

    private static func parse(
        _ line: Substring, _ tuning: HeartbeatTuning
    ) -> (HeartbeatNetwork, Entry)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let longest = Int(tuning.longestInterval.wholeNanoseconds / 1_000_000_000)
        guard words.count == 6, let proven = Int(words[0]), (1...longest).contains(proven),
            let found = Int(words[2]), found >= 0, let type = InterfaceType(rawValue: String(words[4])),
            let name = StateWord.unescaped(words[5], limit: longestName)
        else { return nil }
        var lost: Int?
        if words[1] != "-" {
            guard let number = Int(words[1]), number > proven, number <= longest * 2 else { return nil }
            lost = number
        }
        let family: IPAddress.Family
        switch words[3] {
        case "ipv4": family = .ipv4
        case "ipv6": family = .ipv6
        default: return nil
        }
        return (
            HeartbeatNetwork(family: family, type: type, name: name),
            Entry(proven: proven, lost: lost, found: found)
        )
    }

    /// The file's text.
    package var text: String {
        let lines = entries.map { network, entry in
            let lost = entry.lost.map { "\($0)" } ?? "-"
            let family = network.family == .ipv4 ? "ipv4" : "ipv6"
            return "\(entry.proven) \(lost) \(entry.found) \(family) \(network.type.rawValue) "
                + StateWord.escaped(network.name)
        }
        return
            (["# How long networks keep silent connections. Programs write this; it may be deleted."]
            + lines.sorted()).joined(separator: "\n") + "\n"
    }

    /// What is known of a network; nil for nothing.
    package subscript(network: HeartbeatNetwork) -> Entry? { entries[network] }

    /// Takes in what was found about a network.
    package mutating func note(_ search: SilenceSearch, of network: HeartbeatNetwork, now: Int) {
        // What an earlier process proved stands until this one has tried it.
        guard let proven = search.remembered ?? search.proven else {
            entries[network] = nil
            return
        }
        func seconds(_ duration: Duration) -> Int { Int(duration.wholeNanoseconds / 1_000_000_000) }
        let whole = seconds(proven)
        guard whole > 0 else { return }
        let lost = search.lost.map { max(seconds($0), whole + 1) }
        // What is found again grows old all the same: one day it is tried whether the network keeps more by now.
        if let old = entries[network], old.proven == whole, old.lost == lost { return }
        entries[network] = Entry(proven: whole, lost: lost, found: now)
        dropOldest()
    }

    private mutating func dropOldest() {
        guard entries.count > Self.capacity else { return }
        let oldest = entries.sorted { ($0.value.found, $0.key.name) < ($1.value.found, $1.key.name) }
        for (network, _) in oldest.prefix(entries.count - Self.capacity) { entries[network] = nil }
    }

    /// An SSID has 32 bytes at most, an address with its zone fewer than 64.
    private static let longestName = 64
}
