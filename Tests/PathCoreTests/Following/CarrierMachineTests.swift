import PathCore
import Testing

@Suite("Which path carries a connection")
struct CarrierMachineTests {
    // MARK: A client with Wi-Fi and cellular

    private static let own = IPAddress("192.0.2.2") ?? IPAddress(ipv4: 0)
    private static let peer = IPAddress("203.0.113.1") ?? IPAddress(ipv4: 0)

    private static func path(
        _ index: InterfaceIndex, _ name: String, _ type: InterfaceType, constrained: Bool = false,
        expensive: Expense = .no
    ) -> PathInterface {
        let address = index == 2 ? own : IPAddress(ipv4: 0xC633_6400 + index)
        return PathInterface(
            index: index, name: name, type: Verdict(type, .kernel), expensive: Verdict(expensive, .settings),
            constrained: constrained ? Verdict(true, .settings) : Verdict(false, .assumed),
            addresses: [InterfaceAddress(address, prefixLength: 24)], supportsIPv4: true)
    }

    private static let wifi = path(2, "wlan0", .wifi)
    private static let saving = path(2, "wlan0", .wifi, constrained: true)
    private static let cellular = path(3, "wwan0", .cellular)
    private static let costly = path(3, "wwan0", .cellular, expensive: .yes)

    private static func snapshot(_ paths: PathInterface...) -> PathSnapshot {
        PathSnapshot(interfaces: paths)
    }

    private static func told(_ path: PathInterface) -> CarrierMachine.Action {
        .pathChanged(ConnectionPath(path, policy: policy))
    }

    private static let policy: PathPolicy = {
        var policy = PathPolicy()
        policy.allowsConstrainedPaths = false
        return policy
    }()

    private func machine(
        steered: Bool = false, _ response: PathRefusalAction = .report, _ policy: PathPolicy = Self.policy,
        _ first: PathSnapshot = snapshot(wifi, cellular)
    ) -> CarrierMachine {
        var machine = CarrierMachine(
            FollowedConnection(interface: 2, local: Self.own, remote: Self.peer, isTCP: !steered),
            policy: policy, response: response)
        machine.leavesByItself = steered
        #expect(machine.snapshot(first) == [], "what was so from the beginning is not told")
        return machine
    }

    // MARK: The path

    @Test("is told again where its tags change or their sources do, and not where anything else does")
    func tags() {
        var machine = machine(.report, PathPolicy())
        var other = Self.wifi
        other.quality = PathQuality(signal: -60)
        other.addresses.append(InterfaceAddress(IPAddress(ipv4: 7), prefixLength: 24))
        #expect(machine.snapshot(Self.snapshot(other, Self.costly)) == [])
        var said = Self.wifi
        said.constrained = Verdict(false, .settings)
        for next in [Self.saving, said, Self.wifi] {
            #expect(
                machine.snapshot(Self.snapshot(next, Self.cellular))
                    == [.pathChanged(ConnectionPath(next, policy: PathPolicy()))])
        }
    }

    @Test("is the one that steering moves the data to")
    func moves() {
        var machine = machine(steered: true)
        #expect(machine.moved(to: "wwan0") == [Self.told(Self.cellular)])
        #expect(machine.snapshot(Self.snapshot(Self.saving, Self.cellular)) == [], "it left that one")
        #expect(machine.snapshot(Self.snapshot(Self.wifi, Self.costly)) == [Self.told(Self.costly)])
        #expect(machine.moved(to: "wlan0") == [Self.told(Self.wifi)])
        #expect(machine.moved(to: "none") == [])
    }

    @Test("is not spoken of while its interface is gone")
    func gone() {
        var machine = machine()
        #expect(machine.snapshot(Self.snapshot(Self.cellular)) == [])
        #expect(machine.snapshot(Self.snapshot(Self.wifi, Self.cellular)) == [])
    }

    // MARK: The rules

    @Test("that is refused is told to plain TCP at once and once, with the better path if there is one")
    func plainTCP() {
        let cases: [(PathSnapshot, PathID?)] = [
            (Self.snapshot(Self.cellular, Self.saving), "wwan0"), (Self.snapshot(Self.saving), nil),
        ]
        for (snapshot, better) in cases {
            var machine = machine()
            let refusal = PathRefusal(path: "wlan0", reason: .constrained, betterPath: better)
            #expect(machine.snapshot(snapshot) == [Self.told(Self.saving), .notAllowed(refusal)])
            #expect(machine.refusal == refusal)
            #expect(machine.snapshot(snapshot) == [])
            #expect(machine.snapshot(Self.snapshot(Self.wifi)) == [Self.told(Self.wifi)], "it is over")
            #expect(machine.refusal == nil)
            #expect(machine.snapshot(snapshot) == [Self.told(Self.saving), .notAllowed(refusal)], "again")
        }
    }

    @Test("that is refused for another reason is told with that")
    func otherReason() {
        var policy = Self.policy
        policy.allowsExpensivePaths = false
        var machine = machine(.report, policy)
        var both = Self.saving
        both.expensive = Verdict(.yes, .settings)
        #expect(
            machine.snapshot(Self.snapshot(both)).last
                == .notAllowed(PathRefusal(path: "wlan0", reason: .expensive)))
        #expect(
            machine.snapshot(Self.snapshot(Self.saving)).last
                == .notAllowed(PathRefusal(path: "wlan0", reason: .constrained)))
    }

    @Test("that is refused is left by MPTCP that is steered, and told only where it has nowhere to go")
    func steered() {
        var machine = machine(steered: true, .close)
        #expect(machine.snapshot(Self.snapshot(Self.cellular, Self.saving)) == [Self.told(Self.saving)])
        var stuck = machine
        #expect(machine.moved(to: "wwan0") == [Self.told(Self.cellular)])
        let lost = PathRefusal(path: "wlan0", reason: .constrained, betterPath: "wwan0")
        #expect(stuck.stranded() == [.notAllowed(lost), .close(lost)], "the other path does not work")
        var alone = self.machine(steered: true)
        #expect(
            alone.snapshot(Self.snapshot(Self.saving))
                == [
                    Self.told(Self.saving),
                    .notAllowed(PathRefusal(path: "wlan0", reason: .constrained)),
                ])
        #expect(alone.stranded() == [], "told once")
    }

    @Test("ends the connection once where that was asked for")
    func closes() {
        var machine = machine(.close)
        let refusal = PathRefusal(path: "wlan0", reason: .constrained, betterPath: "wwan0")
        let saving = Self.snapshot(Self.cellular, Self.saving)
        #expect(
            machine.snapshot(saving) == [Self.told(Self.saving), .notAllowed(refusal), .close(refusal)])
        _ = machine.snapshot(Self.snapshot(Self.wifi))
        #expect(machine.snapshot(saving) == [Self.told(Self.saving), .notAllowed(refusal)])
    }

    @Test("knows no better path for a connection that did not come about by a default route")
    func localNetwork() {
        var machine = CarrierMachine(
            FollowedConnection(
                interface: 2, local: Self.own, remote: IPAddress("192.0.2.9") ?? Self.peer),
            policy: Self.policy)
        _ = machine.snapshot(Self.snapshot(Self.wifi, Self.cellular))
        #expect(
            machine.snapshot(Self.snapshot(Self.cellular, Self.saving)).last
                == .notAllowed(PathRefusal(path: "wlan0", reason: .constrained)))
    }

    @Test("and what is told of it are read by people")
    func words() {
        #expect("\(ConnectionPath(Self.costly))" == "wwan0 (cellular, expensive by settings)")
        #expect("\(ConnectionPath(Self.saving))" == "wlan0 (wifi, constrained by settings)")
        #expect(
            "\(PathRefusal(path: "wlan0", reason: .constrained, betterPath: "wwan0"))"
                == "wlan0 is not allowed any more: constrained; wwan0 is")
    }

    // MARK: What comes back, and what is late

    @Test("is the same one when its interface comes back with another index, and its refusal is told")
    func replugged() {
        var machine = machine(.report)
        #expect(machine.snapshot(Self.snapshot(Self.cellular)) == [])
        var back = Self.saving
        back.index = 9
        let refusal = PathRefusal(path: "wlan0", reason: .constrained, betterPath: nil)
        let actions = machine.snapshot(Self.snapshot(back, Self.cellular))
        #expect(actions.first == Self.told(back))
        #expect(machine.refusal?.reason == refusal.reason && machine.refusal?.path == "wlan0")
        // Plain TCP needs its address, too.
        var other = self.machine(.report)
        _ = other.snapshot(Self.snapshot(Self.cellular))
        back.addresses = []
        #expect(other.snapshot(Self.snapshot(back, Self.cellular)) == [])
        // So does what was MPTCP.
        var fallen = self.machine(steered: true)
        fallen.fellBack()
        _ = fallen.snapshot(Self.snapshot(Self.cellular))
        #expect(fallen.snapshot(Self.snapshot(back, Self.cellular)) == [])
        #expect(fallen.refusal == nil)
    }

    @Test("is another one as soon as a snapshot knows the interface that steering has moved to")
    func lateInterface() {
        var machine = machine(steered: true)
        let usb = Self.path(7, "usb0", .wired)
        #expect(machine.moved(to: "usb0") == [])
        #expect(machine.snapshot(Self.snapshot(Self.wifi, usb)) == [Self.told(usb)])
    }

    @Test(
        "is told of as refused where that comes after steering was stranded, and not after a path works again"
    )
    func refusedWhileStranded() {
        var stranded = machine(steered: true)
        #expect(stranded.stranded() == [])
        let refused = stranded.snapshot(Self.snapshot(Self.saving, Self.cellular))
        #expect(
            refused.contains {
                if case .notAllowed(let refusal) = $0 { refusal.reason == .constrained } else { false }
            })
        var well = machine(steered: true)
        _ = well.stranded()
        well.recovered()
        #expect(well.snapshot(Self.snapshot(Self.saving, Self.cellular)) == [Self.told(Self.saving)])
    }
}
