import Benchmark
import PathCore

/// A laptop: Wi-Fi, a modem, a docking station, and so many containers' interfaces that lead nowhere.
private func laptop(containers: UInt32) -> SnapshotReducer {
    var links = [
        LinkFact(index: 1, name: "lo", hardwareType: 772, flags: [.up, .lowerUp, .loopback]),
        LinkFact(index: 2, name: "eth0"), LinkFact(index: 3, name: "wlan0", device: .init(devtype: "wlan")),
        LinkFact(index: 4, name: "wwan0", hardwareType: 519, device: .init(devtype: "wwan")),
    ]
    links += (0..<containers).map {
        LinkFact(index: 10 + $0, name: "veth\($0)", kind: "veth", portKind: "bridge")
    }
    var reducer = SnapshotReducer()
    reducer.replaceLinks(links)
    reducer.replaceAddresses(
        (2...4).map { index in
            AddressFact(interface: index, address: IPAddress(ipv4: 0xC000_0200 + index), prefixLength: 24)
        })
    reducer.replaceRoutes(
        (2...4).map { index in
            DefaultRouteFact(
                family: .ipv4, interface: index, gateway: IPAddress(ipv4: 0xC000_0201), metric: 100 * index)
        })
    return reducer
}

func snapshots() {
    Benchmark("snapshot-made", configuration: Count.configuration()) {
        benchmark in
        let reducer = laptop(containers: 100)
        let snapshot = benchmark.measured { reducer.snapshot() }
        precondition(snapshot.interfaces.count == 3)
    }

    Benchmark("snapshot-diff", configuration: Count.configuration()) { benchmark in
        var reducer = laptop(containers: 100)
        let before = reducer.snapshot()
        _ = reducer.apply(.link(LinkFact(index: 2, name: "eth0", flags: [.up])))
        let after = reducer.snapshot()
        let changes = benchmark.measured { after.changes(since: before) }
        precondition(changes.contains { $0.reason == .pathLost })
    }

    Benchmark("snapshot-unchanged", configuration: Count.configuration()) { benchmark in
        let reducer = laptop(containers: 100)
        let (before, after) = (reducer.snapshot(), reducer.snapshot())
        let isSame = benchmark.measured { after.hasSameContent(as: before) }
        precondition(isSame)
    }
}
