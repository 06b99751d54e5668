import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A connection's path")
struct LivePathTests {
    /// A connection over loopback whose rules refuse paths on which data is to be saved, and what is told of it.
    private final class World: Sendable {
        let monitor = PathMonitor()
        /// The connection's own, after it was taken.
        let descriptor: CInt
        let follower: ConnectionFollower
        private let listener: StreamSocket
        private let accepted = Locked<CInt>(-1)
        private let events = Locked<[ConnectionEvent]>([])
        private let real: PathSnapshot
        private let published = Locked<UInt64>(0)

        init(
            _ protocols: Set<TransportProtocol> = [.tcp], _ response: PathRefusalAction = .report
        ) async throws {
            listener = try StreamSocket(.ipv4, protocols == [.tcp] ? .tcp : .mptcp)
            try listener.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
            let port = listener.localEndpoint?.port ?? 0
            let socket = try await Connector(monitor: monitor).connect(host: "127.0.0.1", port: Int(port)) {
                $0.protocols = protocols
                $0.allowsConstrainedPaths = false
                $0.whenPathIsRefused = response
            }
            follower = try socket.follow()
            descriptor = socket.takeDescriptor()
            real = try await monitor.currentPath()
            follower.observe { [events] event in events.withLock { $0.append(event) } }
            try await Program.wait("the connection") { accept() }
        }

        deinit {
            follower.stop()
            close(accepted.withLock { $0 })
            close(descriptor)
        }

        private func accept() -> Bool {
            guard let socket = listener.accept() else { return false }
            let number = socket.release()
            accepted.withLock { $0 = number }
            return true
        }

        /// What the peer's program reads: a count, or minus the error.
        func readAtPeer() -> Int { Self.read(accepted.withLock { $0 }) }

        static func read(_ descriptor: CInt) -> Int {
            var bytes = [UInt8](repeating: 0, count: 10)
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            return count >= 0 ? count : -Int(errno)
        }

        /// The user says whether data is to be saved on loopback.
        func constrain(_ isConstrained: Bool) {
            var snapshot = real
            for place in snapshot.excluded.indices where snapshot.excluded[place].interface.name == "lo" {
                snapshot.excluded[place].interface.constrained = Verdict(isConstrained, .settings)
            }
            snapshot.generation += published.withLock { count in
                count += 1
                return count
            }
            let (monitor, next) = (monitor, snapshot)
            EventThread.shared.submit { monitor.lifetime.channel.publish(next) }
        }

        /// What was told beside what the paths' own changes have told.
        var told: [ConnectionEvent] { events.withLock { $0 } }
    }

    private static func path(_ isConstrained: Bool) -> ConnectionPath {
        var path = ConnectionPath(
            PathInterface(
                index: 1, name: "lo", type: Verdict(.loopback, .kernel),
                constrained: Verdict(isConstrained, .settings)))
        path.refusal = isConstrained ? .constrained : nil
        return path
    }

    private static let refusal = PathRefusal(path: "lo", reason: .constrained)

    @Test("is known while it lives, told when its tags change, and told when its rules refuse it")
    func reported() async throws {
        let world = try await World()
        #expect(world.follower.currentPath?.id == "lo")
        #expect(world.follower.currentPath?.refusal == nil)
        world.constrain(true)
        let type = world.follower.currentPath?.type ?? Verdict(.loopback, .kernel)
        var refused = Self.path(true)
        refused.type = type
        try await Program.wait("the refusal") {
            world.told == [.pathChanged(refused), .pathNotAllowed(Self.refusal)]
        }
        #expect(world.follower.currentPath == refused)
        let late = Locked<[ConnectionEvent]>([])
        world.follower.observe { event in late.withLock { $0.append(event) } }
        try await Program.wait("what holds") { late.withLock { $0 } == [.pathNotAllowed(Self.refusal)] }
        var seen: [ConnectionEvent] = []
        for await event in world.follower.events {
            if case .established = event { continue }
            if case .fallback = event { continue }
            seen.append(event)
            if seen.count == 2 { break }
        }
        #expect(seen == [.pathChanged(refused), .pathNotAllowed(Self.refusal)])
        world.constrain(false)
        var allowed = Self.path(false)
        allowed.type = type
        try await Program.wait("the end of it") { world.told.last == .pathChanged(allowed) }
        #expect(world.told.count == 3)
        #expect(world.readAtPeer() == -Int(EAGAIN), "it is open")
    }

    @Test(
        "ends with its connection where its rules refuse it, if that was asked for",
        arguments: [[.tcp], [.mptcp, .tcp]] as [Set<TransportProtocol>])
    func closed(protocols: Set<TransportProtocol>) async throws {
        let world = try await World(protocols, .close)
        world.constrain(true)
        try await Program.wait("the refusal") { world.told.contains(.pathNotAllowed(Self.refusal)) }
        try await Program.wait("the end at the peer") { world.readAtPeer() != -Int(EAGAIN) }
        #expect(World.read(world.descriptor) != -Int(EAGAIN), "reads don't wait any more")
    }
}
