import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("Probes of another path")
struct SharedProbesTests {
    private final class Held: @unchecked Sendable {
        var probes: SharedProbes?
    }

    @Test("are one handshake for all connections to a host that ask at the same time, and answer each")
    func together() async throws {
        let server = try LoopbackListener(.ipv4)
        let remote = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: server.port)
        let answers = Locked(0)
        let held = Held()
        @Sendable func ask(_ times: Int) {
            let probes = held.probes ?? SharedProbes(.shared)
            held.probes = probes
            for _ in 0..<times { probes.start(to: remote, over: 1) { answers.withLock { $0 += 1 } } }
        }
        EventThread.shared.submit { ask(50) }
        try await Program.wait("the answers") { answers.withLock { $0 } == 50 }
        let count = try EventThread.shared.perform { held.probes?.count }
        #expect(count == 1)
        // What was answered is asked anew.
        EventThread.shared.submit { ask(1) }
        try await Program.wait("another answer") { answers.withLock { $0 } == 51 }
        try EventThread.shared.perform { #expect(held.probes?.count == 2) }
    }

    @Test("end on the event thread, whichever thread lets go of them")
    func letGo() async throws {
        let server = try LoopbackListener(.ipv4)
        let remote = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: server.port)
        for _ in 0..<50 {
            let held = Held()
            try EventThread.shared.perform {
                let probes = SharedProbes(.shared)
                probes.start(to: remote, over: 1) {}
                held.probes = probes
            }
            held.probes = nil
        }
        // The event thread has come so far.
        try EventThread.shared.perform {}
    }
}
