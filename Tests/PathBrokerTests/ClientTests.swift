import Foundation
import Glibc
import LinuxNet
import PathCore
import TestSupport
import Testing

@testable import PathBroker

extension BrokerRequest {
    fileprivate var name: String {
        switch self {
        case .hello: "hello"
        case .attach: "attach"
        case .detach: "detach"
        case .prepare, .prepareBy, .order, .status: "another"
        }
    }
}

@Suite("The library's end of the broker")
struct ClientTests {
    @Test("a connection that could not be attached for a moment is attached later, and takes no order before")
    func attachesAgain() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("held.sock")
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        let thread = EventThread(name: "attaches")
        let token = ConnectionToken(7)
        let control = Locked<BrokerSubflowControl?>(nil)
        try thread.perform {
            let client = BrokerClient(on: thread, path: path)
            let made = BrokerSubflowControl(client)
            client.onReady = { made.attach(token, by: 0) }
            made.onDetachment = { token, pause in
                _ = thread.schedule(at: .now.advanced(by: pause)) { made.attach(token, by: 0) }
            }
            client.start()
            control.withLock { $0 = made }
        }
        let order = SubflowAction.withdraw(.init(IPAddress("192.0.2.2")!, id: 1))
        func perform() throws -> CInt? {
            let failure = Locked<CInt?>(nil)
            try thread.perform {
                do throws(SystemError) {
                    _ = try control.withLock { $0 }?.perform(order, on: token)
                } catch {
                    failure.withLock { $0 = error.errno }
                }
            }
            return failure.withLock { $0 }
        }
        let socket = try LocalPackets.accept(on: listener)
        func next() throws -> (id: UInt32, request: BrokerRequest?) {
            let isThere = LocalPackets.wait(for: socket, until: .now.advanced(by: .seconds(10)))
            #expect(isThere)
            guard let packet = try LocalPackets.receive(from: socket, limit: 1_024, waits: false) else {
                return (0, nil)
            }
            let (id, content) = BrokerRequest.read(packet.bytes)
            return (id, try? content.get())
        }
        let hello = try next()
        // Nothing is sent that the daemon would take for an order for another's connection.
        #expect(try perform() == ENOTCONN)
        let namespace = try SocketOption.namespaceCookie()
        let welcome = BrokerWelcome(namespace: namespace, boot: "b", limits: BrokerLimits())
        try LocalPackets.send(BrokerMessage.welcome(id: hello.id, welcome).packet, over: socket)
        let first = try next()
        #expect(first.request == .attach(token))
        let refusal = BrokerMessage.refused(id: first.id, BrokerFailure(.socketHeld))
        try LocalPackets.send(refusal.packet, over: socket)
        let second = try next()
        #expect(second.request == .attach(token))
        try LocalPackets.send(BrokerMessage.done(id: second.id).packet, over: socket)
        #expect(try perform() == nil)
        let third = try next()
        #expect(third.request == .order(order, token))
        // One that it has forgotten is attached anew.
        let foreign = BrokerMessage.refused(id: third.id, BrokerFailure(.foreignToken))
        try LocalPackets.send(foreign.packet, over: socket)
        #expect(try next().request == .attach(token))
    }

    /// A pipe's end in a client's hands, and the other by which is seen whether any process has it open.
    private final class Lent: Sendable {
        let reader, writer: CInt

        init() {
            var pair: [CInt] = [-1, -1]
            _ = pipe(&pair)
            for number in pair { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
            (reader, writer) = (pair[0], pair[1])
        }

        func closeWriter() { close(writer) }

        /// Waits until it is: long, for a machine may be busy.
        func isClosed() -> Bool {
            var state = pollfd(fd: reader, events: 0, revents: 0)
            return poll(&state, 1, 20_000) == 1 && state.revents & Int16(POLLHUP) != 0
        }

        deinit { close(reader) }
    }

    @Test("a daemon that reads nothing keeps no socket open that its program has closed")
    func takesBack() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("stopped.sock")
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        let thread = EventThread(name: "lends")
        let client = Locked<BrokerClient?>(nil)
        let control = Locked<BrokerSubflowControl?>(nil)
        let isReady = Locked(false)
        try thread.perform {
            let made = BrokerClient(on: thread, path: path)
            made.onReady = { isReady.withLock { $0 = true } }
            made.start()
            client.withLock { $0 = made }
            control.withLock { $0 = BrokerSubflowControl(made) }
        }
        let socket = try LocalPackets.accept(on: listener)
        let namespace = try SocketOption.namespaceCookie()
        let welcome = BrokerWelcome(namespace: namespace, boot: "b", limits: BrokerLimits())
        try LocalPackets.send(BrokerMessage.welcome(id: 1, welcome).packet, over: socket)
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        while !isReady.withLock({ $0 }), MonotonicTime.now < deadline { ThreadPause.sleep(.milliseconds(1)) }

        let (prepared, attached) = (Lent(), Lent())
        // A loan ends with what it was for.
        try thread.perform {
            control.withLock { $0 }?.attach(ConnectionToken(8), by: attached.reader)
            control.withLock { $0 }?.detach(ConnectionToken(8))
        }
        var requests: [String] = []
        while requests.count < 3, LocalPackets.wait(for: socket, until: deadline) {
            guard let packet = try LocalPackets.receive(from: socket, limit: 1_024, waits: false) else {
                break
            }
            let request = try? BrokerRequest.read(packet.bytes).1.get()
            var descriptors = packet.takeDescriptors()
            var content = "nothing"
            if let envelope = descriptors.takeLast() {
                content = "what was taken back"
                if let opened = DescriptorEnvelope.open(envelope) {
                    content = opened.number < 0 ? "nothing" : "a socket"
                }
            }
            requests.append(request.map { "\($0.name) with \(content)" } ?? "none")
        }
        #expect(requests == ["hello with nothing", "attach with what was taken back", "detach with nothing"])

        try thread.perform {
            client.withLock { $0 }?.send(
                .prepareBy(.now.advanced(by: .milliseconds(50))), passing: prepared.writer,
                patience: .milliseconds(100)
            ) { _ in }
            control.withLock { $0 }?.attach(ConnectionToken(7), by: attached.writer)
        }
        prepared.closeWriter()
        attached.closeWriter()
        #expect(prepared.isClosed())
        #expect(attached.isClosed())
        // The daemon has read nothing meanwhile.
        let isUnread = LocalPackets.wait(for: socket, until: .now)
        #expect(isUnread)
    }

    @Test("a daemon that never stops talking holds up no other work, and is left alone")
    func flood() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("flood.sock")
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        let thread = EventThread(name: "flooded")
        let client = Locked<BrokerClient?>(nil)
        try thread.perform {
            let made = BrokerClient(on: thread, path: path, mostPackets: 500)
            made.start()
            client.withLock { $0 = made }
        }
        let socket = try LocalPackets.accept(on: listener)
        let namespace = try SocketOption.namespaceCookie()
        let welcome = BrokerMessage.welcome(
            id: 1, BrokerWelcome(namespace: namespace, boot: "b", limits: BrokerLimits()))
        try LocalPackets.send(welcome.packet, over: socket)
        let event = BrokerMessage.event(.closed(ConnectionToken(1))).packet
        let isOver = Locked(false)
        let number = socket.release()
        try OwnThread.start("flood") {
            let socket = Descriptor(owning: number)
            while !isOver.withLock({ $0 }) {
                do throws(SystemError) {
                    try LocalPackets.send(event, over: socket)
                } catch {
                    // Full for the moment; or it was closed at the other end.
                    if !error.isWouldBlock { return }
                }
            }
        }
        defer { isOver.withLock { $0 = true } }
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        var limit: ControlLimit?
        while limit != .brokerRefused("it floods"), MonotonicTime.now < deadline {
            let begun = MonotonicTime.now
            let found = Locked<ControlLimit?>(nil)
            try thread.perform { found.withLock { $0 = client.withLock { $0?.limit } } }
            #expect(begun.duration(to: .now) < .seconds(2))
            limit = found.withLock { $0 }
        }
        #expect(limit == .brokerRefused("it floods"))
    }
}
