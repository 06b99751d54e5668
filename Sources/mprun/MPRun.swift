import ArgumentParser
import CTrap
import CommandSupport
import LinuxNet
import Multipath
import ProgramSteering

struct MPRun: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mprun",
        abstract: "Run a program with its TCP connections made MPTCP, and kept going when a path goes bad.",
        discussion: """
            The program needs no change, and no privilege: the kernel holds its calls of socket(2) and connect(2) until \
            mprun has put an MPTCP socket in the place of a TCP one, and has bound it to the best allowed path. The server \
            has to speak MPTCP; to all others the connection is plain TCP, as without mprun. What can't be done is left \
            as it is, and the program gets TCP.

            EXAMPLES
              mprun curl -O https://media.example/film.mp4
              mprun --mode interactive -- ssh host.example
              mprun --prohibit expensive --list git clone https://git.example/project
              mprun --tcp-for 'iperf*' --report -- ./measure.sh

            EXIT STATUS
              The program's own; where a signal has ended it, mprun ends by the same signal.
              126, 127  the program can't be executed, or there is none (as a shell has it)
              2         usage of mprun

            ENVIRONMENT
              MPATHD_SOCKET         where mpathd listens, instead of /run/mpathd.sock
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
            discussion: "Steering takes CAP_NET_ADMIN, or mpathd, which lends it."),
        completion: .list(MultipathMode.allCases.map(\.rawValue)), transform: MultipathMode.argument)
    var mode: MultipathMode = .handover

    @Option(
        help: ArgumentHelp(
            "Paths not to use: expensive, constrained, an interface type or an interface's name.",
            discussion: """
                An interface that may appear later is named with interface: in front. A connection that no other path \
                leads to is refused: the program gets ENETUNREACH, also where its call can't be looked at. It is about \
                calls of connect(2) by programs of this machine's own kind: UDP (DNS, QUIC), MSG_FASTOPEN, io_uring and \
                32-bit programs go their own way.
                """,
            valueName: "what,…"))
    var prohibit: [String] = []

    @Option(help: ArgumentHelp("The interface to use first.", valueName: "name"))
    var prefer: String?

    @Option(help: ArgumentHelp("The only interface to use.", valueName: "name"))
    var require: String?

    @Option(
        name: .customLong("tcp-for"),
        help: ArgumentHelp(
            "Leave the sockets of these programs TCP: a file's name with * and ?, or a path.",
            discussion: "For a program that needs what MPTCP sockets lack. May be given again.",
            valueName: "pattern"))
    var tcpFor: [String] = []

    @Flag(help: "At the end, list what became of each socket.")
    var list = false

    @Flag(help: "Print a report at the end: each connection, its bytes by path, its moves.")
    var report = false

    @Flag(
        help:
            "Print events and the report as one JSON object a line; its time is in seconds of CLOCK_MONOTONIC."
    )
    var json = false

    @Flag(name: .shortAndLong, help: "Print events as they happen.")
    var verbose = false

    @Flag(name: .shortAndLong, help: "Say nothing, not even that connections can't be steered.")
    var quiet = false

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The program and its arguments.", valueName: "program"))
    var program: [String] = []

    /// The arguments with `--` in front of the program, so that the parser takes none of the program's own for mprun's.
    static func separated(_ arguments: [String]) -> [String] {
        let withValue: Set = [
            "--mode", "--prohibit", "--prefer", "--require", "--tcp-for", "--generate-completion-script",
        ]
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("-"), arguments[index] != "--" {
            index += withValue.contains(arguments[index]) ? 2 : 1
        }
        guard index < arguments.count, arguments[index] != "--" else { return arguments }
        return arguments[..<index] + ["--"] + arguments[index...]
    }

    /// The parser leaves all that it does not know, and what follows, to the program.
    private func programArguments() throws -> [String] {
        guard let first = program.first, first.hasPrefix("-") else { return program }
        switch first {
        case "--": return Array(program.dropFirst())
        case "-h", "--help": throw CleanExit.helpRequest(self)
        case "--version": throw CleanExit.message(projectVersion)
        // Of this the manual is made.
        case "--experimental-dump-help": throw CleanExit.message(Self._dumpHelp())
        default:
            throw ValidationError(
                "there is no option '\(TerminalText.safe(first))'; a program whose name begins so stands behind --"
            )
        }
    }

    func run() throws {
        let arguments = try programArguments()
        if quiet, verbose || json || list || report {
            throw ValidationError(
                "--quiet says nothing; leave it out for --verbose, --json, --list and --report")
        }
        guard !arguments.isEmpty else { throw ValidationError("there is no program to run") }
        var configuration = ProgramPolicy.Configuration()
        configuration.connection.mode = mode
        configuration.connection.preferredInterface = prefer
        configuration.connection.requiredInterface = require
        let interfaces = InterfaceNames.all()
        try Prohibition(parsing: prohibit).apply(to: &configuration.connection, interfaces: interfaces)
        configuration.isStrict = !prohibit.isEmpty || require != nil
        let console = RunConsole(json: json, verbose: verbose, list: list, report: report, quiet: quiet)
        for (option, name) in [("--prefer", prefer), ("--require", require)] {
            if let name, !interfaces.contains(name) { console.missing(name, option, interfaces) }
        }
        configuration.keepsEnded = console.concludes
        let launch = ProgramLaunch(
            argumentCount: arguments.count, tcpPrograms: tcpFor,
            keepsError: console.speaks, awaitsReport: console.concludes,
            configuration, console)
        do throws(SystemError) {
            CommandExit(status: try launch.run()).leave()
        } catch {
            throw MessageError("\(error)")
        }
    }
}

extension MultipathMode: WordArgument {}
