import PathCore
import TestSupport
import Testing

@Suite("A notification")
struct NotificationTests {
    @Test("says which tables the kernel may have changed without a word")
    func whatToReadAgain() {
        var reducer = SnapshotReducer(
            [.wired(), .wifi()], [.on(2, "192.0.2.2/24"), .on(3, "198.51.100.3/24")],
            [.ipv4(2), .ipv4(3)])
        var renamed = LinkFact.wired("lan0", 2)
        renamed.flags = [.up]
        let events: [(KernelEvent, KernelTables)] = [
            // A wireless link announces itself every few seconds, and nothing has changed.
            (.link(.wired()), []),
            (.link(.wired("lan0", 2)), []),
            (.link(renamed), .routes),
            (.link(.wifi().with([])), .routes),
            (.link(.cellular()), .routes),
            (.linkGone(3), .routes),
            (.linkGone(77), .routes),
            // It may be what the interface lacked: only one with an address is asked about.
            (.address(.on(2, "192.0.2.3/24")), .routes),
            (.addressGone(.on(2, "192.0.2.3/24")), .routes),
            (.addressGone(.on(77, "192.0.2.3/24")), .routes),
            (.defaultRouteChanged, .routes),
            (.lost, .all),
        ]
        #expect(events.map { reducer.apply($0.0) } == events.map(\.1))
    }

    @Test("of a link that went down and came up finds the IPv4 route gone, though no one said so")
    func silentLossByLink() {
        var reducer = SnapshotReducer([.wired()], [.on(2, "192.0.2.2/24")], [.ipv4(2, via: "192.0.2.1")])
        #expect(reducer.apply(.link(.wired().with([]))) == .routes)
        reducer.replaceRoutes([])
        #expect(reducer.snapshot().lines == ["(2 eth0 wired [192.0.2.2/24]): down"])
        #expect(reducer.apply(.link(.wired())) == .routes)
        #expect(reducer.snapshot().lines == ["(2 eth0 wired [192.0.2.2/24]): no default route"])
    }

    @Test("of a link's last address finds the IPv4 route gone, though no one said so")
    func silentLossByAddress() {
        var reducer = SnapshotReducer([.wired()], [.on(2, "192.0.2.2/24")], [.ipv4(2, via: "192.0.2.1")])
        #expect(reducer.apply(.addressGone(.on(2, "192.0.2.2/24"))) == .routes)
        reducer.replaceRoutes([])
        #expect(reducer.apply(.address(.on(2, "192.0.2.2/24"))) == .routes)
        #expect(reducer.snapshot().lines == ["(2 eth0 wired [192.0.2.2/24]): no default route"])
    }

    @Test("of a lost carrier takes the path away while the kernel keeps its route")
    func noCarrier() {
        var reducer = SnapshotReducer([.wired()], [.on(2, "192.0.2.2/24")], [.ipv4(2, via: "192.0.2.1")])
        #expect(reducer.apply(.link(.wired().with([.up]))) == .routes)
        #expect(
            reducer.snapshot().lines == ["(2 eth0 wired [192.0.2.2/24] via 192.0.2.1 metric 0): no carrier"])
    }

    @Test("of an interface that is gone takes its addresses along, whether or not they are announced")
    func addressesGoAlong() {
        var reducer = SnapshotReducer([.wired()], [.on(2, "192.0.2.2/24")], [])
        #expect(reducer.apply(.linkGone(2)) == .routes)
        #expect(reducer.apply(.link(.wired())) == .routes)
        #expect(reducer.snapshot().lines == ["(2 eth0 wired []): no default route"])
    }

    @Test("of an interface plugged in again makes a path of the new one: the same name, another index")
    func replug() {
        var reducer = SnapshotReducer(
            [.wired("usb0", 6)], [.on(6, "192.0.2.6/24")], [.ipv4(6, via: "192.0.2.1")])
        let before = reducer.snapshot()
        #expect(reducer.apply(.linkGone(6)) == .routes)
        reducer.replaceRoutes([])
        #expect(reducer.snapshot().lines == [])
        #expect(reducer.apply(.link(.wired("usb0", 9))) == .routes)
        #expect(reducer.apply(.address(.on(9, "192.0.2.6/24"))) == .routes)
        #expect(reducer.apply(.defaultRouteChanged) == .routes)
        reducer.replaceRoutes([.ipv4(9, via: "192.0.2.1")])
        #expect(reducer.snapshot().lines == ["9 usb0 wired IPv4 [192.0.2.6/24] via 192.0.2.1 metric 0"])
        #expect(
            reducer.snapshot().changes(since: before).map(\.description)
                == ["usb0 interface replaced (index was 6, is 9)"])
    }

    @Test("and what it has read again always give the tables' own snapshot, in 100 random lives of a machine")
    func notificationsFollowTheTables() {
        for seed in 0..<100 {
            var random = SplitMix64(seed: UInt64(seed))
            var kernel = ModelKernel()
            var reducer = SnapshotReducer()
            for step in 0..<100 {
                for _ in 0...random.next() % 3 { kernel.happen(&random) }
                var stale: KernelTables = []
                for event in kernel.notifications() { stale.formUnion(reducer.apply(event)) }
                kernel.read(stale, into: &reducer)

                var fresh = SnapshotReducer()
                kernel.read(.all, into: &fresh)
                if reducer.snapshot() != fresh.snapshot() {
                    Issue.record(
                        """
                        seed \(seed), step \(step): the notifications say \(reducer.snapshot().lines), \
                        the tables \(fresh.snapshot().lines)
                        """)
                    return
                }
            }
        }
    }
}
