import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A connection's follower")
struct ConnectionFollowerTests {
    /// A listener on loopback, and what the follower of a connection to it tells.
    private final class World: Sendable {
        let monitor = PathMonitor()
        let events = Locked<[ConnectionEvent]>([])
        private let listener: StreamSocket
        let port: UInt16

        init() throws {
            listener = try StreamSocket(.ipv4, .tcp)
            try listener.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
            port = listener.localEndpoint?.port ?? 0
        }

        func connect() async throws -> ConnectedSocket {
            try await Connector(monitor: monitor).connect(host: "127.0.0.1", port: Int(port)) {
                $0.protocols = [.tcp]
            }
        }

        func accept() -> StreamSocket? { listener.accept() }

        func listen(_ follower: ConnectionFollower) {
            follower.observe { event in self.events.withLock { $0.append(event) } }
        }

        func publish(_ snapshot: PathSnapshot) {
            let monitor = monitor
            EventThread.shared.submit { monitor.lifetime.channel.publish(snapshot) }
        }

        var told: [ConnectionEvent] { events.withLock { $0 } }
    }

    @Test("tells that the interface is gone and back, and tells late listeners what is the case")
    func interface() async throws {
        let world = try World()
        let socket = try await world.connect()
        let follower = try socket.follow()
        world.listen(follower)
        var snapshot = try await world.monitor.currentPath()
        let real = snapshot
        snapshot.excluded.removeAll { $0.interface.name == "lo" }
        snapshot.generation += 1
        world.publish(snapshot)
        try await Program.wait("the loss") {
            world.told == [.viabilityChanged(isViable: false, reason: .interfaceGone)]
        }
        let late = Locked<[ConnectionEvent]>([])
        follower.observe { event in late.withLock { $0.append(event) } }
        world.publish(real)
        try await Program.wait("the return") {
            world.told == [
                .viabilityChanged(isViable: false, reason: .interfaceGone),
                .viabilityChanged(isViable: true, reason: nil),
            ]
        }
        #expect(late.withLock { $0 } == world.told)
        follower.stop()
        _ = socket.report
    }

    @Test("of another program's connection stops when that program closes it, and knows all that it carried")
    func lent() async throws {
        let world = try World()
        let socket = try StreamSocket(.ipv4, .tcp)
        let endpoint = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: world.port)
        if try !socket.connect(to: endpoint) {
            _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable)
        }
        let lent = ConnectionFollower(
            lent: socket.descriptor.number, madeWith: .observeOnly(because: .plainTCP),
            ConnectionConfiguration(),
            monitor: world.monitor)
        let follower = try #require(lent)
        follower.begin(nil)
        await follower.settled()
        let bytes = [UInt8](repeating: 7, count: 40_000)
        var sent = 0
        if case .moved(let count) = bytes.withUnsafeBytes({ socket.write($0) }) { sent = count }
        #expect(sent > 0)
        #expect(!follower.isStopped)
        let server = world.accept()
        _ = consume socket
        _ = consume server
        try await Program.wait("the end") { follower.isStopped }
        #expect(follower.transferReport().paths.map(\.bytesSent) == [UInt64(sent)])
    }

    @Test("takes a reset right after the handshake for no fallback")
    func resetAtOnce() async throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
        let port = Int(listener.localEndpoint?.port ?? 0)
        let socket = try await Connector(monitor: PathMonitor()).connect(host: "127.0.0.1", port: port) {
            $0.protocols = [.mptcp]
        }
        let follower = try socket.follow()
        // What was not accepted is reset.
        _ = consume listener
        try await Program.wait("the reset") { follower.currentSample()?.subflows.first?.state == .closed }
        #expect(follower.transport == .mptcp)
        follower.stop()
        #expect(follower.transferReport().transport == .mptcp)
        _ = socket.report
    }

    @Test("tells of what was lost in the moment after the connection came about")
    func early() async throws {
        let world = try World()
        let socket = try await world.connect()
        var snapshot = try await world.monitor.currentPath()
        let follower = try socket.follow()
        // Before anything else on the event thread, and with it the follower's own beginning.
        snapshot.excluded.removeAll { $0.interface.name == "lo" }
        snapshot.generation += 1
        world.publish(snapshot)
        world.listen(follower)
        try await Program.wait("the loss") {
            world.told == [.viabilityChanged(isViable: false, reason: .interfaceGone)]
        }
        follower.stop()
        _ = socket.report
    }

    @Test("asks a silent peer's host, and says nothing where that answers")
    func silence() async throws {
        let world = try World()
        let socket = try await world.connect()
        let follower = try socket.follow()
        world.listen(follower)
        try await Program.wait("the connection") { world.accept() != nil }
        follower.expectsData = true
        // The peer's program sees nothing of it; an answer ends what is suspected of the path.
        let snapshot = try await world.monitor.currentPath()
        let path = try #require(snapshot.interface(named: "lo"))
        for _ in 0..<2 {
            world.monitor.suspicions.silent(path, at: .now)
            try await Program.wait("an answer") {
                world.monitor.suspicions.suspects(in: snapshot, at: .now).isEmpty
            }
        }
        let accepted = world.accept() != nil
        #expect(!accepted)
        #expect(world.told == [])
        #expect(follower.expectsData)
        follower.stop()
        _ = socket.report
    }

    @Test("tells that a peer's host does not answer any more")
    func noAnswer() async throws {
        let world = try World()
        let socket = try await world.connect()
        // A full queue drops SYNs without a word, as a dead path does. Its length rounds up, so fill it well.
        let follower = try socket.follow()
        world.listen(follower)
        var others: [LeasedSocket] = []
        while others.count < 300 {
            var configuration = ConnectionConfiguration()
            configuration.protocols = [.tcp]
            configuration.connectTimeout = .milliseconds(500)
            do throws(ConnectionError) {
                let other = try await Connector(monitor: world.monitor).connect(
                    host: "127.0.0.1", port: Int(world.port), configuration)
                if let leased = try? LeasedSocket(other, policy: PathPolicy()) { others.append(leased) }
            } catch {
                break
            }
        }
        #expect(others.count < 300)
        follower.expectsData = true
        try await Program.wait("the verdict") {
            world.told == [.viabilityChanged(isViable: false, reason: .noAnswer)]
        }
        for other in others { other.close() }
        // Room again: a later question is answered.
        while world.accept() != nil {}
        try await Program.wait("the answer") {
            world.told.last == .viabilityChanged(isViable: true, reason: nil)
        }
        follower.stop()
        _ = socket.report
    }

    @Test("is sampled once a second where glances would be enough: its books are kept")
    func glances() async throws {
        let world = try World()
        let socket = try await world.connect()
        let follower = try socket.follow()
        await follower.settled()
        /// Whether nothing more than a glance is taken after something was written.
        func isGlance() -> Bool {
            follower.written.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
            if case .nothingWaits = follower.look(mayGlance: true) { return true }
            return false
        }
        for _ in 0..<2 {
            let start = MonotonicTime.now
            #expect(isGlance())
            try await Program.wait("a sample") { !isGlance() }
            #expect(start.duration(to: .now) >= ConnectionFollower.longestGlance)
        }
        #expect(isGlance())
        follower.stop()
        _ = socket.report
    }

    @Test("lets go of the socket in the moment it is stopped, also with samples under way")
    func stop() async throws {
        let world = try World()
        for _ in 0..<50 {
            let leased = try LeasedSocket(try await world.connect(), policy: PathPolicy())
            var peer: StreamSocket?
            try await Program.wait("the peer") {
                peer = world.accept()
                return peer != nil
            }
            leased.follower.expectsData = true
            leased.follower.didSend(1)
            leased.close()
            // The peer sees the end: no descriptor of the connection is left.
            guard let peer = peer.take() else { continue }
            try await Program.wait("the end") {
                withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { peer.read(into: $0) }
                    == .moved(0)
            }
            leased.follower.didSend(1)
            leased.follower.expectsData = false
            leased.follower.stop()
        }
    }

    @Test("ends where it is stopped while a sample is overdue, and holds nothing else up")
    func overdue() async throws {
        let world = try World()
        let socket = try await world.connect()
        let follower = try socket.follow()
        follower.didSend(1)
        let isStopped = Locked(false)
        let thread = world.monitor.runtime.thread
        // By then the follower waits for its sample.
        for _ in 0..<4 { await withCheckedContinuation { done in thread.submit { done.resume() } } }
        thread.submit {
            // The event thread comes to its timers before it comes to the end of the following.
            usleep(100_000)
            follower.stop()
            thread.submit { isStopped.withLock { $0 = true } }
        }
        try await Program.wait("the event thread") { isStopped.withLock { $0 } }
        _ = socket.report
    }
}
