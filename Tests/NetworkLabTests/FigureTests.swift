// The figures that are asked for are those that a program sees. The margins are wide: the machine is shared.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A program")
    struct Figures {
        /// A program's median of the round-trip times that ping saw, in milliseconds; a stall of the machine moves an average.
        static func medianRoundTrip(_ output: some StringProtocol) -> Double? {
            let times = output.split(separator: "\n").compactMap { line -> Double? in
                guard let start = line.range(of: " time=") else { return nil }
                return Double(line[start.upperBound...].prefix { $0 != " " })
            }
            return times.isEmpty ? nil : times.sorted()[times.count / 2]
        }

        /// The round-trip times that ping saw, in milliseconds: minimum, average, maximum.
        static func roundTrips(_ output: String) -> [Double] {
            guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("rtt ") }) else {
                return []
            }
            return line.split(separator: "=")[1].split(separator: " ")[0].split(separator: "/").compactMap {
                Double($0)
            }
        }

        @Test("sees the round-trip time")
        func roundTrip() throws {
            // A machine that is busy makes it longer, never shorter.
            for attempt in 1...8 {
                let outcome = try LabCommand.lab(
                    ["--wifi", "rtt=20ms", "--cellular", "rtt=60ms"],
                    "ping -c 20 -i 0.02 server; ping -4 -c 20 -i 0.02 -I wwan0 server")
                let parts = outcome.output.components(separatedBy: "PING")
                try #require(parts.count == 3, "\(outcome)")
                let least = parts.dropFirst().map { Self.roundTrips($0).first ?? 0 }
                let medians = try parts.dropFirst().map { try #require(Self.medianRoundTrip($0)) }
                #expect(least[0] >= 20 && least[1] >= 60, "\(outcome)")
                let isIdle = least[0] <= 21 && least[1] <= 61 && medians[0] < 23 && medians[1] < 63
                if attempt < 8, !isIdle { continue }
                #expect(isIdle, "\(outcome)")
                break
            }
        }

        /// iperf3's server resets a client that comes while it still ends the one before.
        private static let measure = """
            measure() {
                local said
                until said=$(iperf3 -4 -c server "$@" -O 1 -f k) || ((SECONDS > 60)); do :; done
                grep receiver <<< "$said"
            }

            """

        /// In kbit/s, in order.
        private static func receivedRates(_ outcome: Outcome) -> [Double] {
            outcome.lines.compactMap { line in
                let words = line.split(separator: " ")
                return words.firstIndex(of: "Kbits/sec").flatMap { Double(words[$0 - 1]) }
            }
        }

        @Test("sees the rate")
        func rate() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=20ms,rate=30mbit", "--serve", "iperf3 -s"],
                Self.measure + "for _ in 1 2 3; do measure -R -t 3; measure -t 3; done",
                deadline: .seconds(90))
            let rates = Self.receivedRates(outcome)
            try #require(rates.count == 6, "\(outcome)")
            // More never gets through; less does where the machine is busy, and then the best of three tells.
            #expect(rates.allSatisfy { $0 <= 31_800 }, "\(rates)")
            for direction in [0, 1] {
                let best = stride(from: direction, to: 6, by: 2).map { rates[$0] }.max() ?? 0
                #expect(best >= 29_100, "\(rates)")
            }
        }

        @Test("sees the loss within three standard deviations")
        func loss() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "up.loss=5%", "--seed", "7"], "ping -4 -q -i 0.002 -c 10000 server",
                deadline: .seconds(60))
            let words = outcome.output.split(separator: " ")
            let received = try #require(
                words.firstIndex(of: "received,").flatMap { Double(words[$0 - 1]) }, "\(outcome)")
            // 2 ms is the shortest interval ping allows an ordinary user. The square root of 10,000 · 0.05 · 0.95 is 21.8.
            #expect(abs(10_000 - received - 500) < 3 * 21.8)
        }

        @Test("waits behind a full queue")
        func queue() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=10ms,rate=10mbit,queue=200ms", "--serve", "iperf3 -s"],
                "iperf3 -4 -c server -u -b 12M -t 6 >/dev/null & sleep 2; ping -4 -c 10 -i 0.2 server; wait"
            )
            let median = try #require(Self.medianRoundTrip(outcome.output), "\(outcome)")
            let least = try #require(Self.roundTrips(outcome.output).first, "\(outcome)")
            // A machine that is busy makes a single answer later, never earlier, so that the least tells if the queue is too deep.
            #expect(median >= 195 && least <= 220, "10 ms and 200 ms: \(outcome)")
        }

        @Test("sees packets in order under jitter")
        func jitter() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "delay=20ms,jitter=10ms"],
                "ping -4 -c 200 -i 0.002 -W 5 server | sed -n 's/.*icmp_seq=\\([0-9]*\\).*/\\1/p'")
            let numbers = outcome.lines.compactMap { Int($0) }
            #expect((195...200).contains(numbers.count), "\(outcome)")
            #expect(numbers == numbers.sorted())
        }

        @Test("sees packets out of order, and twice, where that is asked for")
        func reordering() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "delay=40ms,reorder=10%,down.duplicate=10%"],
                "ping -4 -c 300 -i 0.002 server | sed -n 's/.*icmp_seq=\\([0-9]*\\).*/\\1/p'")
            let numbers = outcome.lines.compactMap { Int($0) }
            #expect(numbers != numbers.sorted())
            #expect((305...370).contains(numbers.count))
        }

        @Test("gets whole data where packets are corrupted")
        func corruption() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=2ms,rate=50mbit,corrupt=1%"],
                """
                curl -sS http://server/3000000 | sha256sum; curl -sS http://server/sha256/3000000
                awk '/^Tcp:/ {n=$16} END {print n}' /proc/net/snmp
                """)
            try #require(outcome.lines.count == 3, "\(outcome)")
            #expect(outcome.lines[0].hasPrefix(outcome.lines[1]))
            // InCsumErrors of the client's kernel.
            #expect((Int(outcome.lines[2]) ?? 0) > 0)
        }

        @Test("gets full frames, and none larger")
        func frames() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=2ms"],
                "curl -sS -o /dev/null http://server/3000000; ip -s link show wlan0 | awk '/RX:/ {getline; print $1/$2}'"
            )
            // Mostly full frames, and none larger.
            let mean = try #require(outcome.lines.first.flatMap { Double($0) }, "\(outcome)")
            #expect((1200...1514).contains(mean))
        }

        @Test("sees the rate of a recorded link, in each direction")
        func trace() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            // 12.03 and 6.02 Mbit/s of packets, of which 1,448 of each 1,500 bytes are data.
            for (name, step) in [("link.down", 1), ("link.up", 2)] {
                let lines = stride(from: step, through: 1000, by: step).map(String.init)
                try lines.joined(separator: "\n").write(
                    to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=10ms", "--serve", "iperf3 -s"],
                """
                cd '\(folder.path)'; '\(LabCommand.program("mplab"))' set wlan0 rate=trace:link || exit 1
                """ + "\n" + Self.measure + "for _ in 1 2; do measure -R -t 3; measure -t 3; done",
                deadline: .seconds(90))
            let rates = Self.receivedRates(outcome)
            try #require(rates.count == 4, "\(outcome)")
            #expect((11_100...12_200).contains(max(rates[0], rates[2])), "\(rates)")
            #expect((5_500...6_100).contains(max(rates[1], rates[3])), "\(rates)")
        }

        @Test("uses the congestion control that is asked for, or is told that this machine doesn't offer it")
        func congestion() throws {
            let file = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
            let allowed = try String(contentsOfFile: file, encoding: .utf8).split(
                whereSeparator: \.isWhitespace)
            for name in ["reno", "cubic", "bbr"] {
                let outcome = try LabCommand.lab(
                    ["--congestion", "client=\(name)"], "cat /proc/sys/net/ipv4/tcp_congestion_control")
                if allowed.contains(Substring(name)) {
                    #expect(outcome.output == "\(name)\n", "\(outcome)")
                } else {
                    #expect(outcome.status == 1, "\(outcome)")
                    #expect(
                        outcome.errors.contains("congestion client=\(name): this machine does not offer it"))
                }
            }
            // The services' own sockets may use any that the kernel has.
            let available = try String(
                contentsOfFile: "/proc/sys/net/ipv4/tcp_available_congestion_control", encoding: .utf8)
            for name in available.split(whereSeparator: \.isWhitespace)
            where ["reno", "cubic", "bbr"].contains(name) {
                let outcome = try LabCommand.lab(
                    ["--congestion", "server=\(name)"], "curl -sS -m 10 http://server/100000 | wc -c")
                #expect(outcome.output == "100000\n", "\(outcome)")
            }
        }
    }
}
