import PathCore
import Testing

@testable import PathBroker

@Suite("Ownership and limits of the broker")
struct MachineTests {
    /// A machine with clients, who do one thing after the other.
    private struct World {
        var machine: BrokerMachine
        var now = MonotonicTime(nanoseconds: 1)
        var lastRequest: UInt32 = 0

        init(_ limits: BrokerLimits = BrokerLimits(), clients: [UInt32]) {
            machine = BrokerMachine(namespace: 7, boot: "b", limits: limits)
            for (place, user) in clients.enumerated() {
                let id = BrokerMachine.ClientID(place + 1)
                _ = machine.connected(id, user: user, process: Int32(id), at: now)
                _ = ask(id, .hello)
            }
        }

        mutating func ask(
            _ id: BrokerMachine.ClientID, _ request: BrokerRequest, descriptors: Int? = nil
        ) -> [BrokerMachine.Action] {
            lastRequest += 1
            return machine.packet(
                BrokerRequest.read(request.packet(id: lastRequest)),
                descriptors: descriptors ?? (request.takesDescriptor ? 1 : 0),
                isCut: false, from: id, at: now)
        }

        mutating func answer(
            _ id: BrokerMachine.ClientID, _ answer: BrokerMachine.Answer
        ) -> [BrokerMachine.Action] {
            machine.answered(answer, from: id, at: now)
        }

        var done: BrokerMessage { .done(id: lastRequest) }
        func refused(_ refusal: BrokerRefusal) -> BrokerMessage {
            .refused(id: lastRequest, BrokerFailure(refusal))
        }

        static let socket = PassedSocketFacts(
            isInternet: true, isMPTCP: true, isInUse: true, namespace: 7, cookie: 11)
        static let remote = IPEndpoint("203.0.113.1:443")!
        static let facts = ConnectionFacts(cookie: 11, user: 1_000, remote: remote, additionalSubflows: 0)

        mutating func attach(_ id: BrokerMachine.ClientID, _ token: ConnectionToken) -> [BrokerMachine.Action]
        {
            _ = ask(id, .attach(token))
            _ = answer(id, .examined(Self.socket))
            _ = answer(id, .found(Self.facts))
            return answer(id, .finished(nil))
        }
    }

    private static let token = ConnectionToken(5)
    private static let create = SubflowAction.create(
        .init(IPAddress("192.0.2.2")!, id: 1, interface: 3), isBackup: false, remote: World.remote)

    @Test("a socket is looked at, and prepared; each step asks for the next")
    func prepare() {
        var world = World(clients: [1_000])
        #expect(world.ask(1, .prepare) == [.work(1, .examine)])
        var fresh = World.socket
        fresh.isInUse = false
        #expect(world.answer(1, .examined(fresh)) == [.work(1, .prepare)])
        #expect(
            world.answer(1, .prepared(nil, changed: .microseconds(2))) == [.send(1, world.done)])
        for (change, refusal) in [
            (PassedSocketFacts(), BrokerRefusal.noInternetSocket),
            (PassedSocketFacts(isInternet: true), .noMPTCPSocket),
            (PassedSocketFacts(isInternet: true, isMPTCP: true, namespace: 8, cookie: 1), .otherNamespace),
            (PassedSocketFacts(isInternet: true, isMPTCP: true), .otherNamespace),
            (World.socket, .socketInUse),
        ] {
            _ = world.ask(1, .prepare)
            #expect(world.answer(1, .examined(change)) == [.send(1, world.refused(refusal))])
        }
    }

    @Test("an order is carried out for the client that has shown the socket, and for no other")
    func ownership() {
        var world = World(clients: [1_000, 1_000, 2_000])
        #expect(world.ask(1, .order(Self.create, Self.token)) == [.send(1, world.refused(.foreignToken))])
        #expect(world.attach(1, Self.token) == [.send(1, world.done)])
        for other in [2, 3] as [BrokerMachine.ClientID] {
            #expect(
                world.ask(other, .order(Self.create, Self.token)) == [
                    .send(other, world.refused(.foreignToken))
                ])
            #expect(world.ask(other, .detach(Self.token)) == [.send(other, world.refused(.foreignToken))])
        }
        // Another socket than the token's.
        _ = world.ask(3, .attach(Self.token))
        var stranger = World.socket
        stranger.cookie = 12
        _ = world.answer(3, .examined(stranger))
        #expect(world.answer(3, .found(World.facts)) == [.send(3, world.refused(.foreignToken))])
        #expect(world.ask(1, .order(Self.create, Self.token)) == [.work(1, .look(Self.token))])
        guard case .create(let local, _, let remote) = Self.create else { return }
        #expect(world.answer(1, .found(World.facts)) == [.work(1, .route(user: 1_000, local, remote))])
        #expect(world.answer(1, .finished(nil)) == [.work(1, .perform(Self.create, Self.token))])
        #expect(world.answer(1, .finished(nil)) == [.send(1, world.done)])
        let event = SubflowEvent.removed(Self.token, remoteID: 1)
        #expect(world.machine.event(event, at: world.now) == [.send(1, .event(event))])
    }

    @Test("a refused attach takes the connection from none, and what a user has attached already adds none")
    func refusedAttach() {
        var limits = BrokerLimits()
        limits.connectionsPerUser = 1
        var world = World(limits, clients: [1_000, 2_000, 2_000])
        let other = ConnectionToken(6)
        #expect(world.attach(1, Self.token) == [.send(1, world.done)])
        // The second has the socket as well. While it shows that, another client of its user attaches the one that it may.
        _ = world.ask(2, .attach(Self.token))
        let refusal = BrokerMessage.refused(
            id: world.lastRequest, BrokerFailure(.tooManyConnections))
        _ = world.answer(2, .examined(World.socket))
        _ = world.answer(2, .found(World.facts))
        #expect(world.attach(3, other) == [.send(3, world.done)])
        #expect(world.answer(2, .finished(nil)) == [.send(2, refusal)])
        // The first one steers on, and hears what the kernel says.
        let event = SubflowEvent.removed(Self.token, remoteID: 1)
        #expect(world.machine.event(event, at: world.now) == [.send(1, .event(event))])
        // Of its own user's it is one and the same.
        let taken = world.attach(2, other)
        #expect(taken == [.send(3, .event(.closed(other))), .send(2, world.done)])
        #expect(world.machine.connectionCount == 2)
    }

    @Test(
        "what is asked about and made when the connection becomes another client's keeps to the owner and the limit"
    )
    func takenOver() {
        var limits = BrokerLimits()
        limits.subflowsPerConnection = 2
        var world = World(limits, clients: [1_000, 1_000, 1_000])
        _ = world.attach(1, Self.token)
        _ = world.ask(1, .order(Self.create, Self.token))
        let first = world.lastRequest
        guard case .work(1, .route)? = world.answer(1, .found(World.facts)).first else {
            return #expect(Bool(false))
        }
        _ = world.attach(2, Self.token)
        #expect(
            world.answer(1, .finished(nil)) == [.send(1, .refused(id: first, BrokerFailure(.foreignToken)))])
        // The kernel is making one for the second when the third takes the connection.
        _ = world.ask(2, .order(Self.create, Self.token))
        _ = world.answer(2, .found(World.facts))
        #expect(world.answer(2, .finished(nil)) == [.work(2, .perform(Self.create, Self.token))])
        _ = world.attach(3, Self.token)
        _ = world.ask(3, .order(Self.create, Self.token))
        var facts = World.facts
        facts.additionalSubflows = 1
        #expect(world.answer(3, .found(facts)) == [.send(3, world.refused(.tooManySubflows))])
    }

    @Test("announcements of before a loss are not believed: the token may be another connection's by now")
    func lostAnnouncements() {
        var world = World(clients: [1_000])
        let there = IPEndpoint("198.51.100.9:443")!
        _ = world.machine.event(.announced(Self.token, remoteID: 4, there), of: 1_000, at: world.now)
        _ = world.machine.event(.lost, at: world.now)
        #expect(world.attach(1, Self.token) == [.send(1, world.done)])
        let local = SubflowAction.LocalAddress(IPAddress("192.0.2.2")!, id: 1)
        _ = world.ask(1, .order(.create(local, isBackup: false, remote: there), Self.token))
        #expect(world.answer(1, .found(World.facts)) == [.send(1, world.refused(.foreignRemote))])
    }

    @Test("a token that another connection has by now belongs to no client")
    func reusedToken() {
        var world = World(clients: [1_000])
        _ = world.attach(1, Self.token)
        _ = world.ask(1, .order(Self.create, Self.token))
        var other = World.facts
        other.cookie = 99
        #expect(world.answer(1, .found(other)) == [.send(1, world.refused(.alreadyGone))])
        #expect(world.ask(1, .order(Self.create, Self.token)) == [.send(1, world.refused(.foreignToken))])
        #expect(world.machine.connectionCount == 0)
    }

    @Test("a subflow goes to the first address, or one that the peer has announced and not taken back")
    func remotes() {
        var world = World(clients: [1_000])
        let other = IPEndpoint("198.51.100.9:443")!
        // Before it is attached, too.
        #expect(
            world.machine.event(
                .announced(Self.token, remoteID: 4, IPEndpoint("198.51.100.9:0")!), of: 1_000, at: world.now)
                == [])
        let attached = world.attach(1, Self.token)
        #expect(attached.count == 2 && attached.first == .send(1, world.done))
        let local = SubflowAction.LocalAddress(IPAddress("192.0.2.2")!, id: 1)
        func create(_ remote: IPEndpoint) -> BrokerRequest {
            .order(.create(local, isBackup: false, remote: remote), Self.token)
        }
        _ = world.ask(1, create(other))
        #expect(world.answer(1, .found(World.facts)) == [.work(1, .route(user: 1_000, local, other))])
        _ = world.answer(1, .finished(BrokerFailure(.noRoute)))
        _ = world.machine.event(.removed(Self.token, remoteID: 4), at: world.now)
        _ = world.ask(1, create(other))
        #expect(world.answer(1, .found(World.facts)) == [.send(1, world.refused(.foreignRemote))])
    }

    @Test("a user who holds a socket up waits, and no other user does")
    func held() {
        var world = World(clients: [1_000, 1_000, 2_000])
        var fresh = World.socket
        fresh.isInUse = false
        _ = world.ask(1, .prepare)
        _ = world.answer(1, .examined(fresh))
        // One socket of a user is prepared at a time.
        #expect(world.ask(2, .prepare) == [.work(2, .waitForTurn(BrokerLimits().longestCall))])
        #expect(world.ask(3, .prepare) == [.work(3, .examine)])
        _ = world.answer(3, .examined(fresh))
        #expect(world.answer(3, .prepared(nil, changed: .zero)) == [.send(3, world.done)])
        let failed = world.machine.answered(
            .prepared(BrokerFailure(.socketHeld), changed: .milliseconds(2)), from: 1, at: world.now)
        // The next one of the user is woken, and is not served either.
        #expect(failed.count == 2 && failed.last == .wake(2))
        #expect(world.machine.status(for: nil).heldUp == 1)
        let refused = world.answer(2, .waited)
        guard case .send(2, .refused(_, let failure))? = refused.first else {
            return #expect(Bool(false), "\(refused)")
        }
        #expect(failure.refusal == .socketHeld)
        #expect(world.ask(3, .prepare) == [.work(3, .examine)])
        world.now = world.now.advanced(by: BrokerLimits().heldPause)
        #expect(world.ask(1, .prepare) == [.work(1, .examine)])
    }

    @Test("a user's sockets are prepared in the order in which they were asked for, and none waits in vain")
    func turns() {
        var world = World(clients: [1_000, 1_000, 1_000, 1_000])
        var fresh = World.socket
        fresh.isInUse = false
        _ = world.ask(1, .prepare)
        _ = world.answer(1, .examined(fresh))
        for id in 2...4 as ClosedRange<BrokerMachine.ClientID> {
            #expect(world.ask(id, .prepare) == [.work(id, .waitForTurn(BrokerLimits().longestCall))])
        }
        #expect(world.answer(1, .prepared(nil, changed: .zero)).last == .wake(2))
        #expect(world.answer(2, .waited) == [.work(2, .examine)])
        // The third leaves while it waits; the fourth wakes early, and waits on.
        _ = world.machine.disconnected(3)
        #expect(world.answer(4, .waited) == [.work(4, .waitForTurn(BrokerLimits().longestCall))])
        // The second leaves in the middle.
        #expect(world.machine.disconnected(2) == [.wake(4)])
        #expect(world.answer(4, .waited) == [.work(4, .examine)])
        #expect(world.answer(4, .examined(World.socket)).count == 1)
    }

    @Test("a user may have the setting changed for some of the time only, however short each change is")
    func changedTime() {
        var world = World(clients: [1_000, 2_000])
        var fresh = World.socket
        fresh.isInUse = false
        var changed = Duration.zero
        let begun = world.now
        // Each socket is held for a little less than what the watchdog waits for.
        while begun.duration(to: world.now) < .seconds(10) {
            if world.ask(1, .prepare) == [.work(1, .examine)] {
                _ = world.answer(1, .examined(fresh))
                _ = world.answer(1, .prepared(nil, changed: .microseconds(1_900)))
                changed += .microseconds(1_900)
            }
            world.now = world.now.advanced(by: .milliseconds(2))
        }
        #expect(changed < .milliseconds(310), "\(changed)")
        #expect(world.ask(2, .prepare) == [.work(2, .examine)])
    }

    @Test("what peers announce to one user's connections hides nothing of another's")
    func earlyEvents() {
        var world = World(clients: [1_000])
        let event = SubflowEvent.announced(Self.token, remoteID: 4, IPEndpoint("198.51.100.9:0")!)
        #expect(world.machine.wantsUser(of: event))
        _ = world.machine.event(event, of: 1_000, at: world.now)
        for number in 100..<5_000 as Range<UInt32> {
            let other = SubflowEvent.announced(
                ConnectionToken(number), remoteID: 1, IPEndpoint("198.51.100.9:0")!)
            _ = world.machine.event(other, of: 2_000, at: world.now)
        }
        #expect(world.attach(1, Self.token) == [.send(1, world.done), .send(1, .event(event))])
        #expect(!world.machine.wantsUser(of: event))
        #expect(!world.machine.wantsUser(of: .removed(ConnectionToken(9), remoteID: 1)))
    }

    @Test("a peer's wishes are passed on some times a second, and the client is told that some were not")
    func wishes() {
        var world = World(clients: [1_000])
        _ = world.attach(1, Self.token)
        let facts = SubflowFacts(local: World.remote, remote: World.remote)
        let wish = SubflowEvent.subflowPriority(Self.token, facts)
        var told = 0
        for _ in 0..<1_000 { told += world.machine.event(wish, at: world.now).count }
        #expect(told == BrokerLimits().announcementsPerConnection)
        // What a peer takes back is taken back all the same.
        let announced = SubflowEvent.announced(Self.token, remoteID: 4, IPEndpoint("198.51.100.9:0")!)
        world.now = world.now.advanced(by: .seconds(1))
        #expect(
            world.machine.event(announced, at: world.now) == [
                .send(1, .event(.lost)), .send(1, .event(announced)),
            ])
        for _ in 0..<1_000 { _ = world.machine.event(wish, at: world.now) }
        #expect(world.machine.event(.removed(Self.token, remoteID: 4), at: world.now) == [])
        let local = SubflowAction.LocalAddress(IPAddress("192.0.2.2")!, id: 1)
        let there = IPEndpoint("198.51.100.9:443")!
        _ = world.ask(1, .order(.create(local, isBackup: false, remote: there), Self.token))
        #expect(world.answer(1, .found(World.facts)) == [.send(1, world.refused(.foreignRemote))])
    }

    @Test("who asks too fast is refused or answered later, and may go on soon")
    func rates() {
        var limits = BrokerLimits()
        limits.prepares = .init(perSecond: 10, burst: 2)
        limits.packets = .init(perSecond: 10, burst: 6)
        var world = World(limits, clients: [1_000])
        for _ in 0..<2 {
            #expect(world.ask(1, .prepare) == [.work(1, .examine)])
            _ = world.answer(1, .examined(PassedSocketFacts()))
        }
        #expect(world.ask(1, .prepare) == [.send(1, world.refused(.tooFast))])
        for _ in 0..<2 {
            #expect(world.ask(1, .status).count == 1)
            _ = world.answer(1, .told(true))
        }
        #expect(world.ask(1, .status) == [.work(1, .wait(.milliseconds(100)))])
        world.now = world.now.advanced(by: .milliseconds(100))
        guard case .work(1, .tell(.status))? = world.answer(1, .waited).first else {
            return #expect(Bool(false))
        }
        // One that does not read it is a slow reader.
        #expect(world.answer(1, .told(false)) == [.drop(1)])
    }

    @Test(
        "a client counts until nothing is left of it, its connections until it leaves; of refusals some are told"
    )
    func counted() {
        var limits = BrokerLimits()
        limits.clientsPerUser = 1
        limits.refusedPerUser = 1
        limits.connectionsPerUser = 1
        var world = World(limits, clients: [1_000])
        _ = world.attach(1, Self.token)
        #expect(world.machine.left(1) == [])
        #expect(world.machine.connectionCount == 0)
        // It has something left to read.
        let refusal = BrokerMessage.refused(id: 0, BrokerFailure(.tooManyClients))
        #expect(
            world.machine.connected(2, user: 1_000, process: 2, at: world.now)
                == [.send(2, refusal), .drop(2)])
        #expect(world.machine.connected(3, user: 1_000, process: 3, at: world.now) == [.drop(3)])
        // The places that are taken.
        #expect(world.machine.status(for: nil).clientCount == 1)
        #expect(world.machine.status(for: nil).clients.count == 1)
        #expect(
            world.machine.connected(4, user: 2_000, process: 4, at: world.now) == [])
        // One that was refused has no client's place.
        #expect(world.machine.disconnected(1) == [])
        #expect(world.machine.connected(5, user: 1_000, process: 5, at: world.now) == [])
        for id in 2...5 as ClosedRange<BrokerMachine.ClientID> { _ = world.machine.disconnected(id) }
        #expect(world.machine.isEmpty && world.machine.refusedCount == 0)
    }

    @Test("a user sees its own clients, and root all")
    func status() {
        let world = World(clients: [1_000, 0, 2_000])
        #expect(world.machine.status(for: 1_000).clients.map(\.user) == [1_000])
        #expect(world.machine.status(for: 1_000).clientCount == 3)
        #expect(world.machine.status(for: nil).clients.count == 3)
    }
}
