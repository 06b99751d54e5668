import PathCore
import Testing

@Suite("What a path costs")
struct PathTagsTests {
    @Test("is asked of the process, the user, NetworkManager, the lease and the type, in this order")
    func order() {
        var radio = LinkFact.cellular()
        radio.hardwareAddress = [2, 0, 0, 0, 0, 4]
        var overrides = InterfaceOverrides(
            configuration: ["wwan0": InterfaceOverride(isExpensive: false)],
            environment: ["wwan0": InterfaceOverride(isExpensive: true)])
        var hints = InterfaceHints()
        hints.settings.entries = ["wwan0": .init(isExpensive: false)]
        hints.networkManager = [
            "wwan0": NetworkManagerDevice(metered: .no, hardwareAddress: radio.hardwareAddress)
        ]
        hints.leases = [4: LeaseHint(isAndroidMetered: true)]

        var verdicts: [Verdict<Expense>] = []
        func ask() {
            var reducer = SnapshotReducer([radio], [], [], overrides: overrides)
            reducer.hints = hints
            verdicts.append(reducer.snapshot().interface(4)!.expensive)
        }
        ask()
        overrides.configuration = [:]
        ask()
        overrides.environment = [:]
        ask()
        hints.settings.entries = [:]
        ask()
        hints.networkManager["wwan0"]?.metered = .guessedNo
        ask()
        hints.leases = [:]
        ask()
        hints.networkManager["wwan0"]?.metered = .guessedYes
        ask()
        hints.networkManager = [:]
        ask()
        radio.device.devtype = "wlan"
        radio.hardwareType = 1
        ask()
        radio.device.devtype = nil
        radio.name = "eth0"
        ask()

        #expect(
            verdicts == [
                Verdict(.no, .configuration), Verdict(.yes, .environment), Verdict(.no, .settings),
                Verdict(.no, .networkManager),
                Verdict(.guessedYes, .dhcpLease),  // rather than a guess of NetworkManager's
                Verdict(.guessedYes, .interfaceType),  // a modem, which NetworkManager guesses away
                Verdict(.guessedYes, .networkManager), Verdict(.guessedYes, .interfaceType),
                Verdict(.unknown, .assumed),  // Wi-Fi: it may be a telephone's
                Verdict(.guessedNo, .interfaceType),  // a wire
            ])
    }

    @Test("is NetworkManager's guess where nothing better is known")
    func guess() {
        var hints = InterfaceHints()
        hints.networkManager = ["wlan0": NetworkManagerDevice(metered: .guessedNo)]
        #expect(tags(.wifi(), hints).expensive == Verdict(.guessedNo, .networkManager))
    }

    @Test("is not NetworkManager's word about an interface of the same name elsewhere")
    func otherNamespace() {
        var hints = InterfaceHints()
        hints.networkManager = [
            "wlan0": NetworkManagerDevice(metered: .yes, ssid: "Other", hardwareAddress: [2, 0, 0, 0, 0, 9])
        ]
        let there = tags(.wifi(), hints)
        #expect(there.expensive == Verdict(.unknown, .assumed))
        #expect(there.ssid == nil)
    }

    @Test("is not in the lease of another interface that has the same number elsewhere")
    func othersLease() {
        var reducer = SnapshotReducer([.wifi()], [.on(3, "192.0.2.3/24")], [])
        func ask(_ address: String) -> Verdict<Expense>? {
            var lease = LeaseHint(isAndroidMetered: true)
            lease.address = ip(address)
            reducer.hints.leases = [3: lease]
            return reducer.snapshot().interface(3)?.expensive
        }
        #expect(ask("192.0.2.3") == Verdict(.guessedYes, .dhcpLease))
        #expect(ask("198.51.100.3") == Verdict(.unknown, .assumed))
    }

    @Test("is the user's word about the Wi-Fi network before that about the interface, for each property")
    func network() {
        var hints = InterfaceHints()
        hints.settings.entries = [
            "wlan0": .init(isExpensive: false, isConstrained: true), "Train": .init(isExpensive: true),
        ]
        hints.wireless = [3: WirelessHint(ssid: "Train", signal: -61, rate: 54)]
        let train = tags(.wifi(), hints)
        #expect(train.expensive == Verdict(.yes, .settings))
        #expect(train.constrained == Verdict(true, .settings))
        #expect(train.ssid == "Train")
        #expect(train.quality == PathQuality(linkSpeed: 54, signal: -61))
        hints.wireless = [3: WirelessHint(ssid: "Home")]
        #expect(tags(.wifi(), hints).expensive == Verdict(.no, .settings))
    }

    @Test("on a telephone over Bluetooth is guessed to be something")
    func bluetooth() {
        let link = LinkFact(index: 3, name: "bnep0", device: .init(devtype: "bluetooth"))
        #expect(tags(link, InterfaceHints()).expensive == Verdict(.guessedYes, .interfaceType))
    }

    private func tags(_ link: LinkFact, _ hints: InterfaceHints) -> PathInterface {
        var reducer = SnapshotReducer([link], [], [])
        reducer.hints = hints
        return reducer.snapshot().interface(link.index)!
    }
}

@Suite("A tunnel's tags")
struct TunnelTagsTests {
    @Test("are those of the interface that carries it, and change with it")
    func inherited() {
        var reducer = SnapshotReducer(
            [.wifi(), .cellular(), .tunnel()],
            [.on(3, "192.0.2.3/24"), .on(4, "198.51.100.4/24"), .on(5, "203.0.113.5/24")],
            [
                .ipv4(5, metric: 0), .ipv4(3, via: "192.0.2.1", metric: 600),
                .ipv4(4, via: "198.51.100.1", metric: 700),
            ])
        reducer.hints.settings.entries = ["wlan0": .init(isExpensive: false, isConstrained: true)]
        let overWifi = reducer.snapshot().primary
        #expect(overWifi?.name == "tun0")
        #expect(overWifi?.carrier == "wlan0")
        #expect(overWifi?.expensive == Verdict(.no, .settings, inheritedFrom: "wlan0"))
        #expect(overWifi?.constrained == Verdict(true, .settings, inheritedFrom: "wlan0"))

        let before = reducer.snapshot()
        _ = reducer.apply(.link(.wifi().with([.up])))
        let overCellular = reducer.snapshot()
        #expect(overCellular.primary?.carrier == "wwan0")
        #expect(
            overCellular.primary?.expensive
                == Verdict(.guessedYes, .interfaceType, inheritedFrom: "wwan0"))
        #expect(overCellular.primary?.constrained == Verdict(false, .assumed))
        #expect(
            overCellular.changes(since: before).filter { $0.interface == "tun0" }.map(\.reason)
                == [.expensiveChanged, .constrainedChanged, .carrierChanged])
    }

    @Test("go through a tunnel in a tunnel, and name the interface at the end")
    func nested() {
        var inner = LinkFact.tunnel("tun1", 6)
        inner.lower = 5
        var reducer = SnapshotReducer(
            [.cellular(), .tunnel(), inner], [.on(6, "203.0.113.6/24")],
            [.ipv4(6), .ipv4(4, via: "198.51.100.1", metric: 700)])
        #expect(
            reducer.snapshot().primary?.expensive
                == Verdict(.guessedYes, .interfaceType, inheritedFrom: "wwan0"))
        #expect(reducer.snapshot().primary?.carrier == "tun0")
        // Two that name each other as their lower link must not be followed for ever.
        var outer = LinkFact.tunnel()
        outer.lower = 6
        _ = reducer.apply(.link(outer))
        #expect(reducer.snapshot().primary?.expensive == Verdict(.unknown, .assumed))
    }

    @Test("are its own where somebody speaks of it, and those of the one below for a VLAN")
    func own() {
        var vlan = LinkFact.wired("vlan7", 7)
        (vlan.kind, vlan.lower) = ("vlan", 4)
        var veth = LinkFact.wired("veth1", 8)
        (veth.kind, veth.lower) = ("veth", 4)
        var reducer = SnapshotReducer(
            [.cellular(), .tunnel(), vlan, veth], [], [.ipv4(4, via: "198.51.100.1")])
        reducer.hints.settings.entries = ["tun0": .init(isExpensive: false)]
        let all = reducer.snapshot()
        #expect(all.interface(named: "tun0")?.expensive == Verdict(.no, .settings))
        #expect(
            all.interface(named: "vlan7")?.expensive
                == Verdict(.guessedYes, .interfaceType, inheritedFrom: "wwan0"))
        // A veth names its other end there.
        #expect(all.interface(named: "veth1")?.expensive == Verdict(.unknown, .assumed))
    }
}

@Suite("A consumer")
struct SignificantChangesTests {
    @Test(
        "is not woken for signal, link speed, deprecation, or interfaces made by software that lead nowhere")
    func insignificant() {
        var reducer = SnapshotReducer(
            [.wifi()], [.on(3, "192.0.2.3/24"), .on(3, "2001:db8::3/64")], [.ipv4(3, via: "192.0.2.1")])
        let before = reducer.snapshot()
        reducer.hints.wireless = [3: WirelessHint(signal: -70, rate: 6)]
        _ = reducer.apply(.address(.on(3, "2001:db8::3/64", .deprecated)))
        _ = reducer.apply(.link(LinkFact(index: 9, name: "veth9", kind: "veth")))
        let after = reducer.snapshot()
        #expect(after != before)
        #expect(after.hasSameContent(as: before))
        #expect(after.changes(since: before) == [])
        #expect(after.primary?.addresses.map(\.state) == [.preferred, .deprecated])
    }

    @Test("is woken when a signal begins to fade, and when it is steady again")
    func fading() {
        var reducer = SnapshotReducer(
            [.wifi()], [.on(3, "192.0.2.3/24")], [.ipv4(3, via: "192.0.2.1")])
        reducer.hints.wireless = [3: WirelessHint(signal: -70)]
        let steady = reducer.snapshot()
        reducer.hints.wireless = [3: WirelessHint(signal: -77, isFading: true)]
        let fading = reducer.snapshot()
        #expect(!fading.hasSameContent(as: steady))
        #expect(fading.primary?.quality == PathQuality(signal: -77, isFading: true))
        #expect(
            fading.changes(since: steady).map(\.description) == [
                "wlan0 signal changed (was steady, is fading)"
            ])
        reducer.hints.wireless = [3: WirelessHint(signal: -78, isFading: true)]
        #expect(reducer.snapshot().hasSameContent(as: fading))
    }

    @Test("is woken when the machine wakes, the network's name changes, or the name servers do")
    func significant() {
        var reducer = SnapshotReducer(
            [.wifi()], [.on(3, "192.0.2.3/24")], [.ipv4(3, via: "192.0.2.1")])
        let before = reducer.snapshot()
        reducer.hints.resumes = 1
        reducer.hints.wireless = [3: WirelessHint(ssid: "Train")]
        reducer.hints.nameServers = [ip("192.0.2.53")]
        reducer.hints.leases = [3: LeaseHint(nameServers: [ip("192.0.2.1")])]
        #expect(
            reducer.snapshot().changes(since: before).map(\.description) == [
                "resumed", "wlan0 name servers changed (was none, is 192.0.2.1)",
                "wlan0 ssid changed (was none, is Train)",
                "name servers changed (were none, are 192.0.2.53)",
            ])
    }
}
