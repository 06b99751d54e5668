// The runner of the services: listeners and connections on a thread of their own, in the server's network.

import LabNet
import LinuxNet
import PathCore

/// The built-in services. Only their thread touches the connections.
final class ServiceHost: Sendable {
    static let echoPort: UInt16 = 7
    static let sinkPort: UInt16 = 9
    static let sourcePort: UInt16 = 19
    static let pacedPort: UInt16 = 20
    static let httpPort: UInt16 = 80

    private let thread = EventThread(name: "server")

    private let congestion: CongestionControl?

    /// Listens on every port, in the network this thread is in.
    ///
    /// - Parameter congestion: what its connections use; the host's where nil.
    init(_ transport: TransportProtocol, congestion: CongestionControl? = nil) throws(SystemError) {
        self.congestion = congestion
        try listen(Self.echoPort, transport) { EchoConversation() }
        try listen(Self.sinkPort, transport) { SinkConversation() }
        try listen(Self.sourcePort, transport) { SourceConversation() }
        try listen(Self.pacedPort, transport) { PacedConversation() }
        try listen(Self.httpPort, transport) { HTTPConversation() }
    }

    private func listen(
        _ port: UInt16, _ transport: TransportProtocol, _ make: @escaping @Sendable () -> any Conversation
    ) throws(SystemError) {
        // One socket of IPv6 takes IPv4 too.
        let socket = try StreamSocket(.ipv6, transport)
        try socket.listen(on: IPEndpoint(IPAddress(ipv6: 0, 0), port: port))
        let listener = Listener(socket)
        let (thread, congestion) = (thread, congestion)
        try thread.perform { () throws(SystemError) in
            _ = try thread.add(listener.socket.descriptor.number, for: .readable) { _ in
                while let socket = listener.socket.accept() {
                    // It was possible when the lab was built; a connection that it fails for goes on all the same.
                    if let congestion { try? socket.setCongestionControl(congestion.rawValue) }
                    ServiceConnection(thread, socket, make()).start()
                }
            }
        }
    }

    /// Whether a socket of this thread's network may use a congestion control.
    static func check(_ congestion: CongestionControl) throws(SystemError) {
        try StreamSocket(.ipv4, .tcp).setCongestionControl(congestion.rawValue)
    }

    private final class Listener: Sendable {
        let socket: StreamSocket

        init(_ socket: consuming StreamSocket) { self.socket = socket }
    }
}

/// One connection. The thread's registration keeps it alive until it is closed.
private final class ServiceConnection {
    private let thread: EventThread
    private let socket: StreamSocket
    private var conversation: any Conversation
    private var output: [UInt8] = []
    private var written = 0
    private var hasEnded = false
    private var token: EventThread.Token?
    private var interest: EventThread.Readiness = []
    private var timer: EventThread.Token?
    /// How much is held for a peer that reads slowly.
    private static let room = 256 * 1024

    init(_ thread: EventThread, _ socket: consuming StreamSocket, _ conversation: any Conversation) {
        self.thread = thread
        self.socket = socket
        self.conversation = conversation
    }

    func start() { advance() }

    private func advance() {
        if let timer { thread.cancelTimer(timer) }
        timer = nil
        guard read(), write() else { return close() }
        if conversation.isDone, output.isEmpty { return close() }
        watch()
        if output.isEmpty, let deadline = conversation.nextDeadline {
            timer = thread.schedule(at: deadline) { [self] in advance() }
        }
    }

    /// - Returns: false where the connection is gone.
    private func read() -> Bool {
        // A fair share, so that a fast peer doesn't keep the others waiting.
        for _ in 0..<16 where !hasEnded && output.count - written < Self.room {
            let transfer = withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { buffer in
                let transfer = socket.read(into: buffer)
                if case .moved(let count) = transfer, count > 0 {
                    conversation.receive(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)), at: .now)
                }
                return transfer
            }
            switch transfer {
            case .moved(0):
                hasEnded = true
                conversation.receiveEnd(at: .now)
            case .moved: conversation.produce(Self.room, into: &output, at: .now)
            case .wouldBlock: return true
            case .broken: return false
            }
        }
        return true
    }

    private func write() -> Bool {
        for _ in 0..<16 {
            if written == output.count {
                output.removeAll(keepingCapacity: true)
                written = 0
                conversation.produce(Self.room, into: &output, at: .now)
                if output.isEmpty { return true }
            }
            switch output.withUnsafeBytes({ socket.write(UnsafeRawBufferPointer(rebasing: $0[written...])) })
            {
            case .moved(let count): written += count
            case .wouldBlock: return true
            case .broken: return false
            }
        }
        return true
    }

    private func watch() {
        var wanted: EventThread.Readiness = []
        if !hasEnded, output.count - written < Self.room { wanted.insert(.readable) }
        if !output.isEmpty { wanted.insert(.writable) }
        guard wanted != interest || token == nil else { return }
        if let token { thread.remove(token) }
        interest = wanted
        token = try? thread.add(socket.descriptor.number, for: wanted) { [self] ready in
            // With nothing more to read or write, only the peer's reset is left to hear of.
            if ready.contains(.error) { close() } else { advance() }
        }
        if token == nil { close() }
    }

    private func close() {
        if let timer { thread.cancelTimer(timer) }
        if let token { thread.remove(token) }
        (timer, token) = (nil, nil)
    }
}
