import Glibc
import LabNet
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

/// A client with two paths to a server which speaks MPTCP, for a test that runs in a namespace of its own.
///
/// The client has `wlan0` (192.0.2.2, 2001:db8:1::2) and `wwan0` (198.51.100.2, 2001:db8:2::2); the server
/// answers on 203.0.113.1 and 2001:db8:ff::1, port 5000, by either.
struct TwoPathNetwork: ~Copyable {
    static let server4 = IPEndpoint("203.0.113.1", 5000)
    static let server6 = IPEndpoint("2001:db8:ff::1", 5000)

    let server: NetworkNamespace
    let listener: StreamSocket
    let wifi: InterfaceIndex
    let cellular: InterfaceIndex
    /// What the path manager says in the server's namespace.
    let serverEvents: GenericNotifications

    init() throws {
        // Before this thread goes elsewhere: the event thread stays in the namespace it started in.
        try EventThread.shared.perform {}
        let server = try NetworkNamespace.make()
        let client = try NetworkControl()
        for number in 0..<2 {
            try client.addVeth(.init(["wlan0", "wwan0"][number]), to: .init("w\(number)"), in: server)
        }
        let (wifi, cellular) = (try NetworkControl.index(of: "wlan0"), try NetworkControl.index(of: "wwan0"))
        try client.addAddress(IPAddress("192.0.2.2")!, prefix: 24, to: wifi)
        try client.addAddress(IPAddress("198.51.100.2")!, prefix: 24, to: cellular)
        try client.addAddress(IPAddress("2001:db8:1::2")!, prefix: 64, to: wifi)
        try client.addAddress(IPAddress("2001:db8:2::2")!, prefix: 64, to: cellular)
        try server.run { () throws(SystemError) in
            let control = try NetworkControl()
            try control.setLink("lo", up: true)
            let lo = try NetworkControl.index(of: "lo")
            try control.addAddress(IPAddress("203.0.113.1")!, prefix: 32, to: lo)
            try control.addAddress(IPAddress("2001:db8:ff::1")!, prefix: 128, to: lo)
            for (name, four, six) in [
                ("w0", "192.0.2.1", "2001:db8:1::1"), ("w1", "198.51.100.1", "2001:db8:2::1"),
            ] {
                let index = try NetworkControl.index(of: name)
                try control.addAddress(IPAddress(four)!, prefix: 24, to: index)
                try control.addAddress(IPAddress(six)!, prefix: 64, to: index)
                try control.setLink(name, up: true)
            }
            try SubflowCommands().setLimits(PathManagerLimits(subflows: 8, acceptedAddresses: 8))
        }
        for (name, index, gateways, metric) in [
            ("wlan0", wifi, ["192.0.2.1", "2001:db8:1::1"], UInt32(600)),
            ("wwan0", cellular, ["198.51.100.1", "2001:db8:2::1"], 700),
        ] {
            try client.setLink(name, up: true)
            for gateway in gateways {
                try client.addRoute(.init(via: IPAddress(gateway)!, index: index, metric: metric))
            }
        }
        let listener = try server.run { () throws(SystemError) in
            let listener = try StreamSocket(.ipv6, .mptcp)
            try listener.listen(on: IPEndpoint("::", 5000))
            return listener
        }
        var events: GenericNotifications?
        try server.run { () throws(SystemError) in events = try GenericNotifications.subflowEvents() }
        let serverEvents = try #require(events)
        for (endpoint, index) in [(Self.server4, wifi), (Self.server4, cellular), (Self.server6, wifi)] {
            let deadline = MonotonicTime.now.advanced(by: .seconds(10))
            try #require(StreamSocket.waitForAnswer(from: endpoint, over: index, by: deadline))
        }
        // What the questions were answered with is no connection of the test's.
        while true {
            guard listener.accept() != nil else { break }
        }
        // All at once: what can't be copied can't be half there.
        self.server = server
        self.listener = listener
        (self.wifi, self.cellular, self.serverEvents) = (wifi, cellular, serverEvents)
    }

    /// Connects over Wi-Fi and takes the connection at the server. No data has been sent yet.
    func connect(_ made: consuming ControlledSocket, to endpoint: IPEndpoint) throws -> Connected {
        let socket = made.releaseSocket()
        try socket.bind(toInterface: wifi)
        if try !socket.connect(to: endpoint) { try wait(socket.descriptor.number, POLLOUT) }
        if let error = socket.consumeError() { throw error }
        try wait(listener.descriptor.number, POLLIN)
        guard let accepted = listener.accept() else { throw SystemError("accept", errno: EAGAIN) }
        return Connected(client: socket, server: accepted)
    }

    /// Waits until the server's path manager says what a test waits for.
    func waitForServerEvent(_ isMeant: (SubflowEvent) -> Bool) throws {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        var seen: [SubflowEvent] = []
        while MonotonicTime.now < deadline {
            _ = try serverEvents.drain { if let event = SubflowEventDecoder.event($0) { seen.append(event) } }
            if seen.contains(where: isMeant) { return }
            var state = pollfd(fd: serverEvents.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&state, 1, 100)
        }
        throw Program.TimedOut(description: "the server only said \(seen)")
    }
}

/// Both ends of a connection.
struct Connected: ~Copyable {
    let client: StreamSocket
    let server: StreamSocket

    var sample: TransportSample { TransportSample.read(client.descriptor.number)! }
    var token: ConnectionToken { sample.connection!.token }
    var local: IPEndpoint { client.localEndpoint! }

    /// Sends so many bytes from one end to the other, and checks that they come whole.
    func send(_ count: Int = 1, fromServer: Bool = false) throws {
        var position = 0
        try start(count, from: &position, fromServer: fromServer)
        try finish(count, from: &position, fromServer: fromServer)
    }

    private static func byte(_ place: Int) -> UInt8 { UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8) }

    /// Writes what fits without a reader; `position` is behind it.
    func start(_ count: Int, from position: inout Int, fromServer: Bool = false) throws {
        let bytes = (position..<count).map(Self.byte)
        let result = bytes.withUnsafeBytes { fromServer ? server.write($0) : client.write($0) }
        if case .moved(let moved) = result { position += moved }
        if result == .broken { throw SystemError("write", errno: EPIPE) }
    }

    /// Reads all of it at the other end, and writes the rest meanwhile.
    func finish(_ count: Int, from position: inout Int, fromServer: Bool = false) throws {
        let reader = fromServer ? client.descriptor.number : server.descriptor.number
        var received = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        while received < count {
            if position < count {
                try start(min(count, position + 65_536), from: &position, fromServer: fromServer)
            }
            try wait(reader, POLLIN)
            let result = fromServer ? client.read(into: buffer) : server.read(into: buffer)
            guard case .moved(let moved) = result, moved > 0 else {
                throw SystemError("read after \(received) bytes", errno: EPIPE)
            }
            for offset in 0..<moved where buffer[offset] != Self.byte(received + offset) {
                throw SystemError("byte \(received + offset) is wrong", errno: EPROTO)
            }
            received += moved
        }
    }

    /// Sends a byte each way, so that both sides know the connection to be established.
    func exchange() throws {
        try send()
        try send(fromServer: true)
    }

    /// Waits until the client's end has so many subflows with their handshakes done, and tells them.
    @discardableResult
    func waitForSubflows(_ count: Int) throws -> [SubflowSample] {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while true {
            let subflows = sample.subflows.filter(\.state.carriesData)
            if subflows.count == count { return subflows }
            guard MonotonicTime.now < deadline else {
                throw Program.TimedOut(description: "gave up waiting for \(count) subflows: \(sample)")
            }
            usleep(1_000)
        }
    }
}

private func wait(_ descriptor: CInt, _ events: Int32) throws {
    var state = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    guard poll(&state, 1, 10_000) == 1 else { throw SystemError("wait for a socket", errno: ETIMEDOUT) }
}
