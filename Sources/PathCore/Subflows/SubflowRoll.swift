// The subflows of a connection that is known by its token alone. sock_diag answers questions about sockets that are named,
// so their names are kept here; a search of all TCP sockets (a dump, some 200 µs) finds those that are new.

/// What a connection's subflows are called.
package struct SubflowRoll: Sendable {
    /// One subflow, as a question to the kernel names it.
    package struct Entry: Sendable, Hashable {
        /// Numbered as they are found; no other subflow of the connection gets the number.
        package var id: UInt32
        /// The kernel's number for its socket, which no other socket gets.
        package var cookie: UInt64
        package var local: IPEndpoint
        package var remote: IPEndpoint
        /// What its socket is bound to; 0 for nothing.
        package var interface: InterfaceIndex
    }

    package private(set) var entries: [Entry] = []
    private var lastID: UInt32 = 0
    /// The latest search, and what it left unexplained.
    private var searched: (at: MonotonicTime, known: Int, told: Int)?

    /// More than a kernel makes; a peer that makes more has the rest uncounted.
    static let mostEntries = 64
    /// How long a number of subflows that a search did not explain is left alone: kernels count the peer's in other ways.
    static let searchPause = Duration.seconds(1)

    package init() {}

    /// Whether no subflow has been known yet.
    package var isNew: Bool { lastID == 0 }

    /// Whether the kernel counts more than are known, after a search.
    package var isShort: Bool { searched.map { $0.told > entries.count } ?? false }

    /// A search, or a question, has shown a subflow.
    ///
    /// - Returns: its number; nil where there are too many.
    package mutating func note(
        cookie: UInt64, local: IPEndpoint, remote: IPEndpoint, interface: InterfaceIndex
    ) -> UInt32? {
        if let known = entries.first(where: { $0.cookie == cookie }) { return known.id }
        guard entries.count < Self.mostEntries else { return nil }
        lastID += 1
        entries.append(
            Entry(id: lastID, cookie: cookie, local: local, remote: remote, interface: interface))
        return lastID
    }

    /// The kernel has these no more.
    package mutating func remove(_ ids: [UInt32]) { entries.removeAll { ids.contains($0.id) } }

    /// Whether to search, because the kernel counts others than are known.
    ///
    /// - Parameters:
    ///   - total: all subflows (`mptcpi_subflows_total`); 0 where the kernel does not say.
    ///   - additional: those beside the first (`mptcpi_subflows`).
    package mutating func wantsSearch(total: UInt8, additional: UInt8, at now: MonotonicTime) -> Bool {
        // The first one may have ended: then one more is looked for than there is, now and then.
        let told = total > 0 ? Int(total) : Int(additional) + 1
        guard told > entries.count else { return false }
        if let searched, searched.known == entries.count, searched.told == told,
            searched.at.duration(to: now) < Self.searchPause
        {
            return false
        }
        searched = (now, entries.count, told)
        return true
    }

    /// A search is over: what it did not explain is asked for no more, for a while.
    package mutating func searchEnded(at now: MonotonicTime) {
        if let told = searched?.told { searched = (now, entries.count, told) }
    }
}
