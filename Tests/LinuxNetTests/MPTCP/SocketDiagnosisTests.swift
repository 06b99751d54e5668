import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("A socket that another program holds")
struct SocketDiagnosisTests {
    /// What a datagram's messages tell: nil for those that are no diagnosis.
    private func decode(_ datagram: [UInt8]) -> [String?] {
        var lines: [String?] = []
        datagram.withUnsafeBytes { bytes in
            _ = try? NetlinkMessage.forEach(in: bytes) { message throws(SystemError) in
                lines.append(SocketDiagnosis(message).map(Self.line))
            }
        }
        return lines
    }

    /// One line for a test to compare, without what the kernel numbers anew each time.
    private static func line(_ found: SocketDiagnosis) -> String {
        let ends = "\(found.state) \(found.local.address) > \(found.remote) on \(found.interface)"
        let whole = DiagnosedSocket.connection(found).map {
            " received \($0.bytesReceived) acknowledged \($0.acknowledged) subflows \($0.totalSubflows)"
        }
        let one = DiagnosedSocket.subflow(found, 1).map {
            " sent \($0.bytesSent) received \($0.bytesReceived) unacknowledged \($0.unacknowledged)"
        }
        return ends + (found.isIPv6 ? " IPv6" : "") + (whole ?? "") + " |" + (one ?? "")
    }

    @Test("is told of as this kernel sent it")
    func recorded() throws {
        let lines = try Recording("sock-diag").datagrams.flatMap(decode)
        let text = lines.map { $0 ?? "none" }.joined(separator: "\n")
        print(text)
        #expect(lines.count > 10)
    }

    @Test("is told of in bytes that, cut at any place or damaged, never trap")
    func mutations() throws {
        let whole = try Recording("sock-diag").datagrams
        for datagram in whole {
            for count in 0..<datagram.count {
                var cut = Array(datagram[..<count])
                guard count >= 16 else { continue }
                cut.replaceSubrange(0..<4, with: withUnsafeBytes(of: UInt32(count)) { Array($0) })
                #expect(decode(cut).count == 1)
            }
        }
        var random = SplitMix64(seed: 4_242)
        for _ in 0..<30_000 {
            let bytes = whole[Int(random.next() % UInt64(whole.count))].damaged(&random)
            _ = decode(bytes)
        }
    }

    // MARK: Real ones

    /// Held by reference, so that expectations may ask it.
    fileprivate final class Known {
        private var socket: DiagnosedSocket

        init(_ socket: DiagnosedSocket) { self.socket = socket }

        convenience init?(_ descriptor: CInt, _ source: DiagnosisSource) {
            guard let socket = DiagnosedSocket(of: descriptor, by: source) else { return nil }
            self.init(socket)
        }

        var token: ConnectionToken? { socket.token }
        var cookie: UInt64 { socket.cookie }
        func sample() -> TransportSample? { socket.sample() }
        var isAllAcknowledged: Bool { socket.isAllAcknowledged() }
    }

    private typealias Network = TwoPathNetwork

    /// A sample without its times and without what is in no particular order or number.
    private func comparable(_ sample: TransportSample?) -> TransportSample? {
        guard var sample else { return nil }
        for place in sample.subflows.indices {
            sample.subflows[place].id = 0
            sample.subflows[place].sinceDataSent = .zero
            sample.subflows[place].sinceDataReceived = .zero
            sample.subflows[place].sinceAcknowledgement = .zero
        }
        sample.subflows.sort { "\($0.local!)" < "\($1.local!)" }
        return sample
    }

    @Test(
        "has the samples that a descriptor of it gives, of all its subflows, and none when it is closed",
        .needs("unshare", "setpriv"), .needsNamespaces, .inNamespace)
    func samples() throws {
        let network = try Network()
        let log = try EventLog()
        let made = LocalSocketSource(journal: nil)
        let commands = try SubflowCommands()
        let source = DiagnosisSource()
        let mapped = IPEndpoint("::ffff:203.0.113.1", 5000)
        for (server, family, second) in [
            (Network.server4, IPAddress.Family.ipv4, "198.51.100.2"), (mapped, .ipv6, "198.51.100.2"),
            (Network.server6, .ipv6, "2001:db8:2::2"),
        ] {
            let connection = try network.connect(try made.makeSocket(family), to: server)
            let number = connection.client.descriptor.number
            let known = try #require(Known(number, source))
            #expect(known.token == connection.token)
            try connection.exchange()
            try connection.send(50_000)
            try settle(connection)
            let first = try #require(known.sample())
            #expect(comparable(first) == comparable(connection.sample), "\(server)")
            #expect(first.subflows.map(\.id) == [1])
            #expect(known.isAllAcknowledged)

            // One that is made is in the next sample, whatever its handshake's state.
            try commands.createSubflow(
                connection.token, from: .init(IPAddress(second)!, id: 1, interface: network.cellular),
                to: server.unmapped)
            let beginning = try #require(known.sample())
            #expect(beginning.subflows.count == 2, "\(beginning)")
            try connection.waitForSubflows(2)
            try connection.send(200_000, fromServer: true)
            try settle(connection)
            let both = try #require(known.sample())
            #expect(comparable(both) == comparable(connection.sample), "\(server)")
            #expect(both.subflows.map(\.id) == [1, 2])

            // The first one ends; a third is no second.
            try commands.destroySubflow(connection.token, local: connection.local, remote: server.unmapped)
            try connection.waitForSubflows(1)
            #expect(known.sample()?.subflows.filter(\.state.carriesData).map(\.id) == [2])

            // What waits for an acknowledgement is told, at the latest when the peer's buffer is full.
            var position = 0
            var waits = false
            for _ in 0..<50 where !waits {
                try connection.start(position + 4_000_000, from: &position)
                waits = try !known.isAllAcknowledged && #require(known.sample()?.connection).outstanding > 0
            }
            #expect(waits)
            try connection.finish(position, from: &position)
            #expect(known.sample()?.connection?.peerHasEnded == false)
            try connection.close(known)
        }
        try log.stop()
    }

    @Test(
        "is no other than it was: a token or an address that names another socket now is none",
        .needsNamespaces, .inNamespace)
    func others() throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: IPEndpoint("127.0.0.1", 0))
        let bound = SocketOption.localEndpoint(of: listener.descriptor.number)
        let endpoint = try #require(bound)
        let source = DiagnosisSource()
        for transport in [TransportProtocol.mptcp, .tcp] {
            let client = try StreamSocket(.ipv4, transport)
            _ = try client.connect(to: endpoint)
            try wait(client.descriptor.number, POLLOUT)
            let real = try #require(Known(client.descriptor.number, source))
            #expect(real.sample() != nil)
            let port = SocketOption.localEndpoint(of: client.descriptor.number)
            let local = try #require(port)
            let other = Known(
                DiagnosedSocket(
                    cookie: real.cookie &+ 1, token: real.token, local: local, remote: endpoint, by: source))
            #expect(other.sample() == nil)
            #expect(!other.isAllAcknowledged)
            // The listener has the same port, and is no end of the connection.
            let gone = Known(
                DiagnosedSocket(
                    cookie: real.cookie, token: nil, local: endpoint,
                    remote: IPEndpoint(endpoint.address, port: 1), by: source))
            #expect(gone.sample() == nil)
        }
        let unconnected = try StreamSocket(.ipv4, .mptcp)
        let number = unconnected.descriptor.number
        #expect(Known(number, source) == nil)
        #expect(Known(0, source) == nil)
    }

    @Test("has told what it carried when it is closed", .needsNamespaces, .inNamespace)
    func ends() async throws {
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: IPEndpoint("127.0.0.1", 0))
        let bound = SocketOption.localEndpoint(of: listener.descriptor.number)
        let endpoint = try #require(bound)
        let seen = Locked<[UInt64: SubflowSample]>([:])
        nonisolated(unsafe) let ends = SocketEnds(on: .shared)
        try EventThread.shared.perform { () throws(SystemError) in
            try ends.start { _ in
                true
            } _: { cookie, sample in
                seen.withLock { $0[cookie] = sample }
            } loss: {
            }
        }
        let source = DiagnosisSource()
        for transport in [TransportProtocol.tcp, .mptcp] {
            var told: Set<[UInt64]> = []
            for _ in 0..<5 where !told.contains([5_000]) {
                let cookies = try carry(5_000, to: endpoint, transport, listener, source)
                #expect(cookies.count == 1)
                try await Program.wait("the end") {
                    seen.withLock { seen in cookies.allSatisfy { seen[$0] != nil } }
                }
                told.insert(seen.withLock { seen in cookies.compactMap { seen[$0]?.bytesSent } })
            }
            // A subflow that MPTCP disconnects before it lets go of it has forgotten all (__mptcp_close_ssk).
            #expect(transport == .mptcp || told.contains([5_000]), "\(transport): \(told)")
            #expect(told.isSubset(of: [[0], [5_000]]), "\(transport): \(told)")
        }
        try EventThread.shared.perform { ends.stop() }
    }

    /// Sends so many bytes over a connection of its own, and closes that.
    ///
    /// - Returns: the cookies of the TCP sockets that carried them.
    private func carry(
        _ count: Int, to endpoint: IPEndpoint, _ transport: TransportProtocol,
        _ listener: borrowing StreamSocket,
        _ source: DiagnosisSource
    ) throws -> [UInt64] {
        let client = try StreamSocket(.ipv4, transport)
        _ = try client.connect(to: endpoint)
        try wait(client.descriptor.number, POLLOUT)
        try wait(listener.descriptor.number, POLLIN)
        guard let server = listener.accept() else { throw SystemError("accept", errno: EAGAIN) }
        guard var known = DiagnosedSocket(of: client.descriptor.number, by: source) else {
            throw SystemError("diagnose", errno: ENOTCONN)
        }
        _ = known.sample()
        let bytes = [UInt8](repeating: 1, count: count)
        guard bytes.withUnsafeBytes({ client.write($0) }) == .moved(count) else {
            throw SystemError("write", errno: EAGAIN)
        }
        // All of it: an end that closes with bytes unread resets the connection, and the kernel forgets the counters.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { buffer.deallocate() }
        var received = 0
        while received < count {
            try wait(server.descriptor.number, POLLIN)
            guard case .moved(let more) = server.read(into: buffer), more > 0 else {
                throw SystemError("read", errno: EPIPE)
            }
            received += more
        }
        return known.cookies
    }

    @Test(
        "costs some microseconds a sample", .needsNamespaces, .inNamespace,
        .enabled(if: !Requirement.isSanitized, "most of what is measured would be the sanitizer's"))
    func cost() throws {
        let network = try Network()
        let connection = try network.connect(
            try LocalSocketSource(journal: nil).makeSocket(.ipv4), to: Network.server4)
        try connection.exchange()
        let number = connection.client.descriptor.number
        let known = try #require(Known(number, DiagnosisSource()))
        let count = 400
        func time(_ body: () -> Void) -> Int64 {
            // The best of five: others run here, too.
            (0..<5).map { _ in
                let start = MonotonicTime.now
                for _ in 0..<count { body() }
                return start.duration(to: .now).wholeNanoseconds / Int64(count)
            }.min() ?? .max
        }
        let byName = time { _ = known.sample() }
        let byDescriptor = time { _ = TransportSample.read(number) }
        let glance = time { _ = known.isAllAcknowledged }
        print(
            "measured: a sample by name \(byName) ns, by descriptor \(byDescriptor) ns; a glance \(glance) ns"
        )
        // Ten times what it takes on a machine that is idle.
        #expect(byName < 100_000)
    }

    private func wait(_ descriptor: CInt, _ events: Int32) throws {
        var state = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        guard poll(&state, 1, 10_000) == 1 else { throw SystemError("wait for a socket", errno: ETIMEDOUT) }
    }

    /// Waits until nothing is under way on the connection: its counters rest then.
    private func settle(_ connection: borrowing Connected) throws {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while true {
            let before = comparable(connection.sample)
            usleep(50_000)
            let after = comparable(connection.sample)
            if before == after, after?.connection?.outstanding == 0 { return }
            guard MonotonicTime.now < deadline else {
                throw Program.TimedOut(
                    description: "the connection does not come to rest: \(connection.sample)")
            }
        }
    }
}

extension Connected {
    /// The server ends its direction, then the client closes.
    fileprivate consuming func close(_ known: SocketDiagnosisTests.Known) throws {
        shutdown(server.descriptor.number, CInt(SHUT_WR))
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while known.sample()?.connection?.peerHasEnded != true, MonotonicTime.now < deadline { usleep(1_000) }
        #expect(known.sample()?.connection?.peerHasEnded == true)
        discard()
        while known.sample() != nil, MonotonicTime.now < deadline { usleep(1_000) }
        #expect(known.sample() == nil)
    }

    private consuming func discard() {}
}
