// What shortens the pause when one of several carrying paths dies in a bulk transfer (aggregate).
//
// What was on the dead path is sent again over the one that lives, by whoever sends: we, or the peer. But the kernel's
// scheduler has given that subflow megabytes already, as much as buffers allow, and what is sent again stands behind
// them: 1.3 to 2.9 MB were seen, 100 to 230 ms at 100 Mbit/s. A second subflow over the living path that was idle
// until then has nothing queued. The scheduler takes the one that is done first (mptcp_subflow_get_send,
// net/mptcp/protocol.c), so what is missed goes at once.
//
// A peer has room for two subflows beside the first (Linux, unless it is told otherwise), so there is one spare, over
// the least preferred path: it is Wi-Fi that people walk out of. It costs a handshake, and gives way to all else.

extension ModeMachine {
    /// There is one at most.
    var spare: Int? { flows.firstIndex { $0.purpose == .spare } }

    /// Makes a spare where it may be of use, and puts it aside again when all carry.
    mutating func keepSpare(_ paths: [PathInterface], at now: MonotonicTime) {
        guard configuration.mode == .aggregate, configuration.isAlone else { return }
        let carrying = paths.compactMap { path in
            dataFlow(path.name).flatMap { data in
                let isCalm = records[path.name]?.isCalm == true
                return flows[data].isEstablished && !flows[data].isBackup && isCalm ? data : nil
            }
        }
        if carrying.count >= 2 { spareCarries = false }
        if let spare {
            if flows[spare].isBackup == spareCarries { prioritize(spare, isBackup: !spareCarries, at: now) }
            return
        }
        guard let last = carrying.last, carrying.count >= 2 else { return }
        guard now >= nextSpare, isReady, !peerHasEnded, additionalFlows < Self.room,
            outstanding > 64 * 1024 || flows.contains(where: \.watch.isBulk)
        else { return }
        nextSpare = now.advanced(by: Self.sparePause)
        create(
            on: flows[last].path, flows[last].interface, flows[last].address, flows[last].remote, .spare,
            isBackup: true, at: now)
    }

    /// Lets the spare carry, from now until another path does, because one is being left.
    mutating func useSpare(insteadOf name: String, at now: MonotonicTime) {
        guard let spare, flows[spare].path != name, flows[spare].isBackup,
            records[flows[spare].path]?.isDead == false
        else { return }
        spareCarries = true
        prioritize(spare, isBackup: !spareCarries, at: now)
    }

    /// What needs its place, or what it hides, comes first.
    ///
    /// - Returns: whether there was one. Its place is free when the peer has heard of its end.
    @discardableResult
    mutating func giveUpSpare(at now: MonotonicTime) -> Bool {
        guard let spare, !flows[spare].isUnwanted else { return false }
        nextSpare = now.advanced(by: Self.sparePause)
        spareCarries = false
        if flows[spare].port == nil {
            flows[spare].isUnwanted = true
        } else {
            destroy(flows.remove(at: spare))
        }
        return true
    }

    /// Subflows beside the connection's first.
    var additionalFlows: Int { flows.count { $0.number > 1 } }

    static let room = 2
    /// Between two spares: one that was given up was in the way.
    private static let sparePause = Duration.seconds(10)
}
