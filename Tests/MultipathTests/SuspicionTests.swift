import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("What one connection finds out about its path", .needsNamespaces, .needs("unshare"))
struct SuspicionTests {
    /// A client whose paths are `wlan0`, preferred, and `wwan0`; the server's kernel answers on 203.0.113.1, port
    /// 5000, by either.
    private struct Network: ~Copyable {
        private let server: NetworkNamespace
        private let listener: StreamSocket
        private let wifi: InterfaceIndex

        init() throws {
            // Before this thread goes elsewhere: the event thread stays in the namespace it started in.
            try EventThread.shared.perform {}
            let server = try NetworkNamespace.make()
            let client = try NetworkControl()
            try client.addVeth(.init("wlan0"), to: .init("w0"), in: server)
            try client.addVeth(.init("wwan0"), to: .init("w1"), in: server)
            var wifi: InterfaceIndex = 0
            let listener = try server.run { () throws(SystemError) in
                let control = try NetworkControl()
                for (name, address, prefix) in [
                    ("lo", "203.0.113.1", UInt8(32)), ("w0", "192.0.2.1", 24), ("w1", "198.51.100.1", 24),
                ] {
                    let index = try NetworkControl.index(of: name)
                    try control.addAddress(IPAddress(address)!, prefix: prefix, to: index)
                    try control.setLink(name, up: true)
                    if name == "w0" { wifi = index }
                }
                let listener = try StreamSocket(.ipv4, .tcp)
                try listener.listen(on: IPEndpoint(IPAddress("0.0.0.0")!, port: 5000), backlog: 64)
                return listener
            }
            for (name, address, gateway, metric) in [
                ("wlan0", "192.0.2.2", "192.0.2.1", UInt32(600)),
                ("wwan0", "198.51.100.2", "198.51.100.1", 700),
            ] {
                let index = try NetworkControl.index(of: name)
                try client.addAddress(IPAddress(address)!, prefix: 24, to: index)
                try client.setLink(name, up: true)
                try client.addRoute(.init(via: IPAddress(gateway)!, index: index, metric: metric))
            }
            self.server = server
            self.listener = listener
            self.wifi = wifi
        }

        /// The server has no way back over Wi-Fi, or has it again. Nobody is told.
        func silenceWiFi(_ isSilent: Bool) throws {
            let wifi = wifi
            try server.run { () throws(SystemError) in
                let (control, address) = (try NetworkControl(), IPAddress("192.0.2.1")!)
                if isSilent {
                    try control.removeAddress(address, prefix: 24, from: wifi)
                } else {
                    try control.addAddress(address, prefix: 24, to: wifi)
                }
            }
        }
    }

    /// A connection that sends a byte into the silence and waits for the verdict.
    private func sendIntoSilence(_ connection: LeasedSocket) {
        #expect(send(connection.descriptor, "x", 1, 0) == 1)
        connection.watch.dataWasSent()
    }

    private func connect(
        _ connector: Connector, delay: Duration = .milliseconds(250)
    ) async throws -> ConnectedSocket {
        try await connector.connect(to: "203.0.113.1", port: 5000) {
            $0.usesMPTCP = false
            $0.race.attemptDelay = delay
        }
    }

    @Test("has the next connection begin over the other path at once, until the path answers", .inNamespace)
    func next() async throws {
        let network = try Network()
        let monitor = PathMonitor()
        let first = try await LeasedSocket(connect(Connector(monitor: monitor)), policy: PathPolicy())
        #expect(first.report.interface == "wlan0")
        try network.silenceWiFi(true)
        let verdict = OneShot()
        first.watch.observe { event in if event == .viability(false, .noAcknowledgement) { verdict.fire() } }
        sendIntoSilence(first)
        await verdict.wait()

        let second = try await connect(Connector(monitor: monitor)).report
        #expect(second.interface == "wwan0")
        #expect(second.attempts.map(\.interface) == ["wlan0", "wwan0"])
        #expect(second.attempts[0].startedAfter == second.attempts[1].startedAfter)
        #expect(second.duration < .milliseconds(100))

        try network.silenceWiFi(false)
        try await Program.wait("a retransmission that is acknowledged") {
            let path = try await monitor.currentPath()
            return monitor.suspicions.suspects(in: path, at: .now).isEmpty
        }
        let third = try await connect(Connector(monitor: monitor)).report
        #expect(third.attempts.map(\.interface) == ["wlan0"])
        first.close()
    }

    @Test("has a race go on over the other path that waits for this one", .inNamespace)
    func running() async throws {
        let network = try Network()
        let monitor = PathMonitor()
        let first = try await LeasedSocket(connect(Connector(monitor: monitor)), policy: PathPolicy())
        try network.silenceWiFi(true)
        sendIntoSilence(first)
        let second = try await connect(Connector(monitor: monitor), delay: .seconds(2)).report
        #expect(second.interface == "wwan0")
        #expect(second.attempts.map(\.interface) == ["wlan0", "wwan0"])
        #expect(second.attempts[1].startedAfter < .milliseconds(1500))
        first.close()
    }
}
