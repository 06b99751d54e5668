import ArgumentParser
import CommandSupport
import CommandTLS
import Multipath
import MultipathDNS

struct MPConnect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mpconnect",
        abstract: "Connect standard input and output to HOST:PORT, over the best of this machine's paths.",
        discussion: """
            Races all allowed paths, with MPTCP where the peer speaks it. Bytes pass unchanged; the end of \
            standard input closes one direction, and the other goes on to its own end. Events, reports and \
            errors go to standard error.

            EXAMPLES
              printf 'GET / HTTP/1.0\\r\\n\\r\\n' | mpconnect --report example.org:80
              ssh -o ProxyCommand='mpconnect %h:%p' host.example
              mpconnect --prohibit expensive,interface:wwan0 --json '[2001:db8::1]:443'
              mpconnect --tls --alpn http/1.1 --resolve example.org:443:192.0.2.1 example.org:443
              mpconnect --prohibit constrained --when-refused close example.org:80
              mpconnect --interface-dns --prohibit cellular example.org:80
              mpconnect --listen :7000 > file
              mpconnect HOST:7000 < file

            EXIT STATUS
              0  done
              1  the connection failed or broke; the attempts are listed
              2  usage; also a path in --prohibit that is not known
              3  no allowed path leads there, or there is no path at all; with --wait, none
                 appeared in time; with --when-refused close, its path was prohibited later
              128 + N  ended by signal N

            JSON
              One object a line. Each has event and time: seconds, with fractions, of the
              kernel's CLOCK_MONOTONIC, which starts when the machine boots and stands still
              while it sleeps. The last event is report.

            ENVIRONMENT
              MULTIPATH_INTERFACES  what you know better of an interface, such as
                                    'wlan0=wifi wwan0=cellular,expensive,constrained'
            """,
        version: projectVersion)

    @Option(
        help: ArgumentHelp(
            """
            What to do when a path goes bad: keep the connection cheaply (handover), have the lowest latency \
            (interactive), or use all paths (aggregate).
            """,
            discussion: """
                Steering takes CAP_NET_ADMIN, or a running mpathd; without either the kernel's path manager decides.
                """),
        completion: .list(MultipathMode.allCases.map(\.rawValue)), transform: MultipathMode.argument)
    var mode: MultipathMode = .handover

    @Flag(help: "Wait for one connection, by MPTCP or TCP, instead of making one. HOST may be left out.")
    var listen = false

    @Option(
        help: ArgumentHelp(
            "Paths not to use: expensive, constrained, an interface type or an interface's name.",
            discussion: "An interface that may appear later is named with interface: in front.",
            valueName: "what,…"))
    var prohibit: [String] = []

    @Option(help: ArgumentHelp("The interface to try first.", valueName: "name"))
    var prefer: String?

    @Option(help: ArgumentHelp("The only interface to use.", valueName: "name"))
    var require: String?

    @Option(
        help: ArgumentHelp(
            """
            Where the connection's path is prohibited from some moment on (it becomes constrained, say), and the \
            connection can't leave it: tell it (report), or end the connection, too (close).
            """, valueName: "report|close"),
        completion: .list(PathRefusalAction.allCases.map(\.rawValue)), transform: PathRefusalAction.argument)
    var whenRefused: PathRefusalAction = .report

    @Option(
        help: ArgumentHelp(
            """
            What the connection carries, as its packets' DSCP tells the networks on the way: background (it then uses no \
            expensive path), best_effort, bulk, interactive, streaming, conversational_video, voice, signalling, \
            network_control.
            """, valueName: "class"),
        completion: .list(TrafficClass.allCases.map(\.rawValue)), transform: TrafficClass.argument)
    var trafficClass: TrafficClass = .bestEffort

    @Option(
        help: ArgumentHelp(
            "How many bytes may go over expensive paths a day, week or month, with all programs that have a budget.",
            discussion:
                "Behind a colon other paths: constrained, or names. 'mppaths budget' shows what is used.",
            valueName: "bytes/period"),
        transform: Self.budget)
    var budget: PathBudget?

    @Flag(name: .customLong("no-mptcp"), help: "Ask for plain TCP only.")
    var withoutMPTCP = false

    @Option(
        help: ArgumentHelp(
            "How long connecting may take, name resolution included: 10, 10s, 500ms, 2m.",
            valueName: "duration"),
        transform: Duration.argument)
    var connectTimeout: Duration = .seconds(10)

    @Flag(help: "Where no path can be used, wait for one, up to the timeout.")
    var wait = false

    @Flag(help: "Speak TLS. The first attempt whose handshake is complete wins; HOST is verified.")
    var tls = false

    @Option(help: ArgumentHelp("Protocols to offer by ALPN, best first: h2,http/1.1.", valueName: "name,…"))
    var alpn: String?

    @Option(
        help: ArgumentHelp(
            "Trust the authorities in this file (PEM) instead of the system's.", valueName: "file"))
    var cacert: String?

    @Flag(help: "With --tls: accept any certificate. Each network on the way can then read and change all.")
    var insecure = false

    @Option(
        help: ArgumentHelp(
            "Connect to these addresses of a name, as curl does; TLS still verifies the name. May be given again.",
            valueName: "host:port:addr,…"), transform: Self.resolve)
    var resolve: [ResolveArgument] = []

    @Flag(
        name: .customLong("interface-dns"),
        help: ArgumentHelp(
            "Ask for HOST over each allowed path, by that path's own name servers.",
            discussion: "No question goes over a prohibited path. What a path answers is used over it alone.")
    )
    var asksEachPath = false

    @Flag(
        name: [.customLong("no-progress"), .customShort("s")],
        help: "Show no progress of a long transfer on the terminal.")
    var withoutProgress = false

    @Flag(help: "Print a report at the end.")
    var report = false

    @Flag(help: "Print events and the report as one JSON object a line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print events as they happen.")
    var verbose = false

    @Argument(
        help: ArgumentHelp("Where to connect to. An IPv6 address stands in brackets.", valueName: "HOST:PORT")
    )
    var destination: String

    func run() async throws {
        let destination: HostPort
        do throws(HostPort.Malformed) {
            destination = try HostPort(parsing: self.destination, forListening: listen)
        } catch {
            throw ValidationError(error.description)
        }
        let console = Console(json: json, verbose: verbose, report: report)
        let session = Session(
            console: console, showsProgress: !withoutProgress && !json && Progress.isPossible,
            whenRefused: whenRefused)
        if listen {
            try await session.listen(on: destination, mode)
        } else {
            let monitor = PathMonitor(monitorConfiguration)
            var configuration = configuration
            try await Prohibition(parsing: prohibit).apply(to: &configuration, monitor)
            await warnIfMissing(prefer, monitor, console)
            let resolver = ResolveArgument.resolver(
                resolve, for: destination, otherwise: asksEachPath ? InterfaceResolver() : SystemResolver())
            try await session.connect(
                to: destination, configuration,
                Connector(
                    monitor: monitor, resolver: resolver, observers: [WaitingObserver(console: console)]),
                tls: tls
                    ? ClientTLS(
                        host: destination.host,
                        protocols: alpn?.split(separator: ",").map(String.init) ?? [],
                        authorities: cacert, isVerified: !insecure) : nil)
        }
    }

    func validate() throws {
        if !tls, alpn != nil || cacert != nil || insecure {
            throw ValidationError("--alpn, --cacert and --insecure are about TLS; add --tls")
        }
        if listen, tls { throw ValidationError("--tls is for connecting; --listen has no certificate") }
        if listen, asksEachPath { throw ValidationError("--interface-dns is for connecting") }
        if listen, !prohibit.isEmpty || prefer != nil || require != nil || wait || whenRefused == .close {
            throw ValidationError(
                "--prohibit, --when-refused, --prefer, --require and --wait are for connecting")
        }
        if listen, trafficClass != .bestEffort || budget != nil {
            throw ValidationError("--traffic-class and --budget are for connecting")
        }
        if insecure, cacert != nil {
            throw ValidationError("--insecure trusts every certificate, --cacert only some; choose one")
        }
        if let alpn,
            alpn.split(separator: ",", omittingEmptySubsequences: false)
                .contains(where: { $0.isEmpty || $0.utf8.count > 255 })
        {
            throw ValidationError("a protocol's name in --alpn has 1 to 255 bytes")
        }
    }

    private var configuration: ConnectionConfiguration {
        var configuration = ConnectionConfiguration()
        configuration.mode = mode
        if withoutMPTCP { configuration.protocols = [.tcp] }
        configuration.connectTimeout = connectTimeout
        configuration.waitsForPath = wait
        configuration.whenPathIsRefused = whenRefused
        configuration.trafficClass = trafficClass
        configuration.budget = budget
        configuration.preferredInterface = prefer
        configuration.requiredInterface = require
        return configuration
    }

    private var monitorConfiguration: PathMonitor.Configuration {
        var configuration = PathMonitor.Configuration()
        // NetworkManager knows most paths' name servers, and answers within milliseconds.
        if asksEachPath { configuration.waitsForNetworkManager = .milliseconds(500) }
        return configuration
    }

    /// Says that the preferred interface is not here. It is no error: the other paths are as good as without it.
    private func warnIfMissing(_ name: String?, _ monitor: PathMonitor, _ console: Console) async {
        guard let name, let path = try? await monitor.currentPath(), path.interface(named: name) == nil
        else { return }
        let hint = Suggestion.hint(for: name, among: path.allInterfaces.map(\.name))
        console.event(
            "warning", ["message": "no interface is named \(name)"],
            text: "warning: --prefer: no interface is named '\(TerminalText.safe(name))'\(hint)", always: true
        )
    }

    private static func budget(_ text: String) throws -> PathBudget {
        do throws(BudgetArgument.Malformed) {
            return try BudgetArgument(parsing: text).budget
        } catch {
            throw ValidationError(error.description)
        }
    }

    private static func resolve(_ text: String) throws -> ResolveArgument {
        do throws(ResolveArgument.Malformed) {
            return try ResolveArgument(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }
}

extension MultipathMode: WordArgument {}
extension PathRefusalAction: WordArgument {}
extension TrafficClass: WordArgument {}
