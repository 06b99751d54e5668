import CommandSupport
import Foundation
import Multipath
import Testing

@Suite("mppaths list, for people")
struct PathTableTests {
    @Test("fits a laptop with two paths and five other interfaces on a screen of 24 by 80")
    func laptop() {
        let text = PathTable.text(Screens.laptop)
        #expect(
            text == """
                1. wlan0  wifi (the kernel says so)
                   expensive    unknown
                   constrained  yes (mppaths set)
                   link         "Home", 433 Mbit/s, signal -52 dBm
                   addresses    192.0.2.2/24, 2001:db8:1::2/64 (deprecated),
                                2001:db8:1::5eed/64 (temporary)
                   routes       IPv4, IPv6, metric 600
                   gateways     192.0.2.1, fe80::1
                   DNS          192.0.2.53
                2. wwan0  cellular (the kernel says so)
                   expensive    guessed yes (from its type)
                   constrained  no (by default)
                   addresses    198.51.100.2/24
                   routes       IPv4, metric 700
                   gateways     198.51.100.1
                No path:
                   lo                loopback
                   eth0     wired    no carrier
                   docker0  virtual  no default route
                   veth1    virtual  no default route
                   eth1     wired    down
                The system's DNS 203.0.113.53, 2001:db8::53
                """)
        let lines = text.split(separator: "\n")
        #expect(lines.count <= 23)
        #expect(lines.allSatisfy { TerminalText.width(String($0)) <= 80 })
    }

    @Test("tells many interfaces that software made in one line, and each of them where all are wanted")
    func many() {
        var snapshot = PathSnapshot(excluded: [Screens.excluded("lo", .loopback, .loopback)])
        snapshot.excluded += (1...11).map { Screens.excluded("veth\($0)", .virtual, .noDefaultRoute) }
        snapshot.excluded.append(Screens.excluded("docker0", .virtual, .noCarrier))
        #expect(
            PathTable.text(snapshot) == """
                No path to the Internet.
                No path:
                   lo  loopback
                   12 more made by software: veth… (11), docker0
                """)
        let all = PathTable.text(snapshot, showsAll: true).split(separator: "\n")
        #expect(all.count == 15)
        #expect(all.last == "   docker0  virtual  no carrier")
    }

    @Test("names the interface a tunnel's tags come from, and the one that carries it")
    func tunnel() {
        #expect(
            PathTable.text(PathSnapshot(interfaces: [Screens.tunnel])) == """
                1. wg0  tunnel (the kernel says so)
                   expensive    guessed yes (its DHCP lease: a telephone, inherited from wlan0)
                   constrained  yes (mppaths set, inherited from wlan0)
                   link         carried by wlan0
                   addresses    203.0.113.2/32
                   routes       IPv4
                """)
    }

    @Test("lets no name move the cursor")
    func names() {
        var interface = Screens.laptop.interfaces[0]
        interface.name = "w\u{1B}[2J"
        interface.ssid = "a\u{7}\u{9B}31m\u{202E}b"
        let snapshot = PathSnapshot(
            interfaces: [interface], excluded: [Screens.excluded("e\u{1B}c", .wired, .behindTunnel("t\r"))],
            changes: [PathChange(.pathAppeared, interface: "w\u{1B}[2J")])
        for text in [PathTable.text(snapshot), PathTable.line(snapshot)] {
            #expect(
                text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
            #expect(!text.unicodeScalars.contains("\u{202E}"))
        }
    }

    @Test("counts the columns of wide and of combined characters, and cuts between characters")
    func widths() {
        #expect(TerminalText.width("カフェ e\u{301} 🏠") == 11)
        #expect(TerminalText.truncated("カフェ", to: 6) == "カフェ")
        #expect(TerminalText.truncated("カフェ", to: 5) == "カフ…")
        #expect(TerminalText.truncated("カフェ", to: 4) == "カ…")
        #expect(TerminalText.truncated("abc", to: 1) == "…")
        #expect(TerminalText.truncated("abc", to: 0) == "")
        #expect(TerminalText.wrapped(["one", "two", "three"], to: 9) == ["one, two,", "three"])
    }
}

@Suite("mppaths --json")
struct PathDocumentTests {
    @Test("says everything, each key always, and null for what is not known")
    func everything() {
        var path = Screens.laptop.interfaces[0]
        path.addresses = [path.addresses[1]]
        let snapshot = PathSnapshot(
            generation: 3, interfaces: [path, Screens.tunnel],
            excluded: [Screens.excluded("eth0", .wired, .noCarrier)],
            nameServers: Screens.laptop.nameServers, resumes: 1, changes: [PathChange(.resumed)])
        #expect(
            JSONLine.text(PathDocument(snapshot)) == """
                {"excluded":[{"index":9,"name":"eth0","reason":"no carrier","type":"wired"}],"generation":3,\
                "interfaces":[{"address_details":[{"address":"2001:db8:1::2","prefix_length":64,\
                "state":"deprecated","temporary":false}],"addresses":["2001:db8:1::2/64"],"carrier":null,\
                "constrained":true,"constrained_inherited_from":null,"constrained_source":"settings",\
                "expense":"unknown","expensive":false,"expensive_inherited_from":null,\
                "expensive_source":"assumed","gateways":["192.0.2.1","fe80::1"],"index":3,\
                "link_speed_mbps":433,"metric":600,"name":"wlan0","name_servers":["192.0.2.53"],\
                "signal_dbm":-52,"ssid":"Home","supports_ipv4":true,"supports_ipv6":true,"type":"wifi",\
                "type_source":"kernel"},{"address_details":[{"address":"203.0.113.2","prefix_length":32,\
                "state":"preferred","temporary":false}],"addresses":["203.0.113.2/32"],"carrier":"wlan0",\
                "constrained":true,"constrained_inherited_from":"wlan0","constrained_source":"settings",\
                "expense":"guessed_yes","expensive":true,"expensive_inherited_from":"wlan0",\
                "expensive_source":"dhcp_lease","gateways":[],"index":7,"link_speed_mbps":null,\
                "metric":null,"name":"wg0","name_servers":[],"signal_dbm":null,"ssid":null,\
                "supports_ipv4":true,"supports_ipv6":false,"type":"tunnel","type_source":"kernel"}],\
                "name_servers":["203.0.113.53","2001:db8::53"],"primary":"wlan0",\
                "reasons":[{"reason":"resumed"}],"resumes":1,"status":"satisfied"}
                """)
    }
}
