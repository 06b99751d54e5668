import CLinux
import Glibc
import LinuxNet
import PathBroker
import PathCore

/// Everything that a local user can send and should not: a line for each with the daemon's answer.
enum Abuse {
    static func run(_ path: String) throws {
        try packets(path)
        try descriptors(path)
        try orders(path)
        try limits(path)
    }

    private static func tell(_ what: String, _ answer: String) { say("\(what): \(answer)") }

    private static func packets(_ path: String) throws {
        let client = try ProbeClient(path, greets: false)
        tell("a request before hello", client.request(.status))
        _ = client.request(.hello)
        tell("garbage", client.send([0, 255, 1, 2, 3]))
        tell("a text that is no object", client.send(Array("[1,2]".utf8)))
        tell("half an object", client.send(Array("{\"v\":1,\"id\":1,\"op\":\"he".utf8)))
        tell(
            "an object that is nested deeply",
            client.send(Array(String(repeating: "{\"a\":", count: 150).utf8)))
        tell("4,000 bytes", client.send([UInt8](repeating: UInt8(ascii: " "), count: 4_000)))
        tell("an unknown request", client.send(Array("{\"v\":1,\"id\":1,\"op\":\"open\"}".utf8)))
        tell(
            "a token that is no number",
            client.send(Array("{\"v\":1,\"id\":1,\"op\":\"attach\",\"token\":\"x\"}".utf8)))
        tell(
            "a number beyond 32 bits",
            client.send(Array("{\"v\":1,\"id\":1,\"op\":\"detach\",\"token\":4294967296}".utf8)))
        tell(
            "an order without its members",
            client.send(Array("{\"v\":1,\"id\":1,\"op\":\"create\",\"token\":1}".utf8)))
        tell("hello again", client.request(.hello))
        tell("another version", client.send(Array("{\"v\":9,\"id\":1,\"op\":\"hello\"}".utf8)))
        tell("and after it", client.answer())
        let other = try ProbeClient(path)
        for _ in 0..<16 { _ = other.send([1]) }
        tell("the seventeenth packet of garbage", other.send([1]))
        _ = other.answer()
        tell("and after that", other.answer())
        let empty = try ProbeClient(path)
        tell("an empty packet", empty.send([]))
    }

    private static func descriptors(_ path: String) throws {
        let client = try ProbeClient(path)
        tell("prepare without a socket", client.request(.prepare))
        let file = open("/proc/self/exe", O_RDONLY)
        tell("hello with a descriptor", client.request(.hello, passing: file))
        tell("prepare with two", client.send(BrokerRequest.prepare.packet(id: 1), [file, file]))
        let many = [CInt](repeating: file, count: 253)
        tell("prepare with 253", client.send(BrokerRequest.prepare.packet(id: 1), many))
        tell("a file", client.request(.prepare, passing: file))
        // O_PATH: no call but close takes it.
        tell("a file without rights", client.request(.prepare, passing: open("/proc/self/exe", 0o10000000)))
        tell("a folder", client.request(.prepare, passing: open("/", O_RDONLY)))
        var pipe: [CInt] = [0, 0]
        _ = Glibc.pipe(&pipe)
        tell("a pipe", client.request(.prepare, passing: pipe[0]))
        tell("the daemon's own socket", client.request(.prepare, passing: client.socket.number))
        tell(
            "a socket of UDP",
            client.request(.prepare, passing: socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)))
        let tcp = try StreamSocket(.ipv4, .tcp)
        tell("a socket of TCP", client.request(.prepare, passing: tcp.descriptor.number))
        let listening = try StreamSocket(.ipv6, .mptcp)
        try listening.listen(on: IPEndpoint(IPAddress(ipv6: 0, 1), port: 0))
        tell("a socket that listens", client.request(.prepare, passing: listening.descriptor.number))
        let connection = try ProbeConnection()
        tell(
            "a socket that is connected",
            client.request(.prepare, passing: connection.client.descriptor.number))
        tell(
            "attach of the kernel's own",
            client.request(.attach(connection.token), passing: connection.client.descriptor.number))
        let fresh = try StreamSocket(.ipv4, .mptcp)
        tell("a fresh socket", client.request(.prepare, passing: fresh.descriptor.number))
        let enclosed = try StreamSocket(.ipv4, .mptcp)
        let envelope = try DescriptorEnvelope(enclosed.descriptor.number)
        let outer = try DescriptorEnvelope(envelope.number)
        tell("an envelope in an envelope", client.request(.prepare, passing: outer.number))
        tell("a socket in an envelope", client.request(.prepare, passing: envelope.number))
        tell("the same once more", client.request(.prepare, passing: envelope.number))
        tell(
            "attach of a socket that is not connected",
            client.request(.attach(connection.token), passing: fresh.descriptor.number))
    }

    private static func orders(_ path: String) throws {
        let (client, other) = (try ProbeClient(path), try ProbeClient(path))
        let connection = try ProbeConnection { number in _ = client.request(.prepare, passing: number) }
        let foreign = try ProbeConnection { number in _ = other.request(.prepare, passing: number) }
        let number = connection.client.descriptor.number
        let local = SubflowAction.LocalAddress(IPAddress(ipv4: 0x7F00_0002), id: 1)
        let create = SubflowAction.create(local, isBackup: false, remote: connection.remote)
        tell("an order before attach", client.request(.order(create, connection.token)))
        tell("attach with another's token", client.request(.attach(foreign.token), passing: number))
        tell(
            "attach with a token of no connection",
            client.request(.attach(ConnectionToken(1)), passing: number))
        tell("attach", client.request(.attach(connection.token), passing: number))
        tell(
            "the other's attach",
            other.request(.attach(foreign.token), passing: foreign.client.descriptor.number))
        tell("an order for the other's", client.request(.order(create, foreign.token)))
        tell("detach of the other's", client.request(.detach(foreign.token)))
        let elsewhere = IPEndpoint(IPAddress(ipv4: 0x7F00_0009), port: connection.remote.port)
        tell(
            "a subflow to an address that was not announced",
            client.request(.order(.create(local, isBackup: false, remote: elsewhere), connection.token)))
        let nowhere = SubflowAction.LocalAddress(IPAddress(ipv4: 0xC633_6463), id: 2)
        tell(
            "a subflow from an address of another machine",
            client.request(
                .order(.create(nowhere, isBackup: false, remote: connection.remote), connection.token)))
        tell("announce of such an address", client.request(.order(.announce(nowhere), connection.token)))
        tell("a subflow", client.request(.order(create, connection.token)))
        let token = connection.token
        let isTold = client.waitForEvent { event in
            if case .subflowEstablished(token, _, error: nil) = event { true } else { false }
        }
        tell("its event", isTold ? "told" : "not told")
        tell("events to the other", other.events.isEmpty ? "none" : "\(other.events)")
        for id in 3..<20 {
            let local = SubflowAction.LocalAddress(IPAddress(ipv4: 0x7F00_0000 + UInt32(id)), id: UInt8(id))
            let answer = client.request(
                .order(.create(local, isBackup: true, remote: connection.remote), token))
            if answer != "done" {
                tell("the subflow after \(id - 3 + 1)", answer)
                break
            }
        }
        tell(
            "a subflow that is not there",
            client.request(.order(.destroy(local: elsewhere, remote: elsewhere), token)))
        // The connection's socket in another client's hands: it shows that it has it, and takes over.
        tell("attach by another holder", other.request(.attach(token), passing: number))
        tell("an order of the first one then", client.request(.order(create, token)))
        tell("what it was told", client.events.contains(.closed(token)) ? "closed" : "nothing")
    }

    /// A client, as soon as the daemon has noticed that others have gone.
    private static func welcomed(_ path: String) throws -> ProbeClient {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while true {
            let client = try ProbeClient(path, greets: false)
            if client.request(.hello) == "done" || MonotonicTime.now > deadline { return client }
            usleep(10_000)
        }
    }

    private static func limits(_ path: String) throws {
        var clients: [ProbeClient] = []
        var answer = ""
        // As soon as the daemon has noticed that those before have gone.
        let patience = MonotonicTime.now.advanced(by: .seconds(10))
        repeat {
            clients = []
            for _ in 0..<40 {
                let client = try ProbeClient(path, greets: false)
                answer = client.request(.hello)
                if answer != "done" { break }
                clients.append(client)
            }
            if clients.count < 16 { usleep(50_000) }
        } while clients.count < 16 && MonotonicTime.now < patience
        tell("clients of one user", "\(clients.count), then \(answer)")
        clients = []
        let reader = try welcomed(path)
        // Status after status, and none is read.
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        var isServed = true
        while isServed, MonotonicTime.now < deadline {
            isServed = reader.transmit(BrokerRequest.status.packet(id: 1), []) || errno == EAGAIN
            if errno == EAGAIN { usleep(100) }
        }
        tell("a client that never reads", isServed ? "served" : "end")
        let (storm, allowed, start) = (try welcomed(path), BrokerLimits().prepares, MonotonicTime.now)
        var answers: [String: Int] = [:]
        // More than its rate allows, also of a machine that is slow.
        for _ in 0..<10_000 where answers["too_fast"] == nil {
            let socket = try StreamSocket(.ipv4, .mptcp)
            answers[storm.request(.prepare, passing: socket.descriptor.number), default: 0] += 1
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let most = Double(allowed.burst) + Double(allowed.perSecond) * seconds + 1
        let isBounded = answers["too_fast"] != nil && Double(answers["done", default: 0]) <= most
        tell("sockets without a pause", isBounded ? "too_fast" : "\(answers)")
    }
}
