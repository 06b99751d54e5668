import Foundation
import TestSupport
import Testing

@testable import CommandSupport
@testable import Multipath

@Suite("A transfer's progress")
struct ProgressTests {
    private func report(_ paths: (name: String, sent: UInt64, received: UInt64)...) -> TransferReport {
        TransferReport(
            transport: .mptcp, control: .observeOnly(because: .plainTCP), duration: .seconds(1),
            paths: paths.map {
                TransferReport.PathTransfer(
                    path: PathID($0.name), subflows: 1, bytesSent: $0.sent, bytesReceived: $0.received,
                    bytesRetransmitted: 0, smoothedRTT: .zero)
            })
    }

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime.zero.advanced(by: .nanoseconds(Int64(seconds * 1e9)))
    }

    @Test("shows bytes, the rate of the last seconds, and the path that carries them")
    func line() {
        var meter = ProgressMeter()
        let lines = [
            (0.0, report(("wlan0", 0, 0))), (0.5, report(("wlan0", 100, 1_000_000))),
            (1.0, report(("wlan0", 100, 2_000_000), ("wwan0", 0, 0))),
            (2.0, report(("wlan0", 100, 2_000_000), ("wwan0", 0, 3_000_000))),
            (3.0, report(("wlan0", 100, 2_000_000), ("wwan0", 0, 3_000_000))),
            (9.0, report(("wlan0", 100, 2_000_000), ("wwan0", 0, 3_000_000))),
        ].map { meter.line($0.1, at: at($0.0), width: 200) }
        #expect(
            lines == [
                "nothing carried yet",
                "1.0 MB received, 100 B sent, 2.0 MB/s over wlan0",
                "2.0 MB received, 100 B sent, 2.0 MB/s over wlan0 (wlan0 2.0 MB, wwan0 0 B)",
                "5.0 MB received, 100 B sent, 2.5 MB/s over wwan0 (wlan0 2.0 MB, wwan0 3.0 MB)",
                "5.0 MB received, 100 B sent, 1.7 MB/s over wwan0 (wlan0 2.0 MB, wwan0 3.0 MB)",
                "5.0 MB received, 100 B sent, 0 B/s over wwan0 (wlan0 2.0 MB, wwan0 3.0 MB)",
            ])
    }

    @Test("is cut to the terminal's width")
    func width() {
        var meter = ProgressMeter()
        #expect(meter.line(report(("wlan0", 0, 5)), at: at(0), width: 10) == "5 B receiv")
        #expect(meter.line(report(("wlan0", 0, 5)), at: at(1), width: -1) == "")
    }

    @Test("writes sizes in three digits, in powers of 1000")
    func sizes() {
        let sizes: [UInt64] = [0, 999, 1000, 1234, 99_949, 99_951, 999_499, 999_500, 52_100_000, .max]
        #expect(
            sizes.map(ProgressMeter.size) == [
                "0 B", "999 B", "1.0 kB", "1.2 kB", "99.9 kB", "100 kB", "999 kB", "1.0 MB", "52.1 MB",
                "18.4 EB",
            ])
    }

    /// Runs a transfer of a few seconds with standard error on a terminal, and standard output elsewhere.
    private func transfer(_ arguments: String, terminal: String = "xterm") async throws -> String {
        let result = try await TwoPaths.run(
            """
            server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(
                for _ in $(seq 30); do head -c 100000 /dev/zero; sleep 0.1; done) > /dev/null 2> listener &
            wait_for "the listener" grep listening listener
            export TERM=\(terminal)
            script -qec '"$bin/mpconnect" \(arguments) 203.0.113.1:7000 > got < /dev/null' seen > /dev/null < /dev/null
            stat -c %s got
            cat seen >&2
            """)
        #expect(result.outputText == "3000000\n", "\(result.errors)")
        return result.errors.split(separator: "\n").filter { !$0.hasPrefix("Script ") }.joined(
            separator: "\n")
    }

    @Test(
        "is drawn on a terminal once a transfer takes long, and taken away at its end",
        .needsNamespaces, .needs("script", "ip"))
    func terminal() async throws {
        let seen = try await transfer("")
        #expect(seen.contains("received, "), "\(seen.debugDescription)")
        #expect(seen.contains("/s over wlan0"))
        let drawn = seen.components(separatedBy: "\r\u{1B}[K")
        #expect(drawn.count > 2)
        #expect(drawn.last?.trimmingCharacters(in: .whitespacesAndNewlines) == "", "\(seen.debugDescription)")
    }

    @Test(
        "is not drawn where it is not wanted or would be in the way",
        .needsNamespaces, .needs("script", "ip"),
        arguments: [("-s", "xterm"), ("--no-progress", "xterm"), ("--json", "xterm"), ("", "dumb")])
    func nothing(_ arguments: String, _ terminal: String) async throws {
        let seen = try await transfer(arguments, terminal: terminal)
        #expect(!seen.contains("received, "), "\(seen.debugDescription)")
        #expect(!seen.contains("\u{1B}"))
    }
}
