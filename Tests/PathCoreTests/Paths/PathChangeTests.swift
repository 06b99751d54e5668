import PathCore
import TestSupport
import Testing

@Suite("The changes between two snapshots")
struct PathChangeTests {
    private let wired = path(2, "eth0", .wired)
    private let wifi = path(3, "wlan0", .wifi)
    private let cellular = path(4, "wwan0", .cellular)

    @Test("are only \"initial\" for the first one, and none between equals")
    func initial() {
        let snapshot = PathSnapshot(interfaces: [wired], excluded: [ExcludedInterface(wifi, reason: .down)])
        #expect(snapshot.changes(since: nil) == [PathChange(.initial)])
        var later = snapshot
        (later.generation, later.changes) = (7, [PathChange(.initial)])
        #expect(later.changes(since: snapshot) == [])
        #expect(later.hasSameContent(as: snapshot))
    }

    @Test("tell of a path that appeared")
    func appeared() {
        #expect(changes([wired], [wired, wifi]) == ["wlan0 path appeared"])
        #expect(
            changes([], [wired])
                == ["eth0 primary changed (was none, is eth0)", "eth0 path appeared"])
    }

    @Test("tell of a path that was lost, and why")
    func lost() {
        #expect(changes([wired, wifi], [wired]) == ["wlan0 path lost (gone)"])
        #expect(
            changes([wired, wifi], [wired], nowExcluded: [ExcludedInterface(wifi, reason: .noCarrier)])
                == ["wlan0 path lost (no carrier)"])
        #expect(
            changes([wired], [], nowExcluded: [ExcludedInterface(wired, reason: .down)])
                == ["primary changed (was eth0, is none)", "eth0 path lost (down)"])
    }

    @Test("tell of another order, and of another first")
    func order() {
        #expect(
            changes([wired, wifi], [wifi, wired])
                == ["wlan0 primary changed (was eth0, is wlan0)", "order changed (wlan0, eth0)"])
        #expect(
            changes([wired, wifi, cellular], [wired, cellular, wifi])
                == ["order changed (eth0, wwan0, wlan0)"])
        // The rest moves up; that is no other order.
        #expect(
            changes([wired, wifi, cellular], [wifi, cellular])
                == ["wlan0 primary changed (was eth0, is wlan0)", "eth0 path lost (gone)"])
    }

    @Test("tell of an interface that was plugged in again")
    func replaced() {
        let again = path(9, "eth0", .wired)
        #expect(changes([wired, wifi], [again, wifi]) == ["eth0 interface replaced (index was 2, is 9)"])
        // While the new one is no path yet, the old one is lost.
        #expect(
            changes([wired], [], nowExcluded: [ExcludedInterface(again, reason: .noAddress)]) == [
                "primary changed (was eth0, is none)", "eth0 path lost (gone)",
                "eth0 excluded changed (no usable address)",
            ])
        // One that was no path either time is there all along, under its name.
        #expect(
            changes(
                [], [], wereExcluded: [ExcludedInterface(wired, reason: .down)],
                nowExcluded: [ExcludedInterface(again, reason: .noCarrier)])
                == ["eth0 excluded changed (no carrier)"])
        #expect(
            changes([wifi], [wifi, again], wereExcluded: [ExcludedInterface(wired, reason: .down)])
                == ["eth0 path appeared"])
    }

    @Test("tell of everything that changed on a path, what it was and what it is")
    func properties() {
        var new = wired
        new.type = Verdict(.wifi, .configuration)
        new.expensive = Verdict(.yes, .environment)
        new.constrained = Verdict(true, .configuration)
        (new.supportsIPv4, new.supportsIPv6) = (false, true)
        new.addresses = [InterfaceAddress("2001:db8::2/64"), InterfaceAddress("fe80::2/64")]
        new.gateways = []
        new.metric = nil
        #expect(
            changes([wired], [new]) == [
                "eth0 type changed (was wired by kernel, is wifi by configuration)",
                "eth0 expensive changed (was unknown by assumed, is yes by environment)",
                "eth0 constrained changed (was no by assumed, is yes by configuration)",
                "eth0 families changed (was IPv4, is IPv6)",
                "eth0 addresses changed (was 192.0.2.2/24, is 2001:db8::2/64 fe80::2/64)",
                "eth0 gateways changed (was 192.0.2.1, is none)",
                "eth0 metric changed (was 100, is none)",
            ])
    }

    @Test("tell of a verdict that another source gives now")
    func sources() {
        var new = wired
        new.type = Verdict(.wired, .configuration)
        new.expensive = Verdict(.no, .environment)
        #expect(
            changes([wired], [new]) == [
                "eth0 type changed (was wired by kernel, is wired by configuration)",
                "eth0 expensive changed (was unknown by assumed, is no by environment)",
            ])
    }

    @Test("tell of another name for the same interface")
    func renamed() {
        #expect(
            changes([wired, wifi], [wired, path(3, "radio0", .wifi)])
                == ["radio0 interface renamed (was wlan0, is radio0)"])
    }

    @Test("tell of interfaces that are no path: new ones, others' reasons, gone ones")
    func excluded() {
        var addressed = cellular
        addressed.addresses = []
        #expect(
            changes(
                [], [],
                wereExcluded: [
                    ExcludedInterface(wired, reason: .down), ExcludedInterface(wifi, reason: .down),
                    ExcludedInterface(cellular, reason: .down),
                    ExcludedInterface(path(7, "x0", .other), reason: .down),
                ],
                nowExcluded: [
                    ExcludedInterface(wired, reason: .noCarrier), ExcludedInterface(addressed, reason: .down),
                    ExcludedInterface(path(7, "x0", .other), reason: .down),
                    ExcludedInterface(path(8, "y0", .other), reason: .behindTunnel("tun0")),
                ]) == [
                    "eth0 excluded changed (no carrier)", "wwan0 excluded changed (down)",
                    "y0 excluded changed (behind the tunnel tun0)", "wlan0 excluded changed (gone)",
                ])
    }

    @Test("do not tell of virtual interfaces that are no paths, unless they were paths")
    func containers() {
        let veth = path(9, "veth0", .virtual)
        #expect(changes([wired], [wired], nowExcluded: [ExcludedInterface(veth, reason: .noAddress)]) == [])
        #expect(changes([wired], [wired], wereExcluded: [ExcludedInterface(veth, reason: .down)]) == [])
        #expect(
            changes([wired, veth], [wired], nowExcluded: [ExcludedInterface(veth, reason: .down)])
                == ["veth0 path lost (down)"])
        let without = PathSnapshot(interfaces: [wired])
        var with = without
        with.excluded = [ExcludedInterface(veth, reason: .noAddress)]
        #expect(with.hasSameContent(as: without))
        with.excluded = [ExcludedInterface(wifi, reason: .noAddress)]
        #expect(!with.hasSameContent(as: without))
    }

    @Test("that a consumer skipped are in those to the next snapshot it sees")
    func skipped() {
        let tagged = { (path: PathInterface) in
            var path = path
            path.constrained = Verdict(true, .configuration)
            return path
        }
        // Unseen: eth0 is unplugged, wlan0 constrained; then wwan0 appears; then eth0 is back as another.
        #expect(
            changes([wired, wifi], [path(9, "eth0", .wired), cellular, tagged(wifi)]) == [
                "eth0 interface replaced (index was 2, is 9)", "wwan0 path appeared",
                "wlan0 constrained changed (was no by assumed, is yes by configuration)",
            ])
    }

    @Test("name every difference and nothing else, whatever was skipped, in 100 random lives of a machine")
    func nothingIsLost() {
        for seed in 100..<200 {
            var random = SplitMix64(seed: UInt64(seed))
            var kernel = ModelKernel()
            var seen = PathSnapshot()
            for step in 0..<100 {
                // A consumer that is slow at times.
                for _ in 0...random.next() % 5 { kernel.happen(&random) }
                var reducer = SnapshotReducer()
                kernel.read(.all, into: &reducer)
                let snapshot = reducer.snapshot()
                let found = snapshot.changes(since: seen)
                let missing = differences(from: seen, to: snapshot).subtracting(found.map(Named.init))
                if !missing.isEmpty || found.isEmpty != snapshot.hasSameContent(as: seen)
                    || Set(found).count != found.count
                {
                    Issue.record(
                        """
                        seed \(seed), step \(step): from \(seen.lines) to \(snapshot.lines) found \(found), \
                        missing \(missing)
                        """)
                    return
                }
                seen = snapshot
            }
        }
    }
}

/// An interface with the address, router and metric its index gives it.
private func path(_ index: InterfaceIndex, _ name: String, _ type: InterfaceType) -> PathInterface {
    PathInterface(
        index: index, name: name, type: Verdict(type, .kernel),
        addresses: [InterfaceAddress("192.0.2.\(index)/24")], gateways: [ip("192.0.2.1")], metric: 100,
        supportsIPv4: true)
}

private func changes(
    _ old: [PathInterface], _ new: [PathInterface], wereExcluded: [ExcludedInterface] = [],
    nowExcluded: [ExcludedInterface] = []
) -> [String] {
    PathSnapshot(interfaces: new, excluded: nowExcluded)
        .changes(since: PathSnapshot(interfaces: old, excluded: wereExcluded)).map(\.description)
}

/// A change without its detail.
private struct Named: Hashable, CustomStringConvertible {
    var reason: PathChange.Reason
    var interface: String?

    init(_ reason: PathChange.Reason, _ interface: String? = nil) {
        (self.reason, self.interface) = (reason, interface)
    }

    init(_ change: PathChange) { self.init(change.reason, change.interface) }

    var description: String { "\(interface ?? "") \(reason)" }
}

/// What a list of changes must name, worked out another way: by pairs of equal index.
private func differences(from old: PathSnapshot, to new: PathSnapshot) -> Set<Named> {
    var found: Set<Named> = []
    if old.primary?.name != new.primary?.name { found.insert(Named(.primaryChanged, new.primary?.name)) }
    for lost in old.interfaces where !new.interfaces.contains(where: { $0.index == lost.index }) {
        let isBack = new.interfaces.contains { $0.name == lost.name }
        found.insert(Named(isBack ? .interfaceReplaced : .pathLost, lost.name))
    }
    for path in new.interfaces {
        guard let was = old.interfaces.first(where: { $0.index == path.index }) else {
            let wasThere = old.interfaces.contains { old in
                old.name == path.name && !new.interfaces.contains { $0.index == old.index }
            }
            found.insert(Named(wasThere ? .interfaceReplaced : .pathAppeared, path.name))
            continue
        }
        if path.name != was.name { found.insert(Named(.interfaceRenamed, path.name)) }
        if path.type != was.type { found.insert(Named(.typeChanged, path.name)) }
        if path.expensive != was.expensive { found.insert(Named(.expensiveChanged, path.name)) }
        if path.constrained != was.constrained { found.insert(Named(.constrainedChanged, path.name)) }
        if path.families != was.families { found.insert(Named(.familiesChanged, path.name)) }
        if path.settled.addresses != was.settled.addresses {
            found.insert(Named(.addressesChanged, path.name))
        }
        if path.gateways != was.gateways { found.insert(Named(.gatewaysChanged, path.name)) }
        if path.carrier != was.carrier { found.insert(Named(.carrierChanged, path.name)) }
        if path.metric != was.metric { found.insert(Named(.metricChanged, path.name)) }
    }
    for excluded in new.excluded where excluded.interface.type.value != .virtual {
        let was = old.excluded.first { $0.interface.index == excluded.interface.index }
        let wasPath = old.interfaces.contains { $0.index == excluded.interface.index }
        let isSame = was?.interface.settled == excluded.interface.settled && was?.reason == excluded.reason
        if !isSame, !wasPath { found.insert(Named(.excludedChanged, excluded.interface.name)) }
    }
    return found
}

extension PathInterface {
    /// Without the states of its addresses, which consumers are not woken for.
    fileprivate var settled: PathInterface {
        var copy = self
        copy.addresses = addresses.map { InterfaceAddress($0.address, prefixLength: $0.prefixLength) }
        return copy
    }
}
