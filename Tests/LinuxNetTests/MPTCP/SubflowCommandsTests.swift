import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("A connection's subflows", .needs("unshare", "setpriv"), .needsNamespaces)
struct SubflowCommandsTests {
    private typealias Network = TwoPathNetwork

    @Test("are created, preferred, taken back and given up by commands, and events tell of it", .inNamespace)
    func wholeLife() throws {
        let network = try Network()
        let log = try EventLog()
        let source = LocalSocketSource(journal: nil)
        #expect(source.level == .perConnection)
        let commands = try SubflowCommands()
        let connection = try network.connect(try source.makeSocket(.ipv4), to: Network.server4)
        let token = connection.token
        let cellular = SubflowAction.LocalAddress(
            IPAddress("198.51.100.2")!, id: 1, interface: network.cellular)

        let early = #expect(throws: SystemError.self) {
            try commands.createSubflow(token, from: cellular, to: Network.server4)
        }
        #expect(early?.errno == ENOTCONN)

        try connection.exchange()
        try commands.createSubflow(token, from: cellular, isBackup: true, to: Network.server4)
        let joined = try log.wait("the join") { event -> SubflowFacts? in
            if case .subflowEstablished(token, let facts, nil) = event { facts } else { nil }
        }
        let expected = SubflowFacts(
            local: IPEndpoint("198.51.100.2", joined.local.port), remote: Network.server4, localID: 1,
            remoteID: 0, isBackup: false, interface: network.cellular)
        #expect(joined == expected)
        let subflows = try connection.waitForSubflows(2)
        #expect(subflows.map(\.local) == [connection.local, joined.local])
        #expect(subflows.map(\.remote) == [Network.server4, Network.server4])
        #expect(subflows.map(\.state) == [.established, .established])
        #expect(try commands.addresses(token).map(\.address) == [cellular.address])
        #expect(connection.sample.connection?.totalSubflows == 2)

        // The server's side says what it was told.
        try commands.setBackup(token, local: joined.local, remote: joined.remote, false)
        try network.waitForServerEvent {
            if case .subflowPriority(_, let facts) = $0 {
                facts.remote == joined.local && facts.isBackup == false
            } else {
                false
            }
        }
        try commands.setBackup(token, local: connection.local, remote: Network.server4, true)
        try network.waitForServerEvent {
            if case .subflowPriority(_, let facts) = $0 {
                facts.remote == connection.local && facts.isBackup == true
            } else {
                false
            }
        }

        // Data has to have gone over the second before an RM_ADDR can.
        try connection.send(200_000)
        try commands.remove(token, localID: 0)
        try network.waitForServerEvent { if case .removed(_, remoteID: 0) = $0 { true } else { false } }
        let control = ConnectionSubflowControl(commands)
        let destroy = SubflowAction.destroy(local: connection.local, remote: Network.server4)
        // The peer may have been quicker.
        #expect([.accepted, .alreadyGone].contains(try control.perform(destroy, on: token)))
        #expect(try connection.waitForSubflows(1).map(\.local) == [joined.local])
        // The kernel keeps an empty place for the first subflow, which can be destroyed for ever.
        #expect(try control.perform(destroy, on: token) == .accepted)
        var other = connection.local
        other.port &+= 1
        let missing = SubflowAction.destroy(local: other, remote: Network.server4)
        #expect(try control.perform(missing, on: token) == .alreadyGone)
        try connection.send(200_000, fromServer: true)

        let unknown = #expect(throws: SystemError.self) { try commands.remove(token, localID: 99) }
        #expect(unknown?.errno == EINVAL)
        #expect(unknown?.detail?.contains("not found") == true, "\(unknown?.detail ?? "no words")")
        _ = try log.wait("the end of a subflow") { if case .subflowClosed = $0 { true } else { nil } }
        let kinds = log.events(of: token).map { event in
            switch event {
            case .created: "created"
            case .established: "established"
            case .subflowEstablished: "joined"
            case .subflowClosed: "left"
            default: "\(event)"
            }
        }
        #expect(kinds == ["created", "established", "joined", "left"])
        try log.stop()
    }

    @Test("may all be gone: what is written then arrives whole over the next", .inNamespace)
    func none() throws {
        let network = try Network()
        let log = try EventLog()
        let source = LocalSocketSource(journal: nil)
        let commands = try SubflowCommands()
        let connection = try network.connect(try source.makeSocket(.ipv4), to: Network.server4)
        let token = connection.token
        try connection.exchange()
        try commands.destroySubflow(token, local: connection.local, remote: Network.server4)
        let end = try log.wait("the end of the subflow") { event -> SubflowEnd? in
            if case .subflowClosed(token, _, let end) = event { end } else { nil }
        }
        #expect(end == SubflowEnd())
        #expect(try connection.waitForSubflows(0) == [])
        var position = 0
        try connection.start(1_000_000, from: &position)
        #expect(position > 0)
        #expect(connection.sample.connection?.outstanding == UInt64(position))
        try commands.createSubflow(
            token, from: .init(IPAddress("198.51.100.2")!, id: 1, interface: network.cellular),
            to: Network.server4)
        try connection.finish(1_000_000, from: &position)
        try connection.send(1_000_000, fromServer: true)
        let carrier = try connection.waitForSubflows(1)[0]
        #expect(carrier.local?.address == IPAddress("198.51.100.2"))
        #expect(carrier.bytesSent >= 1_000_000)
        #expect(carrier.acknowledged >= 1_000_000)
        let whole = try #require(connection.sample.connection)
        #expect(whole.acknowledged == 1_000_001)
        #expect(whole.bytesReceived == 1_000_001)
        #expect(whole.outstanding == 0)
        try log.stop()
    }

    @Test("are IPv6, or IPv4 under an IPv6 socket, as well", .inNamespace)
    func families() throws {
        let network = try Network()
        let source = LocalSocketSource(journal: nil)
        let commands = try SubflowCommands()
        let mapped = IPEndpoint("::ffff:203.0.113.1", 5000)
        for (server, second, family) in [
            (Network.server6, "2001:db8:2::2", IPAddress.Family.ipv6), (mapped, "198.51.100.2", .ipv6),
            (Network.server4, "198.51.100.2", .ipv4),
        ] {
            let connection = try network.connect(try source.makeSocket(family), to: server)
            let token = connection.token
            try connection.exchange()
            let remote = server.unmapped
            try commands.createSubflow(
                token, from: .init(IPAddress(second)!, id: 1, interface: network.cellular), to: remote)
            let local = try #require(try connection.waitForSubflows(2).last?.local)
            #expect(local.address == IPAddress(second))
            // First subflows, whose addresses are mapped, and later ones, whose are not.
            for endpoint in [connection.local, local] {
                try commands.setBackup(token, local: endpoint, remote: remote, true)
                try commands.setBackup(token, local: endpoint, remote: remote, false)
            }
            try commands.destroySubflow(token, local: connection.local, remote: remote)
            #expect(try connection.waitForSubflows(1).map(\.local) == [local])
            try connection.send(100_000)
            try commands.destroySubflow(token, local: local, remote: remote)
            #expect(try connection.waitForSubflows(0) == [])
        }
        let connection = try network.connect(try source.makeSocket(.ipv4), to: Network.server4)
        try connection.exchange()
        let mixed = #expect(throws: SystemError.self) {
            try commands.createSubflow(
                connection.token, from: .init(IPAddress("2001:db8:2::2")!, id: 1), to: Network.server4)
        }
        #expect(mixed?.errno == EINVAL)
        #expect(mixed?.detail == "families mismatch")
    }

    @Test(
        "belong to the kernel where its path manager serves the socket, and follow its endpoints",
        .inNamespace)
    func kernelPathManager() throws {
        let network = try Network()
        let commands = try SubflowCommands()
        #expect(try commands.endpoints() == [])
        try commands.setLimits(PathManagerLimits(subflows: 3, acceptedAddresses: 1))
        #expect(try commands.limits() == PathManagerLimits(subflows: 3, acceptedAddresses: 1))
        let wifi = PathManagerEndpoint(
            IPAddress("192.0.2.2")!, id: 9, flags: .subflow, interface: network.wifi)
        try commands.add(wifi)
        #expect(try commands.endpoints() == [wifi])

        let plain = ControlledSocket(try StreamSocket(.ipv4, .mptcp), .observeOnly(because: .settingBusy))
        let connection = try network.connect(plain, to: Network.server4)
        let token = connection.token
        try connection.exchange()
        let cellular = SubflowAction.LocalAddress(
            IPAddress("198.51.100.2")!, id: 1, interface: network.cellular)
        let error = #expect(throws: SystemError.self) {
            try commands.createSubflow(token, from: cellular, to: Network.server4)
        }
        #expect(error?.errno == EINVAL)
        #expect(error?.detail?.contains("userspace PM not selected") == true, "\(error?.detail ?? "")")
        let create = SubflowAction.create(cellular, isBackup: true, remote: Network.server4)
        for action in [
            create, .withdraw(cellular), .destroy(local: connection.local, remote: Network.server4),
            .prioritize(local: connection.local, remote: Network.server4, isBackup: true),
            .announce(cellular),
        ] {
            #expect(
                try ConnectionSubflowControl(commands).perform(action, on: token) == .refused(.foreignSocket))
        }

        let control = try EndpointSubflowControl(commands)
        #expect(try control.perform(create, on: token) == .accepted)
        let joined = try #require(try connection.waitForSubflows(2).last?.local)
        #expect(joined.address == cellular.address)
        // Another connection's wish leaves what is there as it is.
        let another = ConnectionToken(token.value &+ 1)
        #expect(try control.perform(create, on: another) == .accepted)
        try connection.send(100_000)
        let prefer = SubflowAction.prioritize(local: joined, remote: Network.server4, isBackup: false)
        #expect(try control.perform(prefer, on: token) == .accepted)
        try network.waitForServerEvent {
            if case .subflowPriority(_, let facts) = $0 { facts.remote == joined } else { false }
        }
        let first = SubflowAction.LocalAddress(wifi.address, id: 0)
        #expect(try control.perform(.withdraw(first), on: token) == .accepted)
        #expect(try connection.waitForSubflows(1).map(\.local) == [joined])
        try connection.send(100_000)
        #expect(try control.perform(.withdraw(cellular), on: token) == .accepted)
        #expect(try control.perform(.withdraw(cellular), on: token) == .accepted)
        #expect(try commands.endpoints() == [])

        // A first subflow from an address without an endpoint.
        let other = ControlledSocket(try StreamSocket(.ipv4, .mptcp), .observeOnly(because: .settingBusy))
        let second = try network.connect(other, to: Network.server4)
        try second.exchange()
        let yield = SubflowAction.prioritize(local: second.local, remote: Network.server4, isBackup: true)
        #expect(try control.perform(yield, on: second.token) == .accepted)
        try network.waitForServerEvent {
            if case .subflowPriority(_, let facts) = $0 {
                facts.remote == second.local && facts.isBackup == true
            } else {
                false
            }
        }
        try control.restore()
        #expect(try commands.endpoints() == [wifi])
        let twice = #expect(throws: SystemError.self) { try commands.add(wifi) }
        #expect(twice?.errno == EBUSY, "\(String(describing: twice))")
        var unnumbered = wifi
        unnumbered.id = 0
        let again = #expect(throws: SystemError.self) { try commands.add(unnumbered) }
        #expect(again?.errno == EEXIST, "\(String(describing: again))")
        for number in UInt32(1)...7 {
            try commands.add(PathManagerEndpoint(IPAddress(ipv4: 0xC633_6480 + number), flags: .signal))
        }
        let ninth = #expect(throws: SystemError.self) {
            try commands.add(PathManagerEndpoint(IPAddress("192.0.2.99")!, flags: .signal))
        }
        #expect(ninth?.errno == ERANGE, "\(String(describing: ninth))")
        for endpoint in try commands.endpoints() where endpoint != wifi {
            try commands.deleteEndpoint(id: endpoint.id)
        }
        try commands.deleteEndpoint(id: 9)
        #expect(try commands.endpoints() == [])
    }

    @Test("are not for a process without CAP_NET_ADMIN, which is told so", .inNamespace)
    func privilege() async throws {
        let probe = Program.product("subflow-probe")
        let less = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", probe]
        let order = try await Program.run(less + ["order"])
        #expect(order == Program.Result(status: 0, output: .init("\(EPERM)\n".utf8), errors: ""))
        let level = try await Program.run(less + ["level"])
        #expect(
            level.outputText
                == "observe_only\nonly observes: \(ControlLimit.noPrivilege)\n", "\(level.errors)")
    }

    @Test("cost microseconds to change and to look at", .inNamespace)
    func cost() throws {
        let network = try Network()
        let commands = try SubflowCommands()
        let connection = try network.connect(
            try LocalSocketSource(journal: nil).makeSocket(.ipv4), to: Network.server4)
        let token = connection.token
        try connection.exchange()
        let cellular = SubflowAction.LocalAddress(
            IPAddress("198.51.100.2")!, id: 1, interface: network.cellular)
        func measure(_ what: String, _ count: Int, _ body: () throws -> Void) rethrows {
            let start = MonotonicTime.now
            for _ in 0..<count { try body() }
            let each = start.duration(to: .now).wholeNanoseconds / Int64(count)
            print("measured: \(Double(each) / 1_000) µs for \(what)")
        }
        try measure("a subflow's creation", 1) {
            try commands.createSubflow(token, from: cellular, to: Network.server4)
        }
        let local = try #require(try connection.waitForSubflows(2).last?.local)
        try measure("a change of priority", 500) {
            try commands.setBackup(token, local: local, remote: Network.server4, true)
        }
        measure("a look at two subflows", 500) { _ = connection.sample }
        measure("a look at the whole connection", 500) {
            _ = TransportSample.connection(connection.client.descriptor.number)
        }
        try connection.send(10_000)
        try measure("taking an address back and giving its subflow up", 1) {
            try commands.remove(token, localID: 0)
            try commands.destroySubflow(token, local: connection.local, remote: Network.server4)
        }
        #expect(try connection.waitForSubflows(1).map(\.local) == [local])
    }
}
