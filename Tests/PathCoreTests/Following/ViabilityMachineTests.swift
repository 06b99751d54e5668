import PathCore
import Testing

@Suite("The viability machine")
struct ViabilityMachineTests {
    // MARK: A client with Wi-Fi and cellular

    private static func address(_ text: String) -> IPAddress { IPAddress(text) ?? IPAddress(ipv4: 0) }

    private static func path(
        _ index: InterfaceIndex, _ name: String, _ type: InterfaceType, _ own: String,
        expensive: Expense = .unknown
    ) -> PathInterface {
        PathInterface(
            index: index, name: name, type: Verdict(type, .kernel), expensive: Verdict(expensive, .kernel),
            addresses: [InterfaceAddress(address(own), prefixLength: 24)], supportsIPv4: true)
    }

    private static let wifi = path(2, "wlan0", .wifi, "192.0.2.2")
    private static let cellular = path(3, "wwan0", .cellular, "198.51.100.2", expensive: .yes)
    private static let both = PathSnapshot(interfaces: [wifi, cellular])

    private static func excluded(_ path: PathInterface, _ reason: ExcludedInterface.Reason) -> PathSnapshot {
        var lost = path
        (lost.supportsIPv4, lost.supportsIPv6) = (false, false)
        return PathSnapshot(
            interfaces: both.interfaces.filter { $0.index != path.index },
            excluded: [ExcludedInterface(lost, reason: reason)])
    }

    private static func connection(
        _ path: PathInterface = wifi, to remote: String = "203.0.113.1", isTCP: Bool = true
    ) -> FollowedConnection {
        FollowedConnection(
            interface: path.index, local: path.addresses.first?.address, remote: address(remote),
            isTCP: isTCP)
    }

    private func machine(
        _ path: PathInterface = Self.wifi, _ snapshot: PathSnapshot = Self.both,
        _ policy: PathPolicy = PathPolicy()
    ) -> ViabilityMachine {
        var configuration = ViabilityMachine.Configuration()
        configuration.policy = policy
        var machine = ViabilityMachine(Self.connection(path), configuration: configuration)
        _ = machine.snapshot(snapshot, at: .zero)
        return machine
    }

    // MARK: What the tables say

    @Test("believes the kernel's tables at once, and again when the path is back")
    func tables() {
        var gone = Self.both
        gone.interfaces.removeFirst()
        var renumbered = Self.both
        renumbered.interfaces[0].addresses = [InterfaceAddress(Self.address("192.0.2.9"), prefixLength: 24)]
        let faults: [(PathSnapshot, PathTrouble)] = [
            (gone, .interfaceGone), (Self.excluded(Self.wifi, .down), .down),
            (Self.excluded(Self.wifi, .noCarrier), .noCarrier), (renumbered, .addressGone),
            (Self.excluded(Self.wifi, .noDefaultRoute), .routeGone),
        ]
        for (snapshot, trouble) in faults {
            var machine = machine()
            let lost = machine.snapshot(snapshot, at: at(10))
            #expect(lost.first == .viability(false, trouble))
            #expect(machine.snapshot(snapshot, at: at(11)) == [], "told once")
            let back = machine.snapshot(Self.both, at: at(20))
            #expect(back.first == .viability(true, nil))
        }
    }

    @Test("takes no other path's troubles for its own, and needs no route to its own link")
    func others() {
        var machine = machine()
        #expect(machine.snapshot(Self.excluded(Self.cellular, .down), at: at(10)) == [])
        var local = ViabilityMachine(Self.connection(to: "192.0.2.77"))
        _ = local.snapshot(Self.both, at: .zero)
        #expect(local.snapshot(Self.excluded(Self.wifi, .noDefaultRoute), at: at(10)) == [])
    }

    @Test("says of MPTCP only that no path is left")
    func multipath() {
        var machine = ViabilityMachine(Self.connection(isTCP: false))
        _ = machine.snapshot(Self.both, at: .zero)
        #expect(machine.snapshot(Self.excluded(Self.wifi, .down), at: at(10)) == [])
        #expect(
            machine.snapshot(PathSnapshot(), at: at(20)) == [.viability(false, .noPath)])
        machine.dataWasSent(at: at(30))
        #expect(machine.nextDeadline == nil)
    }

    @Test("judges what has fallen back to TCP by its own path, as all TCP")
    func fallenBack() {
        var machine = ViabilityMachine(Self.connection(isTCP: false))
        let alone = Self.excluded(Self.wifi, .down)
        _ = machine.snapshot(Self.both, at: .zero)
        #expect(machine.snapshot(alone, at: at(10)) == [])
        #expect(machine.fellBack(at: at(20)) == [.viability(false, .down), .betterPath("wwan0")])
        #expect(machine.fellBack(at: at(30)) == [], "once")
        #expect(machine.snapshot(Self.both, at: at(40)) == [.viability(true, nil), .betterPath(nil)])
        machine.dataWasSent(at: at(50))
        #expect(machine.nextDeadline != nil, "it looks at what was sent")
    }

    // MARK: Better paths

    @Test("tells a better path once it has been one for a second, and at once that it is gone")
    func betterPath() {
        let alone = Self.excluded(Self.wifi, .down)
        var machine = machine(Self.cellular, alone)
        #expect(machine.snapshot(Self.both, at: at(100)) == [])
        #expect(machine.nextDeadline == at(1100))
        #expect(machine.timeReached(at(1099)) == [])
        #expect(machine.timeReached(at(1100)) == [.betterPath("wlan0")])
        #expect(machine.nextDeadline == nil)
        #expect(machine.snapshot(alone, at: at(1200)) == [.betterPath(nil)])
        // One that comes and goes is never told.
        for second in 2..<6 {
            #expect(machine.snapshot(Self.both, at: at(second * 1000)) == [])
            #expect(machine.snapshot(alone, at: at(second * 1000 + 900)) == [])
        }
    }

    @Test(
        "asks a better path that was found silent, ever more seldom, and tells it a second after it has answered"
    )
    func silentBetterPath() {
        var machine = machine(Self.cellular, Self.excluded(Self.wifi, .down))
        machine.suspect([Self.wifi.index])
        #expect(machine.snapshot(Self.both, at: at(100)) == [.probeOther(Self.wifi.index)])
        #expect(machine.nextDeadline == at(1100))
        #expect(machine.timeReached(at(1100)) == [.probeOther(Self.wifi.index)])
        // That others have forgotten it is no answer.
        machine.suspect([])
        #expect(machine.timeReached(at(3100)) == [.probeOther(Self.wifi.index)])
        #expect(machine.nextDeadline == at(7100))
        #expect(machine.answered(over: Self.wifi.index, at: at(3200)) == [])
        #expect(machine.timeReached(at(4200)) == [.betterPath("wlan0")])
        #expect(machine.nextDeadline == nil)
        // It falls silent again.
        machine.suspect([Self.wifi.index])
        #expect(
            machine.timeReached(at(5000)) == [.betterPath(nil), .probeOther(Self.wifi.index)])
        #expect(machine.snapshot(Self.excluded(Self.wifi, .down), at: at(5100)) == [])
        #expect(machine.nextDeadline == nil)
    }

    @Test("tells the next best path where the best was found silent")
    func nextBest() {
        let wired = Self.path(4, "eth0", .wired, "192.0.2.130")
        var machine = machine(Self.cellular, PathSnapshot(interfaces: [Self.cellular]))
        machine.suspect([wired.index])
        let all = PathSnapshot(interfaces: [wired, Self.wifi, Self.cellular])
        #expect(machine.snapshot(all, at: at(100)) == [.probeOther(wired.index)])
        _ = machine.timeReached(at(1099))
        #expect(
            machine.timeReached(at(1100)) == [.betterPath("wlan0"), .probeOther(wired.index)])
    }

    @Test("tells at once where to go when the path in use may not be used any more")
    func refusal() {
        var policy = PathPolicy()
        policy.allowsExpensivePaths = false
        var machine = machine(Self.wifi, Self.both, policy)
        var hotspot = Self.both
        hotspot.interfaces[0].expensive = Verdict(.yes, .settings)
        hotspot.interfaces[1].expensive = Verdict(.no, .settings)
        #expect(machine.snapshot(hotspot, at: at(10)) == [.betterPath("wwan0")])
    }

    @Test("knows no better path than a refused one, one of another family, or one for its own link")
    func noBetterPath() {
        var policy = PathPolicy()
        policy.prohibitedInterfaces = ["wlan0"]
        var refused = machine(Self.cellular, Self.both, policy)
        #expect(refused.timeReached(at(5000)) == [])
        var six = Self.both
        (six.interfaces[0].supportsIPv4, six.interfaces[0].supportsIPv6) = (false, true)
        var other = machine(Self.cellular, six)
        #expect(other.timeReached(at(5000)) == [])
        var local = ViabilityMachine(Self.connection(Self.cellular, to: "198.51.100.7"))
        _ = local.snapshot(Self.both, at: .zero)
        #expect(local.timeReached(at(5000)) == [])
    }

    // MARK: What is sent

    /// A path on which bytes are sent, as TCP_INFO shows it. RTT 20 ms.
    private struct Path {
        var sample = SubflowSample(id: 0)

        init() {
            sample.smoothedRTT = .milliseconds(20)
            sample.rttVariation = .milliseconds(5)
            sample.sendWindow = 65_535
            sample.unacknowledged = 1
            sample.acknowledged = 1000
        }
    }

    /// Runs the machine for a while against what a kernel would answer.
    /// - Returns: what it says, and when.
    private func run(
        _ machine: inout ViabilityMachine, from begin: Int = 0, to end: Int,
        _ kernel: (Int) -> SubflowSample
    ) -> [(Int, ViabilityMachine.Action)] {
        var said: [(Int, ViabilityMachine.Action)] = []
        for millisecond in begin...end {
            let now = at(millisecond)
            guard let deadline = machine.nextDeadline, deadline <= now else { continue }
            if machine.needsSample(at: now) {
                said += machine.sample(kernel(millisecond), at: now).map { (millisecond, $0) }
            }
            said += machine.timeReached(now).map { (millisecond, $0) }
        }
        return said
    }

    /// The kernel's timers after a loss of everything at time 0: a tail-loss probe, then timeouts.
    private func timers(_ millisecond: Int, sends: Bool = true) -> SubflowSample {
        var sample = Path().sample
        for (number, due) in [220, 660, 1540, 3300].enumerated() where millisecond >= due {
            sample.timeouts = UInt8(number + 1)
            sample.backoff = UInt8(number + 1)
            if sends { sample.retransmissions = UInt32(number + 2) }
        }
        return sample
    }

    @Test("reports a silent drop in well under a second")
    func silentDrop() {
        var machine = machine()
        machine.dataWasSent(at: .zero)
        let said = run(&machine, to: 5000) { timers($0) }
        #expect(said.map(\.1) == [.viability(false, .noAcknowledgement)])
        #expect((220...450).contains(said.first?.0 ?? 0))
    }

    @Test("tells a lost carrier and a deleted address from a silent drop")
    func localFaults() {
        var carrier = machine()
        carrier.dataWasSent(at: .zero)
        #expect(
            run(&carrier, to: 1000) { timers($0, sends: false) }.map(\.1) == [.viability(false, .cannotSend)])
        var address = machine()
        address.dataWasSent(at: .zero)
        let said = run(&address, to: 1000) { millisecond in
            var sample = Path().sample
            (sample.unacknowledged, sample.unsent) = (0, 4000)
            sample.backoff = millisecond < 250 ? 0 : millisecond < 700 ? 1 : 2
            return sample
        }
        #expect(said.map(\.1) == [.viability(false, .cannotSend)])
        #expect((250...500).contains(said.first?.0 ?? 0))
    }

    @Test("is not alarmed by a lost packet, a lost tail, a slow path or a full window")
    func noFalseAlarms() {
        // A timeout's retransmission is answered after one round trip.
        var tail = machine()
        tail.dataWasSent(at: .zero)
        #expect(
            run(&tail, to: 3000) { millisecond in
                var sample = timers(min(millisecond, 220))
                if millisecond >= 242 {
                    (sample.acknowledged, sample.unacknowledged) = (2000, 0)
                    (sample.timeouts, sample.backoff) = (0, 0)
                }
                return sample
            }.isEmpty)
        // The round trip jumps to 350 ms: a timeout that was not necessary.
        var slow = machine()
        slow.dataWasSent(at: .zero)
        #expect(
            run(&slow, to: 3000) { millisecond in
                var sample = timers(min(millisecond, 240))
                if millisecond >= 350 {
                    (sample.acknowledged, sample.unacknowledged) = (2000, 0)
                    (sample.timeouts, sample.backoff) = (0, 0)
                }
                return sample
            }.isEmpty)
        // A peer that reads nothing, and answers the probes.
        var full = machine()
        full.dataWasSent(at: .zero)
        #expect(
            run(&full, to: 30_000) { millisecond in
                var sample = Path().sample
                (sample.unacknowledged, sample.unsent, sample.sendWindow) = (0, 100_000, 0)
                sample.backoff = UInt8(min(millisecond / 1000, 6))
                sample.unansweredProbes = millisecond % 1000 < 20 ? 1 : 0
                return sample
            }.isEmpty)
        // Selective acknowledgements come while one segment waits for its third transmission.
        var holes = machine()
        holes.dataWasSent(at: .zero)
        #expect(
            run(&holes, to: 2000) { millisecond in
                var sample = timers(millisecond)
                sample.delivered = UInt32(millisecond)
                return sample
            }.isEmpty)
    }

    @Test("takes an alarm back when something is acknowledged, and is slower with the next one")
    func hysteresis() {
        var machine = machine()
        func outage(_ begin: Int) -> Int? {
            machine.dataWasSent(at: at(begin))
            let said = run(&machine, from: begin, to: begin + 3000) { timers($0 - begin) }
            let back = run(&machine, from: begin + 3001, to: begin + 6000) { millisecond in
                var sample = timers(3000)
                (sample.acknowledged, sample.unacknowledged) = (UInt64(begin + 2000), 0)
                (sample.timeouts, sample.backoff) = (0, 0)
                return sample
            }
            #expect(back.map(\.1) == [.viability(true, nil)])
            return said.first.map { $0.0 - begin }
        }
        let (first, second, third) = (outage(0), outage(10_000), outage(20_000))
        #expect((first ?? 0) < (second ?? 0))
        #expect((second ?? 0) < (third ?? 0))
        #expect((third ?? 5000) < 1500)
    }

    @Test("asks for no sample while nothing is outstanding or awaited")
    func idle() {
        var machine = machine()
        #expect(machine.nextDeadline == nil)
        machine.dataWasSent(at: .zero)
        var samples = 0
        _ = run(&machine, to: 10_000) { _ in
            samples += 1
            var sample = Path().sample
            sample.unacknowledged = 0
            return sample
        }
        #expect(samples == 1)
        #expect(machine.nextDeadline == nil)
    }

    // MARK: What is awaited

    @Test("asks a peer that falls silent in a stream, and calls the path dead when nothing answers")
    func silence() {
        var machine = machine()
        _ = machine.expectData(true, at: .zero)
        let said = run(&machine, to: 2000) { millisecond in
            var sample = Path().sample
            sample.unacknowledged = 0
            sample.bytesReceived = UInt64(min(millisecond, 1000))
            return sample
        }
        #expect(said.prefix(3).map(\.1) == [.probe, .probe, .viability(false, .noAnswer)])
        #expect((1080...1150).contains(said.first?.0 ?? 0))
        #expect((1150...1300).contains(said.dropFirst(2).first?.0 ?? 0))
        // It goes on asking, and an answer makes it viable.
        #expect(machine.probeAnswered(at: at(2001)) == [.viability(true, nil)])
    }

    @Test("asks ever less often while the peer answers, and not at all once nothing is awaited")
    func patience() {
        var machine = machine()
        _ = machine.expectData(true, at: .zero)
        var probes: [Int] = []
        for millisecond in 0...20_000 {
            let now = at(millisecond)
            guard machine.needsSample(at: now) else { continue }
            var sample = Path().sample
            sample.unacknowledged = 0
            let actions = machine.sample(sample, at: now)
            #expect(actions == [] || actions == [.probe])
            if actions == [.probe] {
                probes.append(millisecond)
                #expect(machine.probeAnswered(at: at(millisecond + 20)) == [])
            }
        }
        #expect((5...8).contains(probes.count), "\(probes)")
        let pauses = zip(probes.dropFirst(), probes).map { $0 - $1 }
        #expect(pauses == pauses.sorted())
        _ = machine.expectData(false, at: at(20_001))
        #expect(machine.nextDeadline == nil)
    }

    @Test("believes an answer that comes late, and bytes even more")
    func lateAnswers() {
        for isByte in [true, false] {
            var machine = machine()
            _ = machine.expectData(true, at: .zero)
            var sample = Path().sample
            sample.unacknowledged = 0
            #expect(run(&machine, to: 900) { _ in sample }.contains { $0.1 == .viability(false, .noAnswer) })
            sample.bytesReceived = 10
            let back =
                isByte
                ? machine.sample(sample, at: at(901)) : machine.probeAnswered(at: at(901))
            #expect(back == [.viability(true, nil)])
        }
    }
}
