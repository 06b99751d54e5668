import ArgumentParser
import CommandSupport
import LinuxNet
import NetworkLab
import PathCore

struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a command in a lab's client host.",
        discussion: """
            The client has the interfaces wlan0 and wwan0, with IPv4 and IPv6, and default routes through both.
            Behind a router is the host 'server' (also in $MPLAB_SERVER), by MPTCP and TCP:

              port  7  echo
              port  9  sink: answers with the count and SHA-256 of what it took
              port 19  source: a line 'N [SEED]' asks for N bytes, an empty line for bytes without end
              port 20  paced: a line 'N T [COUNT]' asks for N bytes every T ms
              port 80  HTTP: GET /N for N bytes, with ranges; GET /sha256/N for their SHA-256

            CONDITIONS, separated by commas; up. or down. before one is for that direction alone
              rtt=20ms  delay=10ms  jitter=5ms  rate=50mbit  queue=100ms  queue=64kb  queue=codel
              rate=trace:FILE       a recorded link, in mahimahi's format; FILE.up and FILE.down, or FILE for both
              policer=10mbit/64kb   drops what exceeds a rate by more than that; policer=off
              burst=4ms             Wi-Fi's aggregation: packets sent within 4 ms arrive together
              loss=1%  burst=8  gilbert=1%/25%  duplicate=1%  corrupt=0.1%  reorder=1%
              blackhole=both|up|down|none  middlebox=strip|drop|block-joins|none  nat=30s|off

            KINDS OF NETWORKS, each a word for all its conditions; more may follow it
            \(LinkPreset.allCases.map { "  \($0.rawValue): \($0.about)\n    \($0.text)" }.joined(separator: "\n"))

            EXAMPLES
              mplab run --wifi rtt=20ms,rate=50mbit --cellular rtt=60ms,rate=20mbit -- ping -c 3 server
              mplab run --wifi hotel --cellular lte,loss=1% --congestion bbr -- curl -o /dev/null http://server/10000000
              mplab run --wifi loss=2%,burst=5,up.rate=5mbit -- curl -o /dev/null http://server/10000000
              mplab run --serve 'iperf3 -s' -- iperf3 -c server
              mplab run --wired -- bash

            EXIT STATUS
              The command's own. 127 where it could not be started, 128 + N where signal N ended it,
              1 where the lab could not be built, 2 for usage.
            """)

    @Option(help: ArgumentHelp("A built-in scenario (mplab scenarios), or a file.", valueName: "NAME|FILE"))
    var scenario: String?

    @Option(help: ArgumentHelp("The Wi-Fi link's conditions (wlan0).", valueName: "cond"))
    var wifi: String?

    @Option(help: ArgumentHelp("The cellular link's conditions (wwan0).", valueName: "cond"))
    var cellular: String?

    @Option(
        help: ArgumentHelp("A wired link (eth0) too, with these conditions; '' for none.", valueName: "cond"))
    var wired: String?

    @Option(help: ArgumentHelp("What addresses there are: both, ipv4 or ipv6.", valueName: "which"))
    var families: LabPlan.Families?

    @Option(help: ArgumentHelp("A shell command that runs in the server host instead of the services."))
    var serve: String?

    @Option(
        help: ArgumentHelp(
            """
            The congestion control of both hosts, or of each (client=bbr,server=cubic): reno, cubic or bbr. A machine \
            offers a lab's hosts only what net.ipv4.tcp_allowed_congestion_control has; the server's own services can \
            use any that the kernel has.
            """, valueName: "name"))
    var congestion: String?

    @Flag(help: "The server speaks only TCP.")
    var tcpOnlyServer = false

    @Option(
        help: ArgumentHelp(
            "Make an interface a tap, so that its carrier goes as a card's does. It needs /dev/net/tun.",
            valueName: "name"))
    var tap: [String] = []

    @Option(help: ArgumentHelp("Two runs of one seed treat the same packets the same.", valueName: "n"))
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "Write a JSON object for each link every 100 ms, and each change.", valueName: "file"))
    var trace: String?

    @Flag(name: .shortAndLong, help: "Show no line for each link on the terminal.")
    var quiet = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp(
            "What to run, with its arguments. A shell where nothing is named.", valueName: "COMMAND"))
    var command: [String] = []

    func run() throws {
        let plan: LabPlan
        do throws(LabTextError) {
            plan = try self.plan()
        } catch {
            throw ValidationError(error.description)
        }
        var options = LabProcess.Options()
        options.trace = trace
        options.isWatched = !quiet && StandardStream.error.isTerminal && !command.isEmpty
        let shell = ProcessEnvironment.value("SHELL") ?? "/bin/sh"
        do {
            throw CommandExit(
                status: try LabProcess.run(
                    plan, command: command.isEmpty ? [shell] : command, options: options))
        } catch let error as LabProcess.Failure {
            throw MessageError(error.description)
        } catch let error as SystemError {
            throw MessageError(error.description)
        }
    }

    private func plan() throws(LabTextError) -> LabPlan {
        var plan =
            try scenario.map { word throws(LabTextError) in try Scenario.named(word).plan } ?? LabPlan()
        try apply(wifi, "--wifi", .wifi, "wlan0", &plan)
        try apply(cellular, "--cellular", .cellular, "wwan0", &plan)
        try apply(wired, "--wired", .wired, "eth0", &plan)
        if let families { plan.families = families }
        if let serve { plan.server.command = ["/bin/sh", "-c", serve] }
        if let congestion {
            do throws(LabTextError) {
                plan.congestion = try CongestionPlan(parsing: congestion)
            } catch {
                throw error.at("--congestion")
            }
        }
        if tcpOnlyServer { plan.server.isTCPOnly = true }
        if let seed { plan.seed = seed }
        for name in tap {
            guard let number = plan.links.firstIndex(where: { $0.name == name }) else {
                throw LabTextError("'\(name)' is no link here").at("--tap")
            }
            plan.links[number].isTap = true
        }
        try plan.validate()
        return plan
    }

    /// Puts a flag's conditions on the type's first link; there is one afterwards.
    private func apply(
        _ text: String?, _ flag: String, _ type: InterfaceType, _ name: String, _ plan: inout LabPlan
    ) throws(LabTextError) {
        guard let text else { return }
        let change: ConditionChange
        do throws(LabTextError) {
            change = try ConditionChange(parsing: text)
        } catch {
            throw error.at(flag)
        }
        if !plan.links.contains(where: { $0.type == type }) { plan.links.append(.init(name, type)) }
        for number in plan.links.indices where plan.links[number].type == type {
            plan.links[number].conditions = change.applied(to: plan.links[number].conditions)
            return
        }
    }
}

extension LabPlan.Families: ExpressibleByArgument {}
