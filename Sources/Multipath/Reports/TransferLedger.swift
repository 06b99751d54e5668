// What each path carried, from two sources.
//
// The kernel counts each subflow's bytes, but forgets them: a subflow's counters go with it, and those of the
// first one are reset as soon as both directions have ended (net/mptcp/protocol.c, __mptcp_subflow_disconnect).
// The connection's own user counts all bytes exactly, but not by path. So samples are kept, a sample that has
// been reset is not believed, and what the samples lack of the whole is booked on the path that was the last
// one seen carrying: it moved after the last look.

import LinuxNet

/// Keeps the newest counters of every subflow that is, and the sums of those that were: a connection may move for
/// days.
struct TransferLedger: Sendable {
    /// A subflow's newest counters: what a report says of it, and no more, for there is one of these for every
    /// subflow of every connection.
    fileprivate struct Entry: Sendable {
        let id: UInt32
        /// Where its path is in `gone`.
        let path: Int
        /// Whether its packets don't bear the mark that was asked for.
        let isUnmarked: Bool
        var bytesSent: UInt64
        var bytesReceived: UInt64
        var bytesRetransmitted: UInt64
        var smoothedRTT: Duration
        var minimumRTT: Duration?

        init(_ sample: SubflowSample, path: Int, isUnmarked: Bool) {
            id = sample.id
            self.path = path
            self.isUnmarked = isUnmarked
            bytesSent = sample.bytesSent
            bytesReceived = sample.bytesReceived
            bytesRetransmitted = sample.bytesRetransmitted
            smoothedRTT = sample.smoothedRTT
            minimumRTT = sample.minimumRTT
        }

        var carried: UInt64 { bytesSent.addingOrMost(bytesReceived) }
    }

    private var entries: [Entry] = []
    /// What each path's former subflows carried, in the order in which the paths first had one.
    private var gone: [TransferReport.PathTransfer] = []
    private var hasBegun = false
    /// The path that last carried something.
    private var active = 0
    private var sent: UInt64 = 0
    private var received: UInt64 = 0

    /// How many subflows there were in the latest sample.
    var subflowCount: Int { entries.count }

    /// The user's own count.
    mutating func count(sent: Int, received: Int) {
        self.sent += UInt64(sent)
        self.received += UInt64(received)
    }

    /// The kernel's counters now.
    ///
    /// - Parameters:
    ///   - unmarked: the family whose subflows don't bear the mark that was asked for.
    ///   - path: finds the path of a subflow that is new; the flag is set for the first. Nil leaves it for a later sample.
    mutating func record(
        _ samples: [SubflowSample], unmarked: IPAddress.Family? = nil,
        path: (SubflowSample, _ isFirst: Bool) -> PathID?
    ) {
        for index in entries.indices.reversed()
        where !samples.contains(where: { $0.id == entries[index].id }) {
            let entry = entries.remove(at: index)
            gone[entry.path].add(entry)
        }
        for sample in samples {
            if let known = entries.firstIndex(where: { $0.id == sample.id }) {
                let old = entries[known]
                let new = Entry(sample, path: old.path, isUnmarked: old.isUnmarked)
                guard new.carried >= old.carried, new.smoothedRTT > .zero || old.smoothedRTT == .zero else {
                    continue
                }
                if new.carried > old.carried { active = new.path }
                entries[known] = new
            } else if let id = path(sample, !hasBegun) {
                let isUnmarked = unmarked != nil && sample.local?.address.family == unmarked
                let entry = Entry(sample, path: place(of: id), isUnmarked: isUnmarked)
                hasBegun = true
                entries.append(entry)
                if entry.carried > 0 { active = entry.path }
            }
        }
    }

    private mutating func place(of path: PathID) -> Int {
        if let known = gone.firstIndex(where: { $0.path == path }) { return known }
        gone.append(TransferReport.PathTransfer(path: path))
        return gone.count - 1
    }

    /// One entry for each path, in the order in which they first had a subflow.
    func paths() -> [TransferReport.PathTransfer] {
        var paths = pathsBySubflow()
        if paths.count == 1, sent > 0 || received > 0 {
            // With one path nothing is left to divide, and the user's count has no duplicates in it.
            paths[0].bytesSent = sent
            paths[0].bytesReceived = received
        }
        return paths
    }

    /// The bytes that each path has carried, as the kernel counts them: both directions, and what was sent again.
    var carried: [(path: PathID, bytes: UInt64)] {
        var paths = gone
        for entry in entries { paths[entry.path].add(entry) }
        return paths.map {
            ($0.path, $0.bytesSent.addingOrMost($0.bytesReceived).addingOrMost($0.bytesRetransmitted))
        }
    }

    private func pathsBySubflow() -> [TransferReport.PathTransfer] {
        var paths = gone
        for entry in entries { paths[entry.path].add(entry) }
        guard paths.indices.contains(active) else { return paths }
        // What is left of the whole fits, because no more than the whole is booked then.
        paths[active].bytesSent += sent.subtractingOrZero(paths.total(\.bytesSent))
        paths[active].bytesReceived += received.subtractingOrZero(paths.total(\.bytesReceived))
        return paths
    }
}

extension TransferReport.PathTransfer {
    fileprivate init(path: PathID) {
        self.init(
            path: path, subflows: 0, bytesSent: 0, bytesReceived: 0, bytesRetransmitted: 0,
            smoothedRTT: .zero)
    }

    fileprivate mutating func add(_ entry: TransferLedger.Entry) {
        subflows += 1
        if entry.isUnmarked { unmarkedSubflows += 1 }
        bytesSent = bytesSent.addingOrMost(entry.bytesSent)
        bytesReceived = bytesReceived.addingOrMost(entry.bytesReceived)
        bytesRetransmitted = bytesRetransmitted.addingOrMost(entry.bytesRetransmitted)
        smoothedRTT = entry.smoothedRTT
        if let minimum = entry.minimumRTT { minimumRTT = min(minimumRTT ?? minimum, minimum) }
    }
}

extension [TransferReport.PathTransfer] {
    /// One of the counters, summed up over all paths.
    func total(_ counter: KeyPath<TransferReport.PathTransfer, UInt64>) -> UInt64 {
        reduce(0) { $0.addingOrMost($1[keyPath: counter]) }
    }
}

// The kernel's counters are what the kernel says: a sum that does not fit stops at the limit, as a difference stops at 0.
extension UInt64 {
    fileprivate func addingOrMost(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate func subtractingOrZero(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
