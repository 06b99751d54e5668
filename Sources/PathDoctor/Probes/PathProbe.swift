import CommandTLS
import LinuxNet
import Multipath

/// Looks at one path: names, TCP, MPTCP, TLS, what answers where nothing should, packets of full size, and how well it answers.
struct PathProbe: Sendable {
    let path: PathInterface
    let snapshot: PathSnapshot
    let target: PathDoctor.Target
    /// The system's answer, which holds where the path has no name server of its own.
    let systemName: NameFinding?
    let progress: @Sendable (String) -> Void

    /// How long an answer is waited for: a lost SYN is sent again after 1 s (RFC 6298 section 2).
    static let patience = Duration.milliseconds(2500)
    /// SYNs with MPTCP: before the kernel leaves the option out of one that it sends again
    /// (`net.mptcp.syn_retrans_before_tcp_fallback`, the third after 3 s).
    static let mptcpPatience = Duration.milliseconds(1800)
    /// The handshakes that show loss and round trips: so many, so far apart.
    static let handshakes = (count: 32, interval: Duration.milliseconds(100))
    private static let mostSeries = 3
    /// Segments that pass wherever IPv6 does (1,280 bytes, RFC 8200 section 5), with room for a tunnel.
    static let smallSegment: CInt = 1000
    /// More than two full packets.
    static let longRequest = 3000
    /// An address that no host has (TEST-NET-1, RFC 5737).
    static let nowhere = IPEndpoint(IPAddress(ipv4: 0xC000_02C8), port: 80)

    func run() async -> PathFindings {
        var found = PathFindings(interface: path.name, type: path.type.value)
        found.isExpensive = path.isExpensive
        found.isConstrained = path.isConstrained
        let before = traffic
        let begun = ContinuousClock.now
        async let portal = portal()
        if target.isName {
            progress("\(path.name): name")
            found.names = await NameProbe(host: target.host).servers(of: path, shared: snapshot.nameServers)
        }
        let addresses = addresses(found.names)
        await connect(to: addresses, &found)
        found.portal = await portal
        if let before, let after = traffic {
            let seconds = (ContinuousClock.now - begun).inSeconds
            found.traffic = seconds > 0 && after >= before ? Double(after - before) * 8 / seconds : 0
        }
        return found
    }

    // MARK: Addresses

    /// One of each family that the path has, in the order in which a connection would try them.
    private func addresses(_ names: [NameFinding]) -> [IPAddress] {
        let own = names.first { !$0.addresses.isEmpty }?.addresses
        let all = target.address.map { [$0] } ?? own ?? systemName?.addresses ?? []
        let usable = all.filter { path.supports($0.family) || $0.isLinkLocal }
        let sorted = DestinationOrder(sources: path.addresses).sorted(usable)
        return IPAddress.Family.allCases.compactMap { family in sorted.first { $0.family == family } }
            .sorted { (sorted.firstIndex(of: $0) ?? 0) < (sorted.firstIndex(of: $1) ?? 0) }
    }

    // MARK: Connections

    private func connect(to addresses: [IPAddress], _ found: inout PathFindings) async {
        guard let (connection, address) = await firstConnection(to: addresses, &found) else { return }
        let endpoint = IPEndpoint(address, port: target.port)
        found.pathMTU = connection.pathMTU(address.family)
        progress("\(path.name): MPTCP, TLS and round trips")
        async let quality = quality(endpoint)
        async let mptcp = mptcp(endpoint)
        async let idle = idle(endpoint)
        (found.tls, found.packets) = await exchange(connection, endpoint)
        found.mptcp = await mptcp
        found.quality = await quality
        found.idle = await idle
    }

    /// Connects to the first address that takes a connection.
    private func firstConnection(
        to addresses: [IPAddress], _ found: inout PathFindings
    ) async -> (ProbeSocket, IPAddress)? {
        for address in addresses {
            progress("\(path.name): TCP to \(address)")
            let connection = await connection(to: address, &found)
            // A refusal is an answer, too.
            guard connection != nil || found.tcp == .refused else { continue }
            return await again(addresses[0], connection, &found)
        }
        guard let first = addresses.first, found.tcp == .silent else { return nil }
        found.answersElsewhere = await answersElsewhere(first)
        return found.answersElsewhere ? await again(first, nil, &found) : nil
    }

    /// Something answers: where the first address was silent before, it is asked once more.
    private func again(
        _ first: IPAddress, _ connection: ProbeSocket?, _ found: inout PathFindings
    ) async -> (ProbeSocket, IPAddress)? {
        let known = connection.flatMap { connection in found.address.map { (connection, $0) } }
        // Over a path that has not been silent there is nothing to ask again.
        guard found.address != first || connection == nil, found.tcp != .refused else { return known }
        var second = found
        if let connection = await self.connection(to: first, &second) {
            (found.address, found.tcp, found.paused, found.answersElsewhere) = (
                first, second.tcp, true, false
            )
            return (connection, first)
        }
        if known != nil { found.deadAddress = first }
        return known
    }

    private func connection(to address: IPAddress, _ found: inout PathFindings) async -> ProbeSocket? {
        let result = await ProbeSocket.connect(
            to: IPEndpoint(address, port: target.port), over: path.index, within: Self.patience)
        found.address = address
        found.tcp = Self.finding(result)
        return try? result.get()
    }

    private static func finding(_ result: Result<ProbeSocket, ProbeSocket.Failure>) -> TCPFinding {
        switch result {
        case .success(let connection): .connected(connection.duration)
        case .failure(.refused): .refused
        case .failure(.silent): .silent
        case .failure(.failed(let words)): .unreachable(words)
        }
    }

    /// Whether the host answers on a port on which many do, or refuses one.
    private func answersElsewhere(_ address: IPAddress) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for port in [443, 80, 22, target.port == .max ? 1 : target.port + 1] as [UInt16]
            where port != target.port {
                group.addTask {
                    switch await halfOpen(IPEndpoint(address, port: port), within: .milliseconds(1500)) {
                    case .success, .failure(.refused): true
                    case .failure: false
                    }
                }
            }
            for await answers in group where answers { return true }
            return false
        }
    }

    /// Whether one of these addresses takes a connection over this path.
    func reaches(_ addresses: [IPAddress]) async -> Bool {
        for address in addresses where path.supports(address.family) {
            let result = await halfOpen(IPEndpoint(address, port: target.port), within: Self.patience)
            if (try? result.get()) != nil { return true }
        }
        return false
    }

    private func halfOpen(
        _ endpoint: IPEndpoint, within limit: Duration
    ) async -> Result<ProbeSocket, ProbeSocket.Failure> {
        var options = ProbeSocket.Options()
        options.staysHalfOpen = true
        return await ProbeSocket.connect(to: endpoint, over: path.index, options, within: limit)
    }

    private func mptcp(_ endpoint: IPEndpoint) async -> MPTCPFinding {
        guard target.kernelSpeaksMPTCP else { return .untried }
        var options = ProbeSocket.Options()
        options.transport = .mptcp
        // Twice: on a path that loses packets one SYN's fate says little.
        for _ in 0..<2 {
            let result = await ProbeSocket.connect(
                to: endpoint, over: path.index, options, within: Self.mptcpPatience)
            if let connection = try? result.get() {
                if TransportSample.isMPTCP(connection.number) { return .works }
                // The kernel remembers that SYNs with the option were dropped, over whichever path: it left the option out.
                return StreamSocket.kernelWithholdsMPTCP ? .withheld : .absent
            }
        }
        return .dropped
    }

    /// Where a series shows that the path changes, and no fault yet, another one follows: a fault may last only a part of the time.
    private func quality(_ endpoint: IPEndpoint) async -> QualityFinding {
        var worst = await series(endpoint)
        var latest = worst
        for _ in 1..<Self.mostSeries where latest.isUneasy && worst.loss < Judge.lossLimit {
            progress("\(path.name): once more, because it changes")
            latest = await series(endpoint)
            worst = worst.worse(latest)
        }
        return worst
    }

    private func series(_ endpoint: IPEndpoint) async -> QualityFinding {
        let begun = ContinuousClock.now
        typealias Answer = (time: Duration, isInTime: Bool)
        let answers = await withTaskGroup(of: Answer?.self) { group in
            for number in 0..<Self.handshakes.count {
                group.addTask {
                    try? await Task.sleep(until: begun + Self.handshakes.interval * number, tolerance: .zero)
                    let started = ContinuousClock.now
                    switch await halfOpen(endpoint, within: Self.patience) {
                    case .success(let handshake): return handshake.firstAnswer
                    case .failure(.refused):
                        let time = ContinuousClock.now - started
                        return (time, time < ProbeSocket.repetition)
                    case .failure: return nil
                    }
                }
            }
            return await group.reduce(into: [Answer]()) { if let answer = $1 { $0.append(answer) } }
        }
        return QualityFinding(
            sent: Self.handshakes.count, inTime: answers.filter(\.isInTime).map(\.time),
            late: answers.filter { !$0.isInTime }.map(\.time))
    }

    /// A connection that says nothing but one keepalive, after the time that was asked for.
    private func idle(_ endpoint: IPEndpoint) async -> IdleFinding? {
        guard let time = target.idle,
            let connection = try? await ProbeSocket.connect(
                to: endpoint, over: path.index, within: Self.patience
            )
            .get(),
            let outcome = connection.keepAlive(after: time)
        else { return nil }
        progress("\(path.name): idle for \(Int(time.inSeconds)) s")
        // Three probes, a second apart: then the kernel ends it.
        return await outcome()
    }

    // MARK: What is said over the connection

    /// TLS, or a long request of HTTP. Where the connection stands and nothing comes back, the same with small packets; and
    /// where those arrive, once more with full ones.
    private func exchange(
        _ connection: ProbeSocket, _ endpoint: IPEndpoint
    ) async -> (TLSFinding, PacketFinding) {
        if let tls = target.tls {
            let finding = await TLSProbe.run(connection, tls, within: Self.patience)
            guard finding == .silent else { return (finding, .arrive) }
            guard let small = await smallConnection(endpoint) else { return (finding, .untried) }
            let again = await TLSProbe.run(small, tls, within: Self.patience)
            guard again != .silent else { return (finding, .untried) }
            guard let full = await fullConnection(endpoint) else { return (again, .untried) }
            let last = await TLSProbe.run(full, tls, within: Self.patience)
            return last == .silent ? (again, .lost) : (last, .arrive)
        }
        guard target.speaksHTTP else { return (.untried, .untried) }
        if await answersHTTP(connection) { return (.untried, .arrive) }
        guard let small = await smallConnection(endpoint), await answersHTTP(small),
            let full = await fullConnection(endpoint)
        else { return (.untried, .untried) }
        return (.untried, await answersHTTP(full) ? .arrive : .lost)
    }

    private func fullConnection(_ endpoint: IPEndpoint) async -> ProbeSocket? {
        try? await ProbeSocket.connect(to: endpoint, over: path.index, within: Self.patience).get()
    }

    private func smallConnection(_ endpoint: IPEndpoint) async -> ProbeSocket? {
        progress("\(path.name): small packets")
        var options = ProbeSocket.Options()
        options.largestSegment = Self.smallSegment
        return try? await ProbeSocket.connect(to: endpoint, over: path.index, options, within: Self.patience)
            .get()
    }

    private func answersHTTP(_ connection: ProbeSocket) async -> Bool {
        let padding = String(repeating: "-", count: Self.longRequest)
        let request = """
            GET / HTTP/1.1\r
            Host: \(target.host)\r
            User-Agent: mppaths\r
            X-Padding: \(padding)\r
            Connection: close\r
            \r

            """
        return await !connection.ask(Array(request.utf8), upTo: 1, within: Self.patience).isEmpty
    }

    /// Asks for a page where no host is.
    private func portal() async -> PortalFinding {
        guard path.supportsIPv4 else { return .none }
        let result = await ProbeSocket.connect(
            to: Self.nowhere, over: path.index, within: .milliseconds(1500))
        guard let connection = try? result.get() else { return .none }
        let request =
            "GET / HTTP/1.1\r\nHost: \(Self.nowhere.address)\r\nUser-Agent: mppaths\r\nConnection: close\r\n\r\n"
        let answer = await connection.ask(Array(request.utf8), upTo: 4096, within: .milliseconds(1500))
        return HTTPHead(answer)?.portal ?? .none
    }

    // MARK: The interface's own counters

    /// The bytes that passed over the interface, both ways; nil where the kernel does not say.
    private var traffic: UInt64? {
        func count(_ name: String) -> UInt64? {
            InputFile.line("/sys/class/net/\(path.name)/statistics/\(name)").flatMap { UInt64($0) }
        }
        guard let received = count("rx_bytes"), let sent = count("tx_bytes") else { return nil }
        return received &+ sent
    }
}
