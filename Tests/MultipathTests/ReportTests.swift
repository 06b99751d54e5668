import Foundation
import Testing

@testable import Multipath
@testable import PathCore

@Suite("A report")
struct ReportTests {
    private static let endpoint = IPEndpoint(IPAddress(ipv4: 0xCB00_7101), port: 443)

    private static func attempt(
        _ path: PathID, _ transport: TransportProtocol = .mptcp, start: Duration, duration: Duration,
        connected: Duration? = nil, _ outcome: AttemptReport.Outcome
    ) -> AttemptReport {
        let index: InterfaceIndex = path == "wlan0" ? 1 : 2
        let zero = MonotonicTime.zero
        var attempt = RaceMachine.Attempt(
            candidate: Candidate(
                path: path, interface: index, endpoint: endpoint, transport: transport),
            started: zero.advanced(by: start), outcome: .pending)
        attempt.connected = connected.map { attempt.started.advanced(by: $0) }
        attempt.ended = attempt.started.advanced(by: duration)
        attempt.outcome =
            switch outcome {
            case .won: .won
            case .cancelled: .cancelled
            case .failed(let reason): .failed(reason)
            }
        return AttemptReport(attempt, begun: zero, now: zero)
    }

    private static func establishment(
        _ attempts: [AttemptReport], transport: Transport = .mptcp
    ) -> EstablishmentReport {
        EstablishmentReport(
            host: "media.example", port: 443, transport: transport, control: .perConnection, mode: .handover,
            path: attempts.last?.path ?? "",
            local: IPEndpoint(IPAddress(ipv6: 0x2001_0DB8 << 32, 2), port: 50_000), remote: endpoint,
            resolution: .nanoseconds(151_001),
            addresses: [endpoint.address, IPAddress(ipv6: 0x2001_0DB8 << 32, 1)],
            duration: .microseconds(271_500), handshakeRTT: .microseconds(19_750), attempts: attempts,
            omissions: [
                PathOmission(interface: "wwan1", reason: "expensive", refusal: .expensive),
                PathOmission(interface: "eth0", reason: "down"),
            ])
    }

    private static let silentFirst = establishment([
        attempt("wlan0", start: .microseconds(200), duration: .microseconds(271_300), .cancelled),
        attempt(
            "wwan0", start: .milliseconds(250), duration: .microseconds(21_500),
            connected: .microseconds(21_500), .won),
    ])

    private static let transfer = TransferReport(
        transport: .tcp(fallback: .middlebox), control: .observeOnly(because: .plainTCP),
        duration: .nanoseconds(1_234_567_891),
        paths: [
            TransferReport.PathTransfer(
                path: "wlan0", subflows: 1, bytesSent: 1_024, bytesReceived: UInt64(Int64.max),
                bytesRetransmitted: 0, smoothedRTT: .milliseconds(20), minimumRTT: .microseconds(19_500),
                timeActive: .milliseconds(901)),
            TransferReport.PathTransfer(
                path: "wwan0", subflows: 2, bytesSent: 1, bytesReceived: 0, bytesRetransmitted: 7,
                smoothedRTT: .microseconds(41)),
        ],
        moveCount: 70,
        moves: [
            .init(after: .seconds(1), from: "wlan0", to: "wwan0", reason: .trouble(.noAcknowledgement)),
            .init(after: .seconds(2), from: "wwan0", to: "wlan0", reason: .preferred),
            .init(
                after: .seconds(3), from: "wlan0", to: "wwan0",
                reason: .latency(.milliseconds(41), insteadOf: .microseconds(500_250))),
            .init(after: .seconds(4), from: "wwan0", to: "wlan0", reason: .refused(.constrained)),
            .init(
                after: .seconds(5), from: "wlan0", to: "wwan0",
                reason: .ended(SubflowEnd(error: 104, reset: .lackOfResources, isTransient: true))),
            .init(after: .seconds(6), from: "wwan0", to: "wlan0", reason: .stuck),
        ])

    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func decoded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test("of a connection is JSON with addresses and reasons as words and durations in milliseconds")
    func establishmentJSON() throws {
        let expected = """
            {"addresses":["203.0.113.1","2001:db8::1"],"attempts":[\
            {"address":"203.0.113.1","connected_ms":null,"duration_ms":271.3,"error":null,"interface":"wlan0",\
            "outcome":"cancelled","port":443,"protocol":"mptcp","start_ms":0.2},\
            {"address":"203.0.113.1","connected_ms":21.5,"duration_ms":21.5,"error":null,"interface":"wwan0",\
            "outcome":"won","port":443,"protocol":"mptcp","start_ms":250}],\
            "control":"per_connection","control_limit":null,"control_reason":null,\
            "establishment_ms":271.5,"fallback_reason":null,"handshake_rtt_ms":19.75,"host":"media.example",\
            "interface":"wwan0","local":"[2001:db8::2]:50000","mode":"handover","omissions":[\
            {"interface":"wwan1","reason":"expensive","refusal":"expensive"},\
            {"interface":"eth0","reason":"down"}],"port":443,"remote":"203.0.113.1:443",\
            "resolution_ms":0.151001,"transport":"mptcp","win_reason":"first_choice_silent"}
            """
        #expect(try json(Self.silentFirst) == expected)
    }

    @Test("of a transfer is JSON with each path's part and the totals")
    func transferJSON() throws {
        let expected = """
            {"better_on_new_connection":false,"bytes_received":9223372036854775807,"bytes_sent":1025,\
            "control":"observe_only",\
            "control_limit":"plain_tcp","control_reason":"plain TCP has one path, and keeps it",\
            "duration_ms":1234.567891,"fallback_reason":"middlebox","move_count":70,"moves":[\
            {"after_ms":1000,"from":"wlan0","reason":{"kind":"trouble","trouble":"no_acknowledgement"},\
            "text":"no acknowledgement","to":"wwan0"},\
            {"after_ms":3000,"from":"wlan0","reason":{"instead_of_ms":500.25,"kind":"latency",\
            "latency_ms":41},"text":"41 ms instead of 500 ms","to":"wwan0"}],"paths":[\
            {"active_ms":901,"bytes_received":9223372036854775807,"bytes_retransmitted":0,"bytes_sent":1024,\
            "interface":"wlan0","min_rtt_ms":19.5,"rtt_ms":20,"subflows":1},\
            {"active_ms":0,"bytes_received":0,"bytes_retransmitted":7,"bytes_sent":1,"interface":"wwan0",\
            "min_rtt_ms":null,"rtt_ms":0.041,"subflows":2}],"transport":"tcp"}
            """
        var transfer = Self.transfer
        transfer.moves = [Self.transfer.moves[0], Self.transfer.moves[2]]
        #expect(try json(transfer) == expected)
    }

    @Test("comes back from JSON as it was")
    func roundTrip() throws {
        let reports = [
            Self.silentFirst, Self.establishment([], transport: .tcp(fallback: .blackholeMemory)),
            Self.establishment([
                Self.attempt("wlan0", .tcp, start: .zero, duration: .zero, .failed("Connection refused")),
                Self.attempt("wwan0", start: .seconds(864_000), duration: .nanoseconds(1), .won),
            ]),
        ]
        for var report in reports {
            report.marking = TrafficMarking(.background, unmarkedFamily: .ipv6)
            #expect(try decoded(report) == report)
            report.marking = nil
            #expect(try decoded(report) == report)
            (report.local, report.handshakeRTT) = (nil, nil)
            #expect(try decoded(report) == report)
        }
        var transfer = Self.transfer
        #expect(try decoded(transfer) == transfer)
        transfer.marking = TrafficMarking(.networkControl)
        transfer.paths[0].unmarkedSubflows = 1
        #expect(try decoded(transfer) == transfer)
        let error = ConnectionError(
            .timedOut, host: "media.example", port: 443, reason: "no answer", duration: .seconds(10),
            attempts: Self.silentFirst.attempts, omissions: Self.silentFirst.omissions)
        #expect(try decoded(error) == error)
    }

    @Test("keeps every nanosecond of three weeks")
    func nanoseconds() throws {
        var generator = SystemRandomNumberGenerator()
        var report = Self.transfer
        for _ in 0..<2_000 {
            report.duration = .nanoseconds(
                Int64.random(in: 0..<(21 * 86_400 * 1_000_000_000), using: &generator))
            #expect(try decoded(report) == report)
        }
    }

    @Test(
        "of an error keeps a code that only a later version knows, and refuses what is no report",
        arguments: [
            ("\"transport\":\"tcp\"", "\"transport\":\"sctp\""), ("\"middlebox\"", "\"gremlins\""),
            ("\"middlebox\"", "null"), ("\"observe_only\"", "\"hypnosis\""), ("1234.567891", "1e300"),
        ])
    func malformed(_ right: String, _ wrong: String) throws {
        let text = try json(Self.transfer)
        #expect(text.contains(right))
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(
                TransferReport.self, from: Data(text.replacingOccurrences(of: right, with: wrong).utf8))
        }
        let error = ConnectionError(.paths, host: "", port: 1, reason: "")
        let later = try json(error).replacingOccurrences(of: "\"paths\"", with: "\"bad_weather\"")
        #expect(
            try JSONDecoder().decode(ConnectionError.self, from: Data(later.utf8)).code.name == "bad_weather")
    }

    @Test("of a connection says in text what won, and why")
    func establishmentText() {
        let text = Self.silentFirst.text
        let expected = """
            connected to 203.0.113.1:443 over wwan0 by mptcp in 272 ms
              resolution  0.15 ms: 203.0.113.1, 2001:db8::1
              attempt     wlan0 mptcp 203.0.113.1:443 at 0 ms for 271 ms: no answer yet when the race ended
              attempt     wwan0 mptcp 203.0.113.1:443 at 250 ms for 22 ms: won
              winner      wwan0 mptcp 203.0.113.1:443: the first choice, wlan0 mptcp 203.0.113.1:443, had not \
            answered after 271 ms
              left out    wwan1: expensive
              left out    eth0: down
              transport   mptcp
              control     steers each connection's subflows
            """
        #expect(text == expected)
        #expect("\(Self.silentFirst)" == text.split(separator: "\n").first ?? "")
    }

    @Test(
        "knows why the winner won",
        arguments: [
            (
                [(PathID("wlan0"), AttemptReport.Outcome.won, false)], WinReason.firstChoice,
                "the first choice, and nothing else was tried"
            ),
            (
                [("wlan0", .won, true), ("wwan0", .cancelled, false)], .firstChoice,
                "the first choice, ready before 1 other"
            ),
            (
                [("wlan0", .failed("Network is unreachable"), false), ("wwan0", .won, true)],
                .firstChoiceFailed,
                "the first choice, wlan0 mptcp 203.0.113.1:443, failed: Network is unreachable"
            ),
            (
                [("wlan0", .cancelled, true), ("wwan0", .won, true)], .firstChoiceUnconfirmed,
                "the first choice, wlan0 mptcp 203.0.113.1:443, was not confirmed after 5.00 ms"
            ),
        ])
    func winner(_ attempts: [(PathID, AttemptReport.Outcome, Bool)], _ reason: WinReason, _ words: String) {
        let report = Self.establishment(
            attempts.map { path, outcome, isConnected in
                Self.attempt(
                    path, start: .zero, duration: .milliseconds(5),
                    connected: isConnected ? .milliseconds(1) : nil, outcome)
            })
        #expect(report.winReason == reason)
        #expect(report.text.contains(": \(words)\n"), "\(report.text)")
    }

    @Test("of a transfer says in text what each path carried")
    func transferText() {
        let expected = """
              transport   tcp (fallback: middlebox, which seems to drop SYNs with MPTCP)
              control     only observes: plain TCP has one path, and keeps it
              path        wlan0: 1024 bytes sent, 9223372036854775807 received, RTT 20 ms
              path        wwan0: 1 bytes sent, 0 received, 7 sent again, RTT 0.04 ms
              move        at 1000 ms from wlan0 to wwan0: no acknowledgement
              move        at 2000 ms from wwan0 to wlan0: the preferred path works
              move        at 3000 ms from wlan0 to wwan0: 41 ms instead of 500 ms
              move        at 4000 ms from wwan0 to wlan0: not allowed any more: constrained
              move        at 5000 ms from wlan0 to wwan0: its subflow ended for lack of resources
              move        at 6000 ms from wwan0 to wlan0: its subflow is stuck
              duration    1235 ms
            """
        #expect(Self.transfer.text == expected)
    }
}
