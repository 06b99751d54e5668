import CLinux
import Glibc
import LinuxNet
import PathBroker
import PathCore

/// A client of the broker's protocol that sends what it is told to, and waits for the answers.
final class ProbeClient {
    let socket: Descriptor
    private var lastID: UInt32 = 0
    /// Events that came in between.
    private(set) var events: [SubflowEvent] = []

    init(_ path: String, greets: Bool = true) throws {
        socket = try LocalPackets.connect(to: path)
        if greets { _ = request(.hello) }
    }

    /// What the daemon answers: `done`, the name of a refusal, `end` where it has ended the connection, `silence` where no
    /// answer comes within a second.
    func request(_ request: BrokerRequest, passing passed: CInt? = nil) -> String {
        lastID += 1
        return send(request.packet(id: lastID), passed.map { [$0] } ?? [])
    }

    /// Sends any bytes with any descriptors.
    func send(_ bytes: [UInt8], _ passed: [CInt] = []) -> String {
        // What the daemon said before it ended the connection is still to be read.
        _ = transmit(bytes, passed)
        return answer()
    }

    func answer(within limit: Duration = .seconds(5)) -> String {
        let deadline = MonotonicTime.now.advanced(by: limit)
        while true {
            guard LocalPackets.wait(for: socket, until: deadline) else { return "silence" }
            guard
                let packet = try? LocalPackets.receive(
                    from: socket, limit: BrokerProtocol.longestAnswer, waits: false)
            else { return "end" }
            switch BrokerMessage(packet.bytes) {
            case .event(let event)?: events.append(event)
            case .refused(_, let failure)?:
                return failure.refusal.rawValue
                    + (failure.refusal == .kernel ? ": \(failure.detail ?? "")" : "")
            case .welcome?, .done?, .status?: return "done"
            case nil: return "nonsense"
            }
        }
    }

    /// Waits for an event.
    func waitForEvent(_ isMeant: (SubflowEvent) -> Bool) -> Bool {
        let deadline = MonotonicTime.now.advanced(by: .seconds(5))
        while MonotonicTime.now < deadline {
            if events.contains(where: isMeant) { return true }
            guard LocalPackets.wait(for: socket, until: deadline),
                let packet = try? LocalPackets.receive(
                    from: socket, limit: BrokerProtocol.longestAnswer, waits: false)
            else { return false }
            if case .event(let event)? = BrokerMessage(packet.bytes) { events.append(event) }
        }
        return false
    }

    /// - Returns: false where the daemon has gone, or does not read.
    func transmit(_ bytes: [UInt8], _ passed: [CInt]) -> Bool {
        // struct cmsghdr, and the numbers behind it.
        var control = [UInt64](repeating: 0, count: 2 + (passed.count + 1) / 2)
        control[0] = UInt64(16 + 4 * passed.count)
        control[1] = UInt64(SOL_SOCKET) | UInt64(1) << 32
        for (place, number) in passed.enumerated() {
            control[2 + place / 2] |= UInt64(UInt32(bitPattern: number)) << (place % 2 == 0 ? 0 : 32)
        }
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    if !passed.isEmpty {
                        message.msg_control = control.baseAddress
                        message.msg_controllen = 16 + 4 * passed.count
                    }
                    return sendmsg(
                        socket.number, &message, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)) >= 0
                }
            }
        }
    }
}

/// Both ends of a connection of MPTCP over loopback.
struct ProbeConnection: ~Copyable {
    let client: StreamSocket
    let server: StreamSocket
    /// Open for further subflows.
    let listener: StreamSocket
    let remote: IPEndpoint

    /// - Parameter prepare: what is done to the socket before it is connected.
    init(_ prepare: (CInt) -> Void = { _ in }) throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
        guard let remote = listener.localEndpoint else { throw SystemError("listen", errno: EINVAL) }
        let client = try StreamSocket(.ipv4, .mptcp)
        prepare(client.descriptor.number)
        if try !client.connect(to: remote) { Self.wait(client.descriptor.number, POLLOUT) }
        Self.wait(listener.descriptor.number, POLLIN)
        guard let server = listener.accept() else { throw SystemError("accept", errno: EAGAIN) }
        // So that both sides know it to be established.
        for (from, to) in [
            (client.descriptor.number, server.descriptor.number),
            (server.descriptor.number, client.descriptor.number),
        ] {
            var byte: UInt8 = 1
            _ = Glibc.send(from, &byte, 1, CInt(MSG_NOSIGNAL))
            Self.wait(to, POLLIN)
            _ = recv(to, &byte, 1, 0)
        }
        self.client = client
        self.server = server
        self.listener = listener
        self.remote = remote
    }

    private static func wait(_ descriptor: CInt, _ events: Int32) {
        var state = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = poll(&state, 1, 5_000)
    }

    var token: ConnectionToken {
        guard case .mptcp(let token)? = TransportSample.read(client.descriptor.number)?.kind else {
            return ConnectionToken(0)
        }
        return ConnectionToken(token)
    }
}
