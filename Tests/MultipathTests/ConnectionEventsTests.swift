import LinuxNet
import Testing

@testable import Multipath

@Suite("A connection's events")
struct ConnectionEventsTests {
    private typealias Machine = ConnectionEventMachine<Int>

    private static let lost = ConnectionEvent.viabilityChanged(isViable: false, reason: .noCarrier)
    private static let back = ConnectionEvent.viabilityChanged(isViable: true, reason: nil)
    private static let report = TransferReport(
        transport: .mptcp, control: .perConnection, duration: .seconds(1), paths: [], moveCount: 0, moves: [])
    private static func path(_ name: String, refusal: PathPolicy.Refusal? = nil) -> ConnectionPath {
        var path = ConnectionPath(PathInterface(index: 2, name: name, type: Verdict(.other, .assumed)))
        path.refusal = refusal
        return path
    }

    private static let establishment: EstablishmentReport = {
        let remote = IPEndpoint(IPAddress(ipv4: 0xC000_0201), port: 443)
        return EstablishmentReport(
            host: "media.example", port: 443, transport: .tcp(fallback: .peer),
            control: .observeOnly(because: .plainTCP), mode: .handover, path: "wlan0", local: nil,
            remote: remote, resolution: .zero, addresses: [remote.address], duration: .milliseconds(20),
            handshakeRTT: nil, attempts: [], omissions: [])
    }()

    /// What a consumer can read at once.
    private static func read(_ machine: inout Machine, _ id: UInt64) -> [ConnectionEvent?] {
        var events: [ConnectionEvent?] = []
        while let wake = machine.next(id, 0, closing: { report }) {
            events.append(wake.event)
            if wake.event == nil { return events }
        }
        #expect(machine.cancel(id) != nil, "it waits")
        return events
    }

    @Test("go to each consumer, in order, with the end as the last")
    func severalConsumers() {
        var machine = Machine()
        #expect(machine.begin(Self.establishment, closing: { Self.report }).isEmpty)
        let consumers = [machine.addConsumer(), machine.addConsumer()]
        for event in [Self.lost, Self.back] { #expect(machine.add(event).isEmpty) }
        #expect(machine.close { Self.report }.isEmpty)
        #expect(machine.add(Self.lost).isEmpty, "the end is the last")
        for consumer in consumers {
            #expect(
                Self.read(&machine, consumer) == [
                    .established(Self.establishment), .fallback(.peer), Self.lost, Self.back,
                    .closed(Self.report),
                    nil,
                ])
        }
    }

    @Test("begin for a late consumer with what holds then, and not with what is over")
    func lateConsumer() {
        var machine = Machine()
        _ = machine.begin(Self.establishment, closing: { Self.report })
        for event in [
            Self.lost, Self.back, .betterPathAvailable("eth0"), .betterPathAvailable(nil),
            .pathChanged(Self.path("wwan0")),
            .steering(.joined("wwan0")), Self.lost, .betterPathAvailable("wwan0"),
        ] { _ = machine.add(event) }
        let state: [ConnectionEvent?] = [
            .established(Self.establishment), .fallback(.peer), Self.lost, .betterPathAvailable("wwan0"),
            .pathChanged(Self.path("wwan0")),
        ]
        #expect(Self.read(&machine, machine.addConsumer()) == state)
        let refused = Self.path("wlan0", refusal: .constrained)
        let refusal = PathRefusal(path: "wlan0", reason: .constrained)
        for event in [ConnectionEvent.pathChanged(refused), .pathNotAllowed(refusal)] {
            _ = machine.add(event)
        }
        let refusedState: [ConnectionEvent?] =
            Array(state.dropLast()) + [.pathChanged(refused), .pathNotAllowed(refusal)]
        #expect(Self.read(&machine, machine.addConsumer()) == refusedState)
        _ = machine.add(.pathChanged(Self.path("wlan0")))
        let last: [ConnectionEvent?] = Array(state.dropLast()) + [.pathChanged(Self.path("wlan0"))]
        #expect(Self.read(&machine, machine.addConsumer()) == last, "it is allowed again")
        _ = machine.close { Self.report }
        #expect(Self.read(&machine, machine.addConsumer()) == last + [.closed(Self.report), nil])
    }

    @Test("tell a late consumer that the connection waits for a path, as long as it does")
    func waiting() {
        var machine = Machine()
        _ = machine.begin(nil, closing: { Self.report })
        let waiting = ConnectionEvent.waiting([PathOmission(interface: "wlan0", reason: "down")])
        _ = machine.add(waiting)
        #expect(Self.read(&machine, machine.addConsumer()) == [waiting])
        _ = machine.add(.steering(.joined("wwan0")))
        #expect(Self.read(&machine, machine.addConsumer()) == [])
    }

    @Test("that a slow consumer leaves unread are dropped, and it is told how many, and what holds then")
    func slowConsumer() {
        var machine = Machine()
        _ = machine.begin(nil, closing: { Self.report })
        let (slow, quick) = (machine.addConsumer(), machine.addConsumer())
        for _ in 0..<Machine.limit {
            _ = machine.add(.steering(.stranded))
            #expect(machine.next(quick, 0, closing: { Self.report })?.event == .steering(.stranded))
        }
        var patient = machine
        #expect(Self.read(&patient, slow) == Array(repeating: .steering(.stranded), count: Machine.limit))
        _ = machine.add(Self.lost)
        for _ in 0..<10_000 { _ = machine.add(.steering(.stranded)) }
        #expect(Self.read(&machine, slow) == [.dropped(Machine.limit + 10_001), Self.lost])
    }

    @Test("that were dropped don't hide the end")
    func droppedThenClosed() {
        var machine = Machine()
        _ = machine.begin(nil, closing: { Self.report })
        let consumer = machine.addConsumer()
        for _ in 0...Machine.limit { _ = machine.add(Self.back) }
        _ = machine.close { Self.report }
        #expect(Self.read(&machine, consumer) == [.dropped(Machine.limit + 1), .closed(Self.report), nil])
    }

    @Test("tell a late consumer that the connection has fallen back since its handshake")
    func lateFallback() {
        var (machine, report) = (Machine(), Self.establishment)
        report.transport = .mptcp
        _ = machine.begin(report, closing: { Self.report })
        #expect(Self.read(&machine, machine.addConsumer()) == [.established(report)])
        _ = machine.add(.fallback(.afterHandshake))
        let state: [ConnectionEvent?] = [.established(report), .fallback(.afterHandshake)]
        #expect(Self.read(&machine, machine.addConsumer()) == state)
    }

    @Test("wait for the beginning, and wake the waiting consumers with the first one")
    func beforeTheBeginning() {
        var machine = Machine()
        let consumer = machine.addConsumer()
        #expect(machine.next(consumer, 7, closing: { Self.report }) == nil)
        #expect(machine.add(Self.lost).isEmpty)
        let wakes = machine.begin(Self.establishment, closing: { Self.report })
        #expect(wakes.map(\.waiter) == [7])
        #expect(wakes.map(\.event) == [.established(Self.establishment)])
        #expect(Self.read(&machine, consumer) == [.fallback(.peer), Self.lost])
    }

    @Test("wake each consumer that waits, and end one that is cancelled without disturbing the others")
    func cancellation() {
        var machine = Machine()
        _ = machine.begin(nil, closing: { Self.report })
        let (cancelled, other) = (machine.addConsumer(), machine.addConsumer())
        #expect(machine.next(cancelled, 1, closing: { Self.report }) == nil)
        #expect(machine.next(other, 2, closing: { Self.report }) == nil)
        let wake = machine.cancel(cancelled)
        #expect(wake?.waiter == 1 && wake?.event == nil)
        #expect(machine.add(Self.lost).map(\.waiter) == [2])
        #expect(Self.read(&machine, cancelled) == [nil])
        #expect(machine.next(other, 3, closing: { Self.report }) == nil)
        let wakes = machine.close { Self.report }
        #expect(wakes.map(\.waiter) == [3] && wakes.map(\.event) == [.closed(Self.report)])
        machine.removeConsumer(other)
        #expect(Self.read(&machine, other) == [nil])
    }

    @Test(
        "are told to people in words",
        arguments: [
            (lost, "the path does not carry the connection: no carrier"),
            (back, "the path carries the connection again"),
            (.betterPathAvailable("eth0"), "eth0 would be a better path"),
            (.fallback(.peer), "tcp (fallback: peer, whose answer had no MPTCP)"),
            (.pathChanged(path("wwan0")), "the path is wwan0 (other)"),
            (
                .pathChanged(path("wwan0", refusal: .prohibited)),
                "the path is wwan0 (other), not allowed: prohibited"
            ),
            (
                .pathNotAllowed(PathRefusal(path: "wlan0", reason: .expensive)),
                "wlan0 is not allowed any more: expensive; no other path is"
            ),
            (.steering(.stranded), "no path is left; waiting for one"),
            (
                .waiting([PathOmission(interface: "wwan0", reason: "expensive", refusal: .expensive)]),
                "waiting for a path (wwan0: expensive)"
            ),
            (.dropped(1), "1 event was read too late, and dropped"),
            (.dropped(300), "300 events were read too late, and dropped"),
        ] as [(ConnectionEvent, String)])
    func words(_ event: ConnectionEvent, _ text: String) {
        #expect("\(event)" == text)
        #expect(!event.name.isEmpty)
    }
}
