// Which paths are thought to carry nothing just now, so that the next connection does not wait for them.
//
// A path that swallows packets without a word looks well in the kernel's tables. The first to notice is a
// connection that is established: what it learnt is worth the next race's first attempt delay. Rules:
//  1. A suspicion is about a path, though one peer's silence raised it. The peer may be dead, so it
//     costs the path no more than its head start: it is attempted all the same, and first.
//  2. Any sign of life over the path that came after it ends it: an answered handshake, acknowledged bytes.
//  3. It holds on the network where it arose, and for ten seconds: radios come back without being asked.

/// The paths that connections have found silent lately.
package struct PathSuspicions: Sendable {
    /// How long a suspicion lasts that nothing ends or renews.
    package static let lifetime = Duration.seconds(10)

    private struct Suspicion {
        var network: PathHistory.Network
        var since: MonotonicTime
    }

    private var suspicions: [InterfaceIndex: Suspicion] = [:]

    package init() {}

    /// A connection over this path got no answer any more.
    package mutating func silent(_ path: PathInterface, at now: MonotonicTime) {
        suspicions = suspicions.filter { $0.value.since.duration(to: now) < Self.lifetime }
        suspicions[path.index] = Suspicion(network: PathHistory.Network(path), since: now)
    }

    /// Something came over this path.
    ///
    /// - Parameters:
    ///   - interface: the path's.
    ///   - earliest: the earliest moment at which it may have come.
    /// - Returns: whether that ended a suspicion.
    package mutating func alive(_ interface: InterfaceIndex, since earliest: MonotonicTime) -> Bool {
        guard let suspicion = suspicions[interface], suspicion.since <= earliest else { return false }
        suspicions[interface] = nil
        return true
    }

    /// The paths of a snapshot that are suspect.
    package func suspects(in snapshot: PathSnapshot, at now: MonotonicTime) -> Set<InterfaceIndex> {
        guard !suspicions.isEmpty else { return [] }
        let current = suspicions.filter { interface, suspicion in
            suspicion.since.duration(to: now) < Self.lifetime
                && snapshot.interface(interface).map { PathHistory.Network($0) } == suspicion.network
        }
        return Set(current.keys)
    }
}
