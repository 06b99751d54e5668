import Foundation
import Multipath
import TestSupport

@testable import MultipathDNS

/// A real name server on loopback, with nothing above it.
final class NameServer {
    let port: UInt16
    private let process: Running

    /// How many questions about a name came.
    func questions(about name: String) -> Int {
        process.errorText.split(separator: "\n").count { $0.contains("query[") && $0.contains(" \(name) ") }
    }

    func kill() { process.kill() }

    init(_ records: [String]) async throws {
        let port = UInt16.random(in: 20_000..<30_000)
        self.port = port
        process = try Running(
            [
                "dnsmasq", "--keep-in-foreground", "--port=\(port)", "--listen-address=127.0.0.1",
                "--bind-interfaces", "--no-resolv", "--no-hosts", "--pid-file=", "--conf-file=/dev/null",
                "--user=\(NSUserName())", "--local=/example/", "--log-facility=-",
                "--log-queries",
            ] + records)
        let probe = InterfaceResolver(servers: [], timeout: .milliseconds(200), port: port)
        let path = PathInterface(
            index: 1, name: "lo", type: Verdict(.loopback, .kernel), nameServers: [IPAddress("127.0.0.1")!])
        try await Program.wait("dnsmasq to answer") {
            do throws(ResolutionError) {
                _ = try await probe.addresses(of: "probe.example", family: .ipv4, over: path)
                return true
            } catch {
                return error.description == "Domain name not found"
            }
        }
    }
}
