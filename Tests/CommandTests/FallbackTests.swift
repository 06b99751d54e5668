import Foundation
import TestSupport
import Testing

@Suite("Where MPTCP is not spoken", .needsNamespaces, .needs("ip", "unshare", "nft"))
struct FallbackTests {
    @Test("mpconnect falls back to plain TCP past a middlebox that drops SYNs with MPTCP, and says so")
    func middlebox() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            server nft add table inet box
            server nft add chain inet box input '{ type filter hook input priority 0; }'
            server nft add rule inet box input tcp option mptcp exists drop
            echo hello | "$bin/mpconnect" --json 203.0.113.1:7000
            wait
            cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        let report = try #require(try Commands.objects(result.errors).last)
        #expect(report["transport"] as? String == "tcp")
        #expect(report["fallback_reason"] as? String == "middlebox")
    }

    @Test("mpconnect says that it fell back after the handshake, past a middlebox that strips data of MPTCP")
    func lateFallback() async throws {
        let result = try await TwoPaths.run(
            """
            \(Commands.listener)
            server nft add table inet box
            for way in input output; do
                server nft add chain inet box $way "{ type filter hook $way priority 0; }"
                server nft add rule inet box $way 'tcp flags & syn == 0 reset tcp option mptcp'
            done
            touch events
            { echo hello; wait_for "the event" grep -q '"event":"fallback".*after_handshake' events; } |
                "$bin/mpconnect" --json 203.0.113.1:7000 2> events
            wait
            cat got
            cat events >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        let objects = try Commands.objects(result.errors)
        let reasons = objects.map { $0["fallback_reason"] as? String ?? "none" }
        #expect(reasons.last == "after_handshake", "\(result.errors)")
        #expect(objects.last?["transport"] as? String == "tcp")
    }

    @Test("mpconnect speaks plain TCP where the kernel has MPTCP switched off, and says so")
    func kernelWithoutMPTCP() async throws {
        let result = try await TwoPaths.run(
            """
            mount -t sysfs sysfs /sys
            echo 0 > /proc/sys/net/mptcp/enabled
            \(Commands.listener)
            echo hello | "$bin/mpconnect" --json 203.0.113.1:7000
            """)
        #expect(result.status == 0, "\(result.errors)")
        let report = try #require(try Commands.objects(result.errors).last)
        #expect(report["transport"] as? String == "tcp")
        #expect(report["fallback_reason"] as? String == "kernel")
        #expect((report["attempts"] as? [[String: Any]])?.map { $0["protocol"] as? String } == ["tcp"])
    }
}
