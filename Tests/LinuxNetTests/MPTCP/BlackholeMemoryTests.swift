import Foundation
import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The kernel's memory of dropped SYNs", .needs("unshare", "nft"), .needsNamespaces)
struct BlackholeMemoryTests {
    @Test("shows in a connection without an answer, and is no answer without MPTCP", .inNamespace)
    func withheld() async throws {
        let network = try TwoPathNetwork()
        #expect(!StreamSocket.kernelWithholdsMPTCP)
        let rules = """
            table inet box {
                chain output { type filter hook output priority 0; tcp option mptcp exists drop; }
            }
            """
        let result = try await Program.run(["nft", "-f", "-"], input: Data(rules.utf8))
        #expect(result.status == 0, "\(result.errors)")
        // Older kernels wait for the third SYN.
        try? Data("0".utf8).write(
            to: URL(fileURLWithPath: "/proc/sys/net/mptcp/syn_retrans_before_tcp_fallback"))
        #expect(!StreamSocket.kernelWithholdsMPTCP, "there is no answer, and nothing is known yet")

        let socket = try StreamSocket(.ipv4, .mptcp)
        try socket.bind(toInterface: network.wifi)
        #expect(try !socket.connect(to: TwoPathNetwork.server4))
        #expect(TransportSample.isMPTCP(socket.descriptor.number))
        var state = pollfd(fd: socket.descriptor.number, events: Int16(POLLOUT), revents: 0)
        #expect(poll(&state, 1, 20_000) == 1)
        #expect(socket.consumeError() == nil)
        #expect(!TransportSample.isMPTCP(socket.descriptor.number))
        #expect(StreamSocket.kernelWithholdsMPTCP)
    }
}
