// A lab, from inside its process: hosts, wires, services, and what happens to them.

import LabNet
import LinuxNet
import PathCore
import Synchronization

/// A running lab. Its process is in namespaces of its own (`LabProcess`).
final class Lab: Sendable {
    let plan: LabPlan
    let hosts: LabHosts
    let wire = Wire()
    /// What the client's user says of the links.
    let settings: LabSettings
    private let services: ServiceHost?
    private let links: LinkTable
    /// Files of /etc that this machine doesn't have, so that names may not work.
    let missingFiles: [String]

    /// The client's links, and who hears of changes; only the lab's thread touches them.
    private final class LinkTable: @unchecked Sendable {
        var links: [ClientLink] = []
        var listener: ((LinkAction, String) -> Void)?
    }

    /// Why a lab could not be built.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The thread on which everything happens that isn't a packet.
    static var thread: EventThread { .shared }

    /// Builds everything, waits until every link has carried a packet both ways, and sets the conditions.
    init(_ plan: LabPlan, _ settings: LabSettings) throws {
        self.plan = plan
        self.settings = settings
        missingFiles = try FileOverlay.cover(Self.files(plan))
        try Self.configureWireHost()
        let hosts = try LabHosts()
        self.hosts = hosts
        try Self.configureClient(hosts)
        try Self.configureRouterAndServer(hosts, plan)
        try Self.setCongestionControls(hosts, plan)
        if plan.server.command.isEmpty {
            let transport: TransportProtocol = plan.server.isTCPOnly ? .tcp : .mptcp
            services = try hosts.server.run { () throws(SystemError) in
                try ServiceHost(transport, congestion: plan.congestion.server)
            }
        } else {
            services = nil
        }
        links = LinkTable()
        var metrics: Set<UInt32> = []
        for (number, link) in plan.links.enumerated() {
            // The next interface of a type gets the next metric, as NetworkManager does it.
            var metric = link.metric ?? LabPlan.Link.metric(of: link.type)
            while link.metric == nil, metrics.contains(metric) { metric += 1 }
            metrics.insert(metric)
            var client = ClientLink(link, number: number, families: plan.families.all, metric: metric)
            do throws(SystemError) {
                try client.build(hosts, wire, seed: plan.seed &* 64)
            } catch {
                guard link.isTap else { throw error }
                throw Failure(description: "link \(link.name) is a tap: \(error)")
            }
            links.links.append(client)
        }
        try waitUntilReady()
        for number in links.links.indices { links.links[number].set(plan.links[number].conditions, wire) }
    }

    // MARK: Hosts

    private static func configureWireHost() throws(SystemError) {
        // The wires' ends are no host: they neither speak nor answer.
        try ControlFile.sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        try ControlFile.sysctl("net/ipv6/conf/all/disable_ipv6", "1")
    }

    /// What every host of the lab is: quiet, and ready at once.
    private static func configureHost(
        _ control: NetworkControl, loose: Bool
    ) throws(SystemError) {
        try control.setLink("lo", up: true)
        try ControlFile.sysctl("net/ipv4/conf/all/rp_filter", "0")
        // Loose, as systemd sets it on a client; the router sees packets of all links.
        try ControlFile.sysctl("net/ipv4/conf/default/rp_filter", loose ? "2" : "0")
        // Linux's default, or what every machine allows: what fills a queue here fills it everywhere.
        for algorithm in ["cubic", "reno"]
        where (try? ControlFile.sysctl("net/ipv4/tcp_congestion_control", algorithm)) != nil {
            break
        }
        for name in ["accept_dad", "accept_ra", "router_solicitations"] {
            try ControlFile.sysctl("net/ipv6/conf/default/\(name)", "0")
        }
    }

    /// Sets what the plan asks for, and says plainly where this machine offers a host something else.
    private static func setCongestionControls(_ hosts: LabHosts, _ plan: LabPlan) throws {
        func set(_ name: String, _ control: CongestionControl?, _ host: borrowing NetworkNamespace) throws {
            guard let control else { return }
            do throws(SystemError) {
                try host.run { () throws(SystemError) in
                    try ControlFile.sysctl("net/ipv4/tcp_congestion_control", control.rawValue)
                }
            } catch {
                // A socket of the lab's own may use what the machine keeps from other namespaces.
                let isOwn = name == "server" && plan.server.command.isEmpty
                if isOwn, (try? host.run { () throws(SystemError) in try ServiceHost.check(control) }) != nil
                {
                    return
                }
                let file = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
                throw Failure(
                    description: """
                        congestion \(name)=\(control.rawValue): this machine does not offer it to a lab's \(name) \
                        (\(error.words)); net.ipv4.tcp_allowed_congestion_control has \
                        \(InputFile.line(file) ?? "nothing to read")
                        """)
            }
        }
        try set("client", plan.congestion.client, hosts.client)
        try set("server", plan.congestion.server, hosts.server)
    }

    private static func configureClient(_ hosts: LabHosts) throws(SystemError) {
        try hosts.client.run { () throws(SystemError) in
            try configureHost(hosts.clientControl, loose: true)
            FileOverlay.showDevices()
        }
    }

    private static func configureRouterAndServer(_ hosts: LabHosts, _ plan: LabPlan) throws(SystemError) {
        try hosts.router.run { () throws(SystemError) in
            try configureHost(hosts.routerControl, loose: false)
            try ControlFile.sysctl("net/ipv4/ip_forward", "1")
            try ControlFile.sysctl("net/ipv6/conf/all/forwarding", "1")
        }
        try hosts.server.run { () throws(SystemError) in
            try configureHost(hosts.serverControl, loose: false)
            if plan.server.isTCPOnly { try ControlFile.sysctl("net/mptcp/enabled", "0") }
        }
        try hosts.routerControl.addVeth(.init("server"), to: .init("eth0"), in: hosts.server)
        try hosts.routerControl.setLink("server", up: true)
        try hosts.serverControl.setLink("eth0", up: true)
        let routerIndex = try hosts.router.run { () throws(SystemError) in
            try NetworkControl.index(of: "server")
        }
        let serverIndex = try hosts.server.run { () throws(SystemError) in
            try NetworkControl.index(of: "eth0")
        }
        for family in plan.families.all {
            let prefix = LabAddresses.serverPrefix(family)
            let router = LabAddresses.router(family)
            try hosts.routerControl.addAddress(router, prefix: prefix, to: routerIndex)
            try hosts.serverControl.addAddress(LabAddresses.server(family), prefix: prefix, to: serverIndex)
            try hosts.serverControl.addRoute(.init(via: router, index: serverIndex))
        }
    }

    /// The names a lab's programs know, and no name server.
    private static func files(_ plan: LabPlan) -> [(path: String, text: String)] {
        var hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
        for family in plan.families.all { hosts += "\(LabAddresses.server(family)) server\n" }
        // Other sources of names may be services outside, which would answer for the machine's network.
        let switches =
            (InputFile.line("/etc/nsswitch.conf") ?? "").split(separator: "\n")
            .filter { !$0.hasPrefix("hosts:") } + ["hosts: files dns"]
        return [
            ("/etc/hosts", hosts), ("/etc/resolv.conf", "# A lab has no name server.\n"),
            ("/etc/nsswitch.conf", switches.joined(separator: "\n") + "\n"),
        ]
    }

    // MARK: Readiness

    private func waitUntilReady() throws {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        let hosts = hosts
        for link in plan.links {
            for family in plan.families.all {
                let server = IPEndpoint(LabAddresses.server(family), port: ServiceHost.echoPort)
                let isReady = try hosts.client.run { () throws(SystemError) in
                    StreamSocket.waitForAnswer(
                        from: server, over: try NetworkControl.index(of: link.name), by: deadline)
                }
                guard isReady else {
                    throw Failure(
                        description: "the lab's server can't be reached over \(link.name) (\(family))")
                }
            }
        }
    }

    // MARK: While it runs

    /// Does something to a link, on the lab's thread.
    ///
    /// - Parameter done: called there when it is done, or with the reason why it could not be.
    func perform(
        _ action: LinkAction, on link: String, _ done: @escaping @Sendable (SystemError?) -> Void
    ) {
        Self.thread.checkIsolated()
        let finish: @Sendable (SystemError?) -> Void = { [self] failure in
            if failure == nil { links.listener?(action, link) }
            done(failure)
        }
        if case .tag(let tag) = action { return settings.say(tag, of: link, finish) }
        guard let number = links.links.firstIndex(where: { $0.plan.name == link }) else { return done(nil) }
        do throws(SystemError) {
            try links.links[number].perform(action, hosts, wire)
            finish(nil)
        } catch {
            finish(error)
        }
    }

    /// The conditions of every link now, on the lab's thread.
    var conditions: [(name: String, conditions: LinkConditions)] {
        Self.thread.checkIsolated()
        return links.links.map { ($0.plan.name, $0.conditions) }
    }

    /// Hears of everything that happens to a link from now on, on the lab's thread.
    func setListener(_ listener: @escaping @Sendable (LinkAction, String) -> Void) {
        Self.thread.submit { self.links.listener = listener }
    }

    /// Starts a program in the client host.
    func startInClient(_ arguments: [String]) throws(SystemError) -> ProcessNumber {
        var environment = ChildProcess.environment
        environment["MPLAB_SERVER"] = missingFiles.contains("/etc/hosts") ? "\(serverAddress)" : "server"
        environment[InterfaceOverrides.environmentVariable] = plan.links.map(\.override).joined(
            separator: " ")
        environment[SettingsFile.homeVariable] = settings.folder
        let variables = environment
        return try hosts.client.run { () throws(SystemError) in
            try ChildProcess.start(arguments, environment: variables)
        }
    }

    /// Starts the user's server in the server host, and waits until it listens.
    func startServer(_ arguments: [String]) throws(SystemError) -> ProcessNumber {
        try hosts.server.run { () throws(SystemError) in
            // Its words are not the command's.
            let process = try ChildProcess.start(
                arguments, environment: ChildProcess.environment,
                streams: [StandardStream.output.rawValue: StandardStream.error.rawValue])
            ListeningSockets.waitForFirst(by: MonotonicTime.now.advanced(by: .seconds(5)))
            return process
        }
    }

    private var serverAddress: IPAddress { LabAddresses.server(plan.families.all[0]) }
}
