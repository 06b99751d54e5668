import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the paths in order of preference, and what disqualifies the rest.",
        discussion: """
            ORDER
              A tunnel that takes all traffic comes first. Then paths that are not
              constrained; not expensive; wired, Wi-Fi, cellular, Bluetooth, others;
              with the lower metric.

            EXPENSIVE
              yes and no were said by a source, guessed yes and guessed no are conclusions,
              unknown is neither. The source stands in parentheses. A tunnel inherits
              from the interface that carries it.

            JSON
              One object. Its keys are always there; null is what is not known.
              status, primary, generation, reasons, resumes, name_servers (resolv.conf)
              interfaces, in order, each with
                name, index, type, type_source, metric, supports_ipv4, supports_ipv6,
                expensive, expense (yes, guessed_yes, guessed_no, no, unknown),
                expensive_source, expensive_inherited_from,
                constrained, constrained_source, constrained_inherited_from,
                addresses, address_details (address, prefix_length, temporary, state:
                preferred, deprecated, tentative), gateways, name_servers,
                ssid, carrier, link_speed_mbps, signal_dbm
              excluded, each with name, index, type, reason
            """)

    @Flag(help: "Tell each interface that software made by itself, however many there are.")
    var all = false

    @Flag(help: "Print one JSON object, with everything in it.")
    var json = false

    func run() async throws {
        // Asked once, so it had better know all: NetworkManager answers within milliseconds.
        var configuration = PathMonitor.Configuration()
        configuration.waitsForNetworkManager = .milliseconds(300)
        let path = try await currentPath(PathMonitor(configuration))
        let columns = StandardStream.output.terminalSize?.columns ?? 80
        try Diagnostics.tryWrite(
            json
                ? JSONLine.text(PathDocument(path)) : PathTable.text(path, columns: columns, showsAll: all),
            to: .output)
    }
}
