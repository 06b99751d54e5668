import ArgumentParser
import CommandSupport
import CommandTLS
import LinuxNet
import Multipath
import PathDoctor

struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the way to HOST:PORT over each path, and say in one sentence what is wrong.",
        discussion: """
            Over each path: the name, by the path's own servers; TCP; MPTCP; TLS, and whose
            certificate; round trips and losses; what answers where no host is (a captive
            portal); whether packets of full size arrive. Then a verdict, and what to do.
            It takes some four seconds where all is well, and sends the host 34 handshakes
            a path, of which its programs see two.

            EXAMPLES
              mppaths check example.org:443
              mppaths check --tls --cacert lab.pem server:8443
              mppaths check --idle 2m example.org:443     does the NAT forget it?
              mppaths check --json example.org:443 | jq -r .verdict.fault

            EXIT STATUS
              0  all is well
              1  something is wrong
              2  usage
              3  there is no path

            JSON
              One object: host, port, exit_status, omissions, name (the system's resolver),
              verdict (fault, path, sentence, advice, healthy), and paths, each with its own
              fault. Keys are always there; null is what is not known or was not asked.
              Faults: \(Diagnosis.Fault.allCases.map(\.rawValue).joined(separator: ", "))
            """)

    @Flag(
        inversion: .prefixedNo,
        help: "The port speaks TLS. Unless said: 443, 465, 563, 636, 853, 989 to 995, 5061, 6697 and 8443 do."
    )
    var tls: Bool?

    @Option(
        help: ArgumentHelp(
            "Trust the authorities in this file (PEM) instead of the system's.", valueName: "file"))
    var cacert: String?

    @Flag(
        inversion: .prefixedNo,
        help: "The port speaks HTTP in the clear. Unless said: 80, 8000, 8008 and 8080 do.")
    var http: Bool?

    @Option(
        help: ArgumentHelp(
            "Leave a connection idle for so long, and see whether it is forgotten on the way.",
            valueName: "duration"),
        transform: Duration.argument)
    var idle: Duration?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Argument(
        help: ArgumentHelp("What to check. An IPv6 address stands in brackets.", valueName: "HOST:PORT"))
    var destination: String

    private static let tlsPorts: Set<UInt16> = [
        443, 465, 563, 636, 853, 989, 990, 992, 993, 994, 995, 5061, 6697, 8443,
    ]
    private static let httpPorts: Set<UInt16> = [80, 8000, 8008, 8080]

    func validate() throws {
        if tls == false, cacert != nil { throw ValidationError("--cacert is about TLS; leave --no-tls out") }
        if tls == true, http == true { throw ValidationError("--tls and --http exclude each other") }
        if let idle, !(.seconds(1)...(.seconds(3600))).contains(idle) {
            throw ValidationError("--idle takes a second at least, and an hour at most")
        }
    }

    func run() async throws {
        let destination: HostPort
        do throws(HostPort.Malformed) {
            destination = try HostPort(parsing: self.destination)
        } catch {
            throw ValidationError(error.description)
        }
        let speaksTLS = tls ?? (http != true && (cacert != nil || Self.tlsPorts.contains(destination.port)))
        let target = PathDoctor.Target(
            host: destination.host, port: destination.port,
            tls: speaksTLS
                ? try ClientTLS(host: destination.host, protocols: [], authorities: cacert, isVerified: true)
                : nil,
            speaksHTTP: !speaksTLS && (http ?? Self.httpPorts.contains(destination.port)), idle: idle)
        var configuration = PathMonitor.Configuration()
        // NetworkManager knows most paths' name servers, and answers within milliseconds.
        configuration.waitsForNetworkManager = .milliseconds(500)
        let monitor = PathMonitor(configuration)
        _ = try await currentPath(monitor)
        let progress = Progress()
        let findings: CheckFindings
        do {
            findings = try await PathDoctor(monitor: monitor).check(target) { progress.show($0) }
        } catch let error as PathMonitorError {
            throw MessageError(error.description)
        }
        progress.finish()
        try Diagnostics.tryWrite(
            json ? JSONLine.text(CheckDocument(findings)) : findings.text, to: .output)
        CommandExit(status: findings.verdict.exitStatus).leave()
    }

    /// One line on standard error that tells what is done now, where that is a terminal.
    private struct Progress: Sendable {
        private let isShown = StandardStream.error.isTerminal

        func show(_ step: String) {
            guard isShown else { return }
            let columns = StandardStream.error.terminalSize?.columns ?? 80
            Diagnostics.draw(
                "\r\u{1B}[2K" + TerminalText.truncated("checking " + TerminalText.safe(step), to: columns - 1)
            )
        }

        func finish() { if isShown { Diagnostics.draw("\r\u{1B}[2K") } }
    }
}
