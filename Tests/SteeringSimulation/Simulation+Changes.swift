// What happens to the client's paths, and how its monitor tells of it.

import PathCore

extension Simulation {
    func change(_ change: SimulatedChange) {
        noteTouch(change)
        switch change {
        case .roundTrip(let path, let time):
            paths[path].upwards = time.wholeNanoseconds / 2
            paths[path].downwards = time.wholeNanoseconds / 2
            noteWorking(path, anew: true)
        case .jitter(let path, let share):
            paths[path].jitter = share
            noteWorking(path, anew: true)
        case .loss(let path, let share):
            paths[path].loss = share
            noteWorking(path, anew: true)
        case .open(let path, let upwards, let downwards):
            paths[path].isOpenUpwards = upwards
            paths[path].isOpenDownwards = downwards
            noteWorking(path)
        case .forget(let path):
            paths[path].memory += 1
            forgottenAt = now
            noteWorking(path, anew: true)
        case .joins(let path, let fate):
            paths[path].joins = fate
            noteWorking(path)
        case .up(let path, let isSet): alter(path) { $0.isUp = isSet }
        case .carrier(let path, let isSet): alter(path) { $0.hasCarrier = isSet }
        case .address(let path, let isSet): alter(path) { $0.hasAddress = isSet }
        case .route(let path, let isSet): alter(path) { $0.hasRoute = isSet }
        case .signal(let path, let signal):
            paths[path].signal = signal
            _ = paths[path].signalDetector.ingest(signal, at: MonotonicTime(nanoseconds: now))
            after(options.monitorDelay.wholeNanoseconds, .snapshot)
        case .expensive(let path, let isSet): alter(path) { $0.isExpensive = isSet }
        case .constrained(let path, let isSet): alter(path) { $0.isConstrained = isSet }
        case .plugged(let path, let isSet):
            alter(path) {
                if isSet, !$0.exists { $0.index += 10 }
                $0.exists = isSet
            }
        case .renumber(let path):
            alter(path) { path in
                let bits = path.address.networkBytes.reduce(0) { $0 << 8 | UInt32($1) }
                path.address = IPAddress(ipv4: bits + 1)
            }
        case .sleep(let forgets):
            resumes += 1
            if forgets { forgottenAt = now }
            for path in paths.indices {
                if forgets { paths[path].memory += 1 }
                noteWorking(path, anew: true)
            }
            after(options.monitorDelay.wholeNanoseconds, .snapshot)
        case .awaits(let expects): steering[SimulatedEnd.client.rawValue]?.expectData(expects, self)
        case .verdict(let path):
            let verdict = PathVerdict(
                interface: paths[path].index, remote: options.server.address, trouble: .noAnswer,
                since: MonotonicTime(nanoseconds: now))
            steering[SimulatedEnd.client.rawValue]?.ingest(verdict, self)
        case .heal:
            for path in paths.indices {
                (paths[path].loss, paths[path].jitter, paths[path].joins) = (0, 0, .accepted)
                (paths[path].isOpenUpwards, paths[path].isOpenDownwards) = (true, true)
                alter(path) {
                    if !$0.exists { $0.index += 10 }
                    ($0.exists, $0.isUp, $0.hasCarrier) = (true, true, true)
                    ($0.hasAddress, $0.hasRoute) = (true, true)
                }
            }
        case .announce(let id, let endpoint): announce(id, endpoint, after: 0)
        case .flood(let count):
            for number in 0..<count {
                let address = IPAddress(ipv4: UInt32(truncatingIfNeeded: random.next()))
                let id = UInt8(random.next() % 255 + 1)
                announce(id, IPEndpoint(address, port: 443), after: Int64(number) * 1_000_000)
            }
        case .remove(let id):
            if let delay = delayFromServer { after(delay, .notice(.client, .removed(id))) }
        }
    }

    private func announce(_ id: UInt8, _ endpoint: IPEndpoint, after pause: Int64) {
        guard let delay = delayFromServer else { return }
        after(pause + delay, .notice(.client, .announced(id, endpoint)))
    }

    /// How long the server's word takes over a subflow that works; nil where there is none.
    private var delayFromServer: Int64? { sharedPaths.first { paths[$0].works }.map { paths[$0].downwards } }

    /// Keeps which paths' packets have felt anything.
    private func noteTouch(_ change: SimulatedChange) {
        switch change {
        case .roundTrip(let path, _), .jitter(let path, _), .loss(let path, _), .open(let path, _, _),
            .forget(let path), .joins(let path, _), .up(let path, _), .carrier(let path, _),
            .address(let path, _), .route(let path, _), .plugged(let path, _), .renumber(let path):
            paths[path].wasTouched = true
        case .sleep(let forgets):
            if forgets { for path in paths.indices { paths[path].wasTouched = true } }
        case .heal:
            for path in paths.indices where !paths[path].isSound { paths[path].wasTouched = true }
        case .signal, .expensive, .constrained, .awaits, .verdict, .announce, .flood, .remove: break
        }
    }

    private func alter(_ path: Int, _ body: (inout SimulatedPath) -> Void) {
        body(&paths[path])
        noteWorking(path, anew: true)
        after(options.monitorDelay.wholeNanoseconds, .snapshot)
    }

    func noteWorking(_ path: Int, anew: Bool = false) {
        if !paths[path].works {
            paths[path].worksSince = nil
        } else if anew || paths[path].worksSince == nil {
            paths[path].worksSince = now
        }
    }

    /// The client's paths as its monitor tells them, in the order of preference.
    package func snapshot() -> PathSnapshot {
        generation += 1
        var snapshot = PathSnapshot(generation: generation, resumes: resumes)
        for path in paths.sorted(by: Self.isPreferred) where path.exists {
            if path.isUsable {
                snapshot.interfaces.append(path.interface)
            } else {
                snapshot.excluded.append(ExcludedInterface(path.interface, reason: path.exclusion))
            }
        }
        return snapshot
    }

    /// Not constrained, not expensive, then by type, as the reducer ranks them.
    package static func isPreferred(_ left: SimulatedPath, _ right: SimulatedPath) -> Bool {
        let ranks = [left, right].map {
            ($0.isConstrained ? 100 : 0) + ($0.isExpensive ? 10 : 0)
                + ($0.type == .wired ? 0 : $0.type == .wifi ? 1 : 2)
        }
        return ranks[0] == ranks[1] ? left.metric < right.metric : ranks[0] < ranks[1]
    }

    var serverSnapshot: PathSnapshot {
        PathSnapshot(
            generation: 1,
            interfaces: [
                PathInterface(
                    index: 2, name: "eth0", type: Verdict(.wired, .kernel),
                    addresses: [InterfaceAddress(options.server.address, prefixLength: 24)], metric: 100,
                    supportsIPv4: true)
            ])
    }
}
