// What shortens the pause when one of several carrying paths dies in a bulk transfer (aggregate).
//
// What was on the dead path is sent again over the one that lives, by whoever sends: we, or the peer. But the kernel's
// scheduler has given that subflow megabytes already, as much as buffers allow, and what is sent again stands behind
// them: 1.3 to 2.9 MB were seen, 100 to 230 ms at 100 Mbit/s. A second subflow over the living path that was idle
// until then has nothing queued. The scheduler takes the one that is done first (mptcp_subflow_get_send,
// net/mptcp/protocol.c), so what is missed goes at once.
//
// A peer has room for two subflows beside the first (Linux, unless it is told otherwise), so there is one reserve, over
// the least preferred path: it is Wi-Fi that people walk out of. It costs a handshake, and gives way to all else.

extension SteeringMachine {
    /// There is one at most.
    var reserve: Int? { subflows.firstIndex { $0.purpose == .reserve } }

    /// Makes a reserve where it may be of use, and puts it aside again when all carry.
    mutating func keepReserve(_ paths: [PathInterface], at now: MonotonicTime) {
        guard configuration.mode == .aggregate, configuration.isAlone else { return }
        let carrying = paths.compactMap { path in
            dataSubflow(path.name).flatMap { data in
                let isCalm = records[path.name]?.isCalm == true
                return subflows[data].isEstablished && !subflows[data].isBackup && isCalm ? data : nil
            }
        }
        if carrying.count >= 2 { reserveCarries = false }
        if let reserve {
            if subflows[reserve].isBackup == reserveCarries {
                prioritize(reserve, isBackup: !reserveCarries, at: now)
            }
            return
        }
        guard let last = carrying.last, carrying.count >= 2 else { return }
        guard now >= nextReserve, isReady, !peerHasEnded, additionalSubflows < Self.room,
            outstanding > 64 * 1024 || subflows.contains(where: \.watch.isBulk)
        else { return }
        nextReserve = now.advanced(by: Self.reservePause)
        create(
            on: subflows[last].path, subflows[last].interface, subflows[last].address, subflows[last].remote,
            .reserve,
            isBackup: true, at: now)
    }

    /// Lets the reserve carry, from now until another path does, because one is being left.
    mutating func useReserve(insteadOf name: String, at now: MonotonicTime) {
        guard let reserve, subflows[reserve].path != name, subflows[reserve].isBackup,
            records[subflows[reserve].path]?.isDead == false
        else { return }
        reserveCarries = true
        prioritize(reserve, isBackup: !reserveCarries, at: now)
    }

    /// What needs its place, or what it hides, comes first.
    ///
    /// - Returns: whether there was one. Its place is free when the peer has heard of its end.
    @discardableResult
    mutating func giveUpReserve(at now: MonotonicTime) -> Bool {
        guard let reserve, !subflows[reserve].isUnwanted else { return false }
        nextReserve = now.advanced(by: Self.reservePause)
        reserveCarries = false
        if subflows[reserve].port == nil {
            subflows[reserve].isUnwanted = true
        } else {
            destroy(subflows.remove(at: reserve))
        }
        return true
    }

    /// Subflows beside the connection's first.
    var additionalSubflows: Int { subflows.count { $0.number > 1 } }

    static let room = 2
    /// Between two reserves: one that was given up was in the way.
    private static let reservePause = Duration.seconds(10)
}
