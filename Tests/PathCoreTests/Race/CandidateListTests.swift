import PathCore
import Testing

@Suite("The candidates for a destination")
struct CandidateListTests {
    /// eth0 and wlan0 at home, wwan0 abroad: all with both families, and each with a default route.
    private static let snapshot = SnapshotReducer(
        [.loopback, .wired(), .wifi(), .cellular()],
        [
            .on(2, "192.168.1.2/24"), .on(2, "2001:db8:1::2/64"), .on(3, "192.168.1.3/24"),
            .on(3, "2001:db8:1::3/64"), .on(4, "100.64.0.4/30"), .on(4, "2001:db8:4::4/64"),
        ], [.ipv4(2), .ipv6(2), .ipv4(3), .ipv6(3), .ipv4(4), .ipv6(4)]
    ).snapshot()
    private static let routes = RoutingTable(
        [
            ("0.0.0.0/0", 2), ("::/0", 2), ("0.0.0.0/0", 3), ("::/0", 3), ("0.0.0.0/0", 4), ("::/0", 4),
            ("192.168.1.0/24", 2), ("192.168.1.0/24", 3), ("100.64.0.4/30", 4), ("fe80::/64", 2),
            ("fe80::/64", 3), ("fe80::/64", 4),
        ], local: [ip("192.168.1.2"), ip("127.0.0.1")])

    @Test("are whole values, one list for each path")
    func values() {
        let list = CandidateList(
            snapshot: Self.snapshot, policy: PathPolicy(), addresses: [ip("203.0.113.1")], port: 443,
            protocols: [.mptcp], route: Self.routes.answer)
        func candidate(_ interface: InterfaceIndex, _ path: PathID) -> Candidate {
            Candidate(
                path: path, interface: interface,
                endpoint: IPEndpoint(ip("203.0.113.1"), port: 443), transport: .mptcp)
        }
        #expect(
            list.branches
                == [[candidate(2, "eth0")], [candidate(3, "wlan0")], [candidate(4, "wwan0")]])
        #expect(list.omissions == [])
    }

    @Test("name the paths that are waited for and would come before the first, as the caller's rules say")
    func awaited() {
        func awaited(
            _ awaiting: Set<InterfaceIndex>, _ configure: (inout PathPolicy) -> Void
        ) -> Set<InterfaceIndex> {
            var policy = PathPolicy()
            configure(&policy)
            // wlan0 has found an address of the Internet.
            return CandidateList(
                snapshot: Self.snapshot, policy: policy, addresses: [ip("203.0.113.1")], port: 443,
                protocols: [.mptcp], awaiting: awaiting, isUsable: { $1 == 3 }, route: Self.routes.answer
            ).awaited
        }
        #expect(awaited([2, 4]) { _ in } == [2])
        #expect(awaited([]) { _ in } == [])
        #expect(awaited([2, 4]) { $0.preferredInterface = "wwan0" } == [2, 4])
        #expect(awaited([2, 4]) { $0.preferredInterface = "wlan0" } == [])
        #expect(awaited([2, 4]) { $0.prohibitedInterfaces = ["eth0"] } == [])
        #expect(awaited([2, 4]) { $0.requiredInterface = "wwan0" } == [])
    }

    @Test("begin with the first address of each family by every protocol, and then the rest")
    func orderInsideABranch() {
        let list = candidates(for: ["2001:db8::1", "2001:db8::2", "203.0.113.1", "203.0.113.2"]) {
            $0.requiredInterface = "eth0"
        }
        #expect(
            list.branches == [
                [
                    "eth0 mptcp [2001:db8::1]:443", "eth0 mptcp 203.0.113.1:443",
                    "eth0 tcp [2001:db8::1]:443", "eth0 tcp 203.0.113.1:443",
                    "eth0 mptcp [2001:db8::2]:443", "eth0 tcp [2001:db8::2]:443",
                    "eth0 mptcp 203.0.113.2:443", "eth0 tcp 203.0.113.2:443",
                ]
            ])
    }

    @Test("alternate between the families, beginning with the best by RFC 6724 (RFC 8305 section 4)")
    func interleaving() {
        func order(_ addresses: String...) -> [[String]] {
            candidates(for: addresses, protocols: [.tcp]) { $0.requiredInterface = "eth0" }.branches
                .map { $0.map { String($0.dropFirst("eth0 tcp ".count)) } }
        }
        #expect(
            order("2001:db8::1", "2001:db8::2", "2001:db8::3", "203.0.113.1")
                == [["[2001:db8::1]:443", "203.0.113.1:443", "[2001:db8::2]:443", "[2001:db8::3]:443"]])
        #expect(
            order("203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2")
                == [["[2001:db8::1]:443", "203.0.113.1:443", "[2001:db8::2]:443", "203.0.113.2:443"]])
        // An address that is listed twice is tried once.
        #expect(
            order("203.0.113.1", "203.0.113.2", "203.0.113.1", "2001:db8::1", "203.0.113.2")
                == [["[2001:db8::1]:443", "203.0.113.1:443", "203.0.113.2:443"]])
    }

    @Test("ask for plain TCP only, if that is all there is")
    func protocols() {
        let list = candidates(for: ["203.0.113.1"], protocols: [.tcp])
        #expect(
            list.branches == [
                ["eth0 tcp 203.0.113.1:443"], ["wlan0 tcp 203.0.113.1:443"],
                ["wwan0 tcp 203.0.113.1:443"],
            ])
    }

    @Test("on the local network are not asked for on the Internet")
    func longestPrefix() {
        let list = candidates(for: ["192.168.1.9"], protocols: [.tcp])
        #expect(list.branches == [["eth0 tcp 192.168.1.9:443"], ["wlan0 tcp 192.168.1.9:443"]])
        #expect(list.omissions == ["wwan0: no route to the destination"])
    }

    @Test("take each address by the paths that lead there")
    func addressesOfTwoPlaces() {
        let list = candidates(for: ["192.168.1.9", "2001:db8::1"], protocols: [.tcp])
        #expect(
            list.branches == [
                ["eth0 tcp [2001:db8::1]:443", "eth0 tcp 192.168.1.9:443"],
                ["wlan0 tcp [2001:db8::1]:443", "wlan0 tcp 192.168.1.9:443"],
                ["wwan0 tcp [2001:db8::1]:443"],
            ])
    }

    @Test("on this machine itself go over loopback", arguments: ["127.0.0.1", "192.168.1.2"])
    func local(address: String) {
        let list = candidates(for: [address])
        #expect(list.branches == [["lo mptcp \(address):443", "lo tcp \(address):443"]])
        #expect(
            list.omissions == [
                "eth0: no route to the destination", "wlan0: no route to the destination",
                "wwan0: no route to the destination",
            ])
    }

    @Test("with a zone are asked for on its interface only")
    func zone() {
        let list = candidates(for: ["fe80::9%3"], protocols: [.tcp])
        #expect(list.branches == [["wlan0 tcp [fe80::9%3]:443"]])
        #expect(
            list.omissions
                == ["eth0: no route to the destination", "wwan0: no route to the destination"])
        // Without one, any link may be meant.
        #expect(
            candidates(for: ["fe80::9"], protocols: [.tcp]).branches
                == [["eth0 tcp [fe80::9]:443"], ["wlan0 tcp [fe80::9]:443"], ["wwan0 tcp [fe80::9]:443"]])
    }

    @Test("are none on a path that the policy prohibits, and that is said")
    func prohibited() {
        let list = candidates(for: ["203.0.113.1"], protocols: [.tcp]) {
            $0.allowsExpensivePaths = false
            $0.prohibitedInterfaceTypes = [.wifi]
        }
        #expect(list.branches == [["eth0 tcp 203.0.113.1:443"]])
        #expect(
            list.omissions
                == ["wlan0: its type is prohibited, prohibited_type", "wwan0: expensive, expensive"])
    }

    @Test("are none where the policy refuses every path, and no address is sent around it")
    func allProhibited() {
        let list = candidates(for: ["203.0.113.1", "192.168.1.2"]) { $0.requiredInterface = "eth9" }
        #expect(list.branches == [])
        let refused = "another interface is required, not_required"
        #expect(list.omissions == ["eth0", "wlan0", "wwan0", "lo"].map { "\($0): \(refused)" })
    }

    @Test("name the policy's refusal also where the path leads nowhere anyway")
    func refusalWithoutRoute() {
        let list = candidates(for: ["192.168.1.9"], protocols: [.tcp]) { $0.allowsExpensivePaths = false }
        #expect(list.omissions == ["wwan0: expensive, expensive"])
    }

    @Test("begin with the preferred interface, and keep the order of the rest")
    func preferred() {
        func order(_ name: String, _ configure: (inout PathPolicy) -> Void = { _ in }) -> [String] {
            candidates(for: ["203.0.113.1"], protocols: [.tcp]) {
                $0.preferredInterface = name
                configure(&$0)
            }.branches.map { String($0[0].prefix { $0 != " " }) }
        }
        #expect(order("wwan0") == ["wwan0", "eth0", "wlan0"])
        #expect(order("wlan0") == ["wlan0", "eth0", "wwan0"])
        #expect(order("eth9") == ["eth0", "wlan0", "wwan0"])
        // A wish is no permission.
        #expect(order("wwan0") { $0.allowsExpensivePaths = false } == ["eth0", "wlan0"])
    }

    @Test("are none without a route, and each interface says why")
    func unreachable() {
        let snapshot = SnapshotReducer(
            [.loopback, .wired(), .wifi().with([]), .cellular().with([.up])], [.on(2, "192.0.2.2/24")],
            [.ipv4(2)]
        ).snapshot()
        let list = candidates(
            for: ["2001:db8::1"], in: snapshot, routes: RoutingTable([("0.0.0.0/0", 2)]))
        #expect(list.branches == [])
        #expect(
            list.omissions
                == ["eth0: no route to the destination", "wlan0: down", "wwan0: no carrier"])
    }

    @Test("on the link of an interface that is no path to the Internet are asked for there")
    func onLink() {
        // A camera on a second wire: no default route there.
        let snapshot = SnapshotReducer(
            [.wired(), .wired("eth1", 7)], [.on(2, "192.0.2.2/24"), .on(7, "10.0.0.7/24")], [.ipv4(2)]
        ).snapshot()
        let routes = RoutingTable([("0.0.0.0/0", 2), ("10.0.0.0/24", 7)])
        let list = candidates(for: ["10.0.0.9"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(list.branches == [["eth1 tcp 10.0.0.9:443"]])
        #expect(list.omissions == ["eth0: no route to the destination"])
    }

    @Test("are none on an unplugged link, although the kernel still has its routes and prefers them")
    func unplugged() {
        let snapshot = SnapshotReducer(
            [.wired().with([.up]), .wifi()], [.on(2, "192.168.1.2/24"), .on(3, "198.51.100.3/24")],
            [.ipv4(2, metric: 100), .ipv4(3, metric: 600)]
        ).snapshot()
        let routes = RoutingTable([
            ("0.0.0.0/0", 2), ("0.0.0.0/0", 3), ("192.168.1.0/24", 2), ("198.51.100.0/24", 3),
        ])
        let abroad = candidates(for: ["203.0.113.1"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(abroad.branches == [["wlan0 tcp 203.0.113.1:443"]])
        #expect(abroad.omissions == ["eth0: no carrier"])
        // Nor is the unplugged network's private address asked for on another.
        let home = candidates(for: ["192.168.1.9"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(home.branches == [])
        #expect(home.omissions == ["wlan0: no route to the destination", "eth0: no carrier"])
    }

    @Test("never go around a tunnel that takes the default traffic of their family")
    func aroundATunnel() {
        // The VPN takes IPv4 only, so eth0 is still a path: for IPv6, and for its own network.
        let snapshot = SnapshotReducer(
            [.wired(), .tunnel()],
            [.on(2, "192.168.1.2/24"), .on(2, "2001:db8::2/64"), .on(5, "10.8.0.5/24")],
            [.ipv4(5, metric: 50), .ipv4(2, metric: 100), .ipv6(2, metric: 100)]
        ).snapshot()
        let routes = RoutingTable([
            ("0.0.0.0/0", 5), ("0.0.0.0/0", 2), ("::/0", 2), ("192.168.1.0/24", 2), ("10.8.0.0/24", 5),
        ])
        let list = candidates(
            for: ["203.0.113.1", "2001:db8:9::1"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(list.branches == [["tun0 tcp 203.0.113.1:443"], ["eth0 tcp [2001:db8:9::1]:443"]])
        #expect(
            candidates(for: ["192.168.1.9"], protocols: [.tcp], in: snapshot, routes: routes).branches
                == [["eth0 tcp 192.168.1.9:443"]])
    }

    @Test("follow the kernel into a tunnel that policy routing prefers, and nowhere else")
    func tunnelByPolicyRouting() {
        // As wg-quick does it: the tunnel's default route stands in a table of its own.
        let snapshot = SnapshotReducer(
            [.wired(), .tunnel("wg0")], [.on(2, "192.168.1.2/24"), .on(5, "10.8.0.5/24")], [.ipv4(2)]
        ).snapshot()
        let routes = RoutingTable([("0.0.0.0/0", 5), ("0.0.0.0/0", 2)])
        let list = candidates(for: ["203.0.113.1"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(list.branches == [["wg0 tcp 203.0.113.1:443"]])
        #expect(list.omissions == ["eth0: no route to the destination"])
    }

    @Test("leave a tunnel that has lost its carrier")
    func deadTunnel() {
        let snapshot = SnapshotReducer(
            [.wired(), .tunnel().with([.up])], [.on(2, "192.168.1.2/24"), .on(5, "10.8.0.5/24")],
            [.ipv4(5, metric: 50), .ipv4(2, metric: 100)]
        ).snapshot()
        let routes = RoutingTable([("0.0.0.0/0", 5), ("0.0.0.0/0", 2)])
        let list = candidates(for: ["203.0.113.1"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(list.branches == [["eth0 tcp 203.0.113.1:443"]])
        #expect(list.omissions == ["tun0: no carrier"])
    }

    @Test("race a tunnel that the kernel does not prefer as one path of several")
    func tunnelBesideOthers() {
        let snapshot = SnapshotReducer(
            [.wired(), .tunnel()], [.on(2, "192.168.1.2/24"), .on(5, "10.8.0.5/24")],
            [.ipv4(2, metric: 100), .ipv4(5, metric: 200)]
        ).snapshot()
        let routes = RoutingTable([("0.0.0.0/0", 2), ("0.0.0.0/0", 5)])
        let list = candidates(for: ["203.0.113.1"], protocols: [.tcp], in: snapshot, routes: routes)
        #expect(list.branches == [["eth0 tcp 203.0.113.1:443"], ["tun0 tcp 203.0.113.1:443"]])
    }

    @Test("use no default route of a family that the interface has no address for")
    func defaultRouteWithoutAddress() {
        // wlan0 still checks its IPv6 address for duplicates; wwan0 has no address at all.
        let snapshot = SnapshotReducer(
            [.wired(), .wifi(), .cellular()],
            [
                .on(2, "2001:db8:1::2/64"), .on(3, "192.168.1.3/24"),
                .on(3, "2001:db8:1::3/64", .tentative),
            ], [.ipv6(2), .ipv4(3), .ipv6(3), .ipv6(4)]
        ).snapshot()
        let list = candidates(for: ["2001:db8:9::1"], protocols: [.tcp], in: snapshot)
        #expect(list.branches == [["eth0 tcp [2001:db8:9::1]:443"]])
        #expect(
            list.omissions == ["wlan0: no route to the destination", "wwan0: no usable address"])
    }

    // MARK: As text

    private func candidates(
        for addresses: [String], protocols: [TransportProtocol] = [.mptcp, .tcp],
        in snapshot: PathSnapshot = Self.snapshot, routes: RoutingTable = Self.routes,
        _ configure: (inout PathPolicy) -> Void = { _ in }
    ) -> (branches: [[String]], omissions: [String]) {
        var policy = PathPolicy()
        configure(&policy)
        let list = CandidateList(
            snapshot: snapshot, policy: policy, addresses: addresses.map(ip), port: 443,
            protocols: protocols, route: routes.answer)
        let branches = list.branches.map { branch in
            branch.map { "\($0.path) \($0.transport.rawValue) \($0.endpoint)" }
        }
        let omissions = list.omissions.map {
            "\($0.interface): \($0.reason)\($0.refusal.map { ", \($0.rawValue)" } ?? "")"
        }
        return (branches, omissions)
    }
}
