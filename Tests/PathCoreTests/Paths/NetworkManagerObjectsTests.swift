import PathCore
import Testing

@Suite("NetworkManager's objects")
struct NetworkManagerObjectsTests {
    private typealias Device = NetworkManagerDevice

    private func objects(_ build: (inout NetworkManagerObjects) -> Void) -> NetworkManagerObjects {
        var objects = NetworkManagerObjects()
        build(&objects)
        return objects
    }

    @Test("add up to devices by the names of the interfaces that carry packets")
    func names() {
        let objects = objects {
            $0.update(
                "/d/1", .device, with: [.controlInterface("wlan0"), .ipInterface("wlan0"), .metered(3)])
            // A modem: controlled by a serial port.
            $0.update(
                "/d/2", .device, with: [.controlInterface("ttyUSB2"), .ipInterface("wwan0"), .metered(1)])
            // A device that is not connected.
            $0.update("/d/3", .device, with: [.controlInterface("eth0"), .ipInterface("")])
            $0.update("/d/4", .device, with: [.metered(1)])
            $0.update("/ip/1", .ip4Configuration, with: [.nameServers([IPAddress("192.0.2.53")!])])
        }
        #expect(
            objects.devices == [
                "wlan0": Device(metered: .guessedYes), "wwan0": Device(metered: .yes),
                "eth0": Device(metered: .unknown),
            ])
    }

    @Test("prefer the device that carries an interface's packets to one that is only named like it")
    func sameName() {
        let objects = objects {
            $0.update("/d/1", .device, with: [.controlInterface("ppp0"), .metered(2)])
            $0.update("/d/2", .device, with: [.controlInterface("eth0"), .ipInterface("ppp0"), .metered(1)])
        }
        #expect(objects.devices == ["ppp0": Device(metered: .yes)])
    }

    @Test("find a device's name servers and access point by their paths, in whatever order they come")
    func paths() {
        let servers = [IPAddress("192.0.2.53")!, IPAddress("2001:db8::53")!]
        var objects = objects {
            $0.update("/ap/1", .accessPoint, with: [.ssid([0x68, 0xFF])])
            $0.update(
                "/d/1", .device,
                with: [.controlInterface("wlan0"), .ip4Configuration("/ip4/1"), .ip6Configuration("/ip6/1")])
            $0.update("/d/1", .wireless, with: [.activeAccessPoint("/ap/1")])
            $0.update("/ip6/1", .ip6Configuration, with: [.nameServers([servers[1]])])
            $0.update(
                "/ip4/1", .ip4Configuration,
                with: [.nameServers([IPAddress("192.0.2.99")!]), .nameServerData([servers[0]])])
        }
        #expect(
            objects.devices == ["wlan0": Device(metered: .unknown, ssid: "h\u{FFFD}", nameServers: servers)])

        // "/" is the path of nothing.
        objects.update("/d/1", .wireless, with: [.activeAccessPoint("/")])
        objects.update("/d/1", .device, with: [.ip4Configuration("/")])
        #expect(objects.devices == ["wlan0": Device(metered: .unknown, nameServers: [servers[1]])])
    }

    @Test("keep what a change does not name, and forget what is removed")
    func changes() {
        var objects = objects {
            $0.update("/d/1", .device, with: [.controlInterface("wlan0"), .metered(1)])
            $0.update("/d/1", .wireless, with: [.activeAccessPoint("/ap/1")])
            $0.update("/ap/1", .accessPoint, with: [.ssid([0x61])])
        }
        objects.update("/d/1", .device, with: [.metered(2)])
        #expect(objects.devices == ["wlan0": Device(metered: .no, ssid: "a")])
        // A network that hides its name.
        objects.update("/ap/1", .accessPoint, with: [.ssid([])])
        #expect(objects.devices == ["wlan0": Device(metered: .no)])
        objects.remove("/d/1", [.wireless])
        #expect(objects.devices == ["wlan0": Device(metered: .no)])
        objects.remove("/d/1", [.device, .wireless])
        objects.remove("/ap/1", [.accessPoint])
        objects.remove("/never/there", [.device])
        #expect(objects == NetworkManagerObjects())
    }

    @Test("take a value of a newer NetworkManager for not known", arguments: [5, 257, UInt32.max])
    func newerValue(_ value: UInt32) {
        let objects = objects { $0.update("/d/1", .device, with: [.controlInterface("a"), .metered(value)]) }
        #expect(objects.devices == ["a": Device(metered: .unknown)])
    }

    @Test(
        "read hardware addresses, and nothing into what is none",
        arguments: [
            ("02:00:5E:00:53:01", [0x02, 0x00, 0x5E, 0x00, 0x53, 0x01]), ("", []), ("02", [0x02]),
            ("2:3", []),
            ("02:", []), ("+1:-1", []), ("02:00:5E:00:53:0G", []),
        ] as [(String, [UInt8])])
    func hardwareAddress(_ text: String, _ bytes: [UInt8]) {
        let objects = objects {
            $0.update("/d/1", .device, with: [.controlInterface("a"), .hardwareAddress(text)])
        }
        #expect(objects.devices["a"]?.hardwareAddress == bytes)
    }
}
