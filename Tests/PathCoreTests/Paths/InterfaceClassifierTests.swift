import PathCore
import Testing

@Suite("An interface's type")
struct InterfaceClassifierTests {
    @Test("is what the surest evidence says, then the next surest, down the ladder")
    func ladder() {
        var link = LinkFact(
            index: 9, name: "rmnet0", hardwareType: 776, flags: [.up, .loopback], kind: "wireguard",
            device: .init(devtype: "wwan", hasRadio: true, driver: "qmi_wwan"))
        var verdicts: [Verdict<InterfaceType>] = []
        func look() { verdicts.append(InterfaceClassifier.classify(link)) }

        look()
        link.flags = [.up]
        look()
        link.kind = nil
        look()
        link.device.devtype = nil
        look()
        link.device.hasRadio = false
        look()
        link.device.driver = nil
        look()
        link.hardwareType = 1
        look()
        link.name = "eth0"
        look()

        #expect(
            verdicts == [
                Verdict(.loopback, .kernel),  // the flag
                Verdict(.tunnel, .kernel),  // the kind
                Verdict(.cellular, .kernel),  // DEVTYPE
                Verdict(.wifi, .kernel),  // the radio
                Verdict(.cellular, .driver),  // the driver
                Verdict(.tunnel, .kernel),  // ARPHRD_SIT
                Verdict(.cellular, .name),  // rmnet…
                Verdict(.wired, .kernel),  // Ethernet, and nothing against it
            ])
    }

    @Test(
        "follows the kind of a virtual link",
        arguments: [
            ("wireguard", .tunnel), ("ipip", .tunnel), ("sit", .tunnel), ("gre", .tunnel),
            ("ip6tnl", .tunnel), ("vti", .tunnel), ("xfrm", .tunnel), ("ovpn", .tunnel),
            ("wwan", .cellular), ("rmnet", .cellular), ("vlan", .wired), ("bond", .wired), ("team", .wired),
            ("veth", .virtual), ("bridge", .virtual), ("dummy", .virtual), ("macvlan", .virtual),
            ("a kind of next year", .virtual),
        ] as [(String, InterfaceType)])
    func kind(kind: String, type: InterfaceType) {
        let link = LinkFact(index: 9, name: "x0", kind: kind)
        #expect(InterfaceClassifier.classify(link) == Verdict(type, .kernel))
    }

    @Test("tells a TUN, which carries a VPN, from a TAP, which carries a virtual machine")
    func tunAndTap() {
        let tun = LinkFact(index: 9, name: "x0", hardwareType: 65534, kind: "tun")
        let tap = LinkFact(index: 9, name: "x0", hardwareType: 1, kind: "tun")
        #expect(
            [tun, tap].map(InterfaceClassifier.classify)
                == [Verdict(.tunnel, .kernel), Verdict(.virtual, .kernel)])
    }

    @Test(
        "follows the device's own DEVTYPE",
        arguments: [
            ("wlan", .wifi), ("wwan", .cellular), ("bluetooth", .bluetooth), ("bridge", .virtual),
            ("vlan", .wired), ("bond", .wired), ("gadget", .wired),
        ] as [(String, InterfaceType)])
    func devtype(devtype: String, type: InterfaceType) {
        let link = LinkFact(index: 9, name: "x0", device: .init(devtype: devtype))
        #expect(InterfaceClassifier.classify(link) == Verdict(type, .kernel))
    }

    @Test(
        "of a modem on the Ethernet driver interface is cellular by its driver",
        arguments: ["qmi_wwan", "cdc_mbim", "sierra_net", "hso", "huawei_cdc_ncm", "iosm", "mtk_t7xx"])
    func modemDriver(driver: String) {
        let link = LinkFact(index: 9, name: "eth7", device: .init(driver: driver))
        #expect(InterfaceClassifier.classify(link) == Verdict(.cellular, .driver))
    }

    @Test(
        "of a telephone on a USB cable is cellular: by its driver, or by an address made up",
        arguments: [
            ("ipheth", nil, Verdict(.cellular, .driver)), ("rndis_host", nil, Verdict(.cellular, .driver)),
            ("cdc_ether", 0x02, Verdict(.cellular, .driver)), ("cdc_ncm", 0x06, Verdict(.cellular, .driver)),
            // An adapter with its maker's address is a wire, and so is one that tells no address.
            ("cdc_ether", 0x00, Verdict(.wired, .kernel)), ("cdc_ncm", nil, Verdict(.wired, .kernel)),
            ("r8152", 0x02, Verdict(.wired, .kernel)),
        ] as [(String, UInt8?, Verdict<InterfaceType>)])
    func tetheredTelephone(driver: String, firstByte: UInt8?, verdict: Verdict<InterfaceType>) {
        let link = LinkFact(
            index: 9, name: "enx0", hardwareAddress: firstByte.map { [$0, 0, 0, 0, 0, 1] } ?? [],
            device: .init(driver: driver))
        #expect(InterfaceClassifier.classify(link) == verdict)
    }

    @Test(
        "follows the hardware type where nothing else is known",
        arguments: [
            (1, Verdict(.wired, .kernel)), (512, Verdict(.other, .kernel)),
            (519, Verdict(.cellular, .kernel)), (768, Verdict(.tunnel, .kernel)),
            (769, Verdict(.tunnel, .kernel)), (772, Verdict(.loopback, .kernel)),
            (776, Verdict(.tunnel, .kernel)), (778, Verdict(.tunnel, .kernel)),
            (801, Verdict(.wifi, .kernel)), (802, Verdict(.wifi, .kernel)), (803, Verdict(.wifi, .kernel)),
            (823, Verdict(.tunnel, .kernel)), (65534, Verdict(.tunnel, .kernel)),
            (32, Verdict(.other, .kernel)), (65535, Verdict(.other, .kernel)),
        ] as [(UInt16, Verdict<InterfaceType>)])
    func hardwareType(hardwareType: UInt16, verdict: Verdict<InterfaceType>) {
        #expect(
            InterfaceClassifier.classify(LinkFact(index: 9, name: "x0", hardwareType: hardwareType))
                == verdict)
    }

    @Test(
        "is guessed from the name only for names that modems have",
        arguments: [
            ("wwan0", Verdict(.cellular, .name)), ("wwp0s20u4", Verdict(.cellular, .name)),
            ("rmnet_data0", Verdict(.cellular, .name)), ("ccmni1", Verdict(.cellular, .name)),
            ("wlan0", Verdict(.wired, .kernel)), ("tun0", Verdict(.wired, .kernel)),
            ("mywwan0", Verdict(.wired, .kernel)),
        ] as [(String, Verdict<InterfaceType>)])
    func name(name: String, verdict: Verdict<InterfaceType>) {
        #expect(InterfaceClassifier.classify(LinkFact(index: 9, name: name)) == verdict)
    }
}
