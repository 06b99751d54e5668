// What a connection does whose path its rules refuse from some moment on: the user marks the network constrained in the
// middle of a download.

import TestSupport
import Testing

extension Labs {
    @Suite("A connection whose path becomes constrained in the middle of a download")
    struct LivePaths {
        /// - Returns: what the probe said, by its first words; lines of one word are joined.
        private func download(
            _ words: String, _ options: [String] = []
        ) throws -> (facts: [Substring: [Substring]], outcome: Outcome) {
            let outcome = try LabCommand.lab(
                [
                    "--wifi", "rtt=20ms,rate=50mbit,queue=40ms", "--cellular",
                    "rtt=40ms,rate=50mbit,queue=40ms",
                ]
                    + options,
                """
                '\(LabCommand.program("mplab"))' set wwan0 expensive no
                '\(LabCommand.program("modeprobe"))' handover download --refuse constrained \
                  --capture wlan0 --ms 4500 \(words) --at 1000 wlan0 constrained
                """)
            try #require(outcome.status == 0, "\(outcome)")
            var facts: [Substring: [Substring]] = [:]
            for line in outcome.lines {
                let end = line.firstIndex(of: " ") ?? line.endIndex
                facts[line[..<end], default: []].append(line[end...].dropFirst())
            }
            return (facts, outcome)
        }

        /// In milliseconds, for a busy machine; the download goes on for three seconds longer.
        private static let longestTail = 1_500

        private func number(_ text: Substring?) -> Int { text.flatMap { Int($0) } ?? .max }

        @Test("leaves it where MPTCP has another one, and not one byte of data follows there")
        func leaves() throws {
            let (facts, outcome) = try download("")
            #expect(facts["transport"] == ["mptcp"] && facts["intact"] == ["true"], "\(outcome)")
            #expect(facts["refused"] == nil, "it has left by itself: \(outcome)")
            #expect(number(facts["data_before"]?.first) > 50, "\(outcome)")
            // 100 ms on a machine with nothing else to do: a round trip and a full queue were on their way.
            #expect(number(facts["last_data"]?.first) <= Self.longestTail, "\(outcome)")
            #expect(
                facts["now"] == [
                    "wlan0 (wifi, constrained by settings)", "wwan0 (cellular)",
                ], "\(outcome)")
            #expect(facts["current"] == ["wwan0 (cellular)"], "\(outcome)")
            #expect(facts["ended"] == ["false"], "\(outcome)")
        }

        @Test("is told so where it is plain TCP, with the path that is allowed")
        func told() throws {
            let (facts, outcome) = try download("--tcp yes")
            #expect(facts["transport"] == ["tcp"] && facts["intact"] == ["true"], "\(outcome)")
            #expect(
                facts["refused"] == ["wlan0 is not allowed any more: constrained; wwan0 is"], "\(outcome)")
            #expect(facts["current"] == ["wlan0 (wifi, constrained by settings)"], "\(outcome)")
            #expect(facts["ended"] == ["false"], "its user decides: \(outcome)")
            // On a machine with nothing else to do it is some milliseconds; the margin is for a busy one.
            #expect(number(facts["told_after"]?.first) <= 1_000, "\(outcome)")
        }

        @Test("is ended where that was asked for, and no byte of data follows")
        func closed() throws {
            let (facts, outcome) = try download("--tcp yes --when-refused close")
            #expect(
                facts["refused"] == ["wlan0 is not allowed any more: constrained; wwan0 is"], "\(outcome)")
            #expect(facts["ended"] == ["true"], "\(outcome)")
            #expect(number(facts["last_data"]?.first) <= Self.longestTail, "\(outcome)")
        }

        @Test("is told why where no other path is there", arguments: ["", "--tcp yes"])
        func nowhere(transport: String) throws {
            let (facts, outcome) = try download("\(transport) --prohibit wwan0")
            #expect(
                facts["refused"] == ["wlan0 is not allowed any more: constrained; no other path is"],
                "\(outcome)")
            #expect(facts["current"] == ["wlan0 (wifi, constrained by settings)"], "\(outcome)")
            #expect(facts["ended"] == ["false"], "\(outcome)")
            guard transport.isEmpty else { return }
            #expect(number(facts["last_data"]?.first) <= Self.longestTail, "MPTCP waits: \(outcome)")
        }

        @Test("and mpconnect says so, and ends with 3 where it is to close")
        func command() throws {
            let outcome = try LabCommand.lab(
                [],
                """
                log=$(mktemp); trap 'rm "$log"' EXIT
                connect() { '\(LabCommand.program("mpconnect"))' "$@" --no-mptcp --prohibit constrained server:7 \
                  < <(echo hello; sleep 30) >/dev/null 2> "$log"; }
                says() { for ((i = 0; i < 1000; i++)); do grep -q "$1" "$log" && return; read -t 0.02 <> <(:); done
                  echo "it did not say: $1"; }
                connect --json --when-refused close & process=$!; says established
                '\(LabCommand.program("mplab"))' set wlan0 constrained
                wait $process; echo "status $?"; grep -o '"event":"path_not_allowed".*' "$log"
                grep -o '"path":{[^}]*}' "$log"
                """)
            #expect(outcome.output.contains("status 3\n"), "\(outcome)")
            #expect(
                outcome.output.contains(#""interface":"wlan0","reason":"constrained""#), "\(outcome)")
            #expect(outcome.output.contains(#""path":{"constrained":true,"#), "\(outcome)")
        }
    }
}
