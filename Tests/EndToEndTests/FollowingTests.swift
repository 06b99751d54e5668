// What a client does whose TCP connection's path fails: it goes on over the other one.

import Foundation
import NetworkLab
import TestSupport
import Testing

extension Labs {
    @Suite("A connection without MPTCP")
    struct Following {
        /// Downloads from a server that speaks only TCP while a script changes the links.
        private func download(
            _ bytes: Int, _ options: [String] = [], _ script: String
        ) throws -> (outcome: Outcome, pause: Int?) {
            let outcome = try LabCommand.lab(
                options,
                """
                mplab() { '\(LabCommand.program("mplab"))' "$@"; }
                pause() { read -t $1 <> <(:); }
                log=$(mktemp); trap 'rm "$log"' EXIT
                begun() { for _ in $(seq 1000); do if grep -q "from byte 0" "$log"; then return; fi; pause 0.01; done; }
                { begun; \(script); } &
                '\(LabCommand.program("download-probe"))' http://server/\(bytes) 2> "$log" | sha256sum
                wait; cat "$log"
                """)
            let words = outcome.output.split(separator: " ")
            let pause = words.firstIndex(of: "pause").flatMap { Int(words[$0 + 1]) }
            #expect(
                outcome.lines.first?.hasPrefix(SourceData.digest(count: bytes, seed: 1)) == true,
                "\(outcome)")
            return (outcome, pause)
        }

        private let wifiAndCellular = [
            "--tcp-only-server", "--wifi", "rtt=20ms,rate=50mbit", "--cellular", "rtt=60ms,rate=20mbit",
        ]

        @Test(
            "that fails is followed by one over the other path",
            arguments: [
                ("blackhole", "no_answer"), ("down", "down"), ("carrier off", "no_carrier"),
                ("address off", "gone"), ("route off", "route_gone"), ("unplug", "(down|interface_gone)"),
            ])
        func otherPath(fault: String, reason: String) throws {
            let (outcome, pause) = try download(
                8_000_000, wifiAndCellular, "pause 0.7; mplab set wlan0 \(fault)")
            #expect(outcome.output.contains("from byte 0 over wlan0 by tcp (first)"), "\(outcome)")
            #expect(
                outcome.output.range(
                    of: "over wwan0 by tcp \\(path lost: [a-z_]*\(reason)\\)", options: .regularExpression)
                    != nil, "\(outcome)")
            #expect(outcome.output.contains("by 2 connections"))
            // A release build on a quiet machine needs 0.35 s at most; the margin is for a busy one.
            #expect((pause ?? .max) < 2500, "\(outcome)")
        }

        @Test("loses no byte while its user walks out of reach")
        func walkout() throws {
            let (outcome, pause) = try download(
                15_000_000,
                [
                    "--tcp-only-server", "--wifi", "rtt=20ms,rate=30mbit", "--cellular",
                    "rtt=60ms,rate=20mbit",
                ],
                """
                for step in rtt=60ms,rate=20mbit rtt=120ms,loss=3% rtt=200ms,loss=8%,rate=5mbit; do
                  pause 0.7; mplab set wlan0 $step
                done
                pause 0.7; mplab set wlan0 down
                """)
            #expect(outcome.output.contains("over wwan0 by tcp"), "\(outcome)")
            #expect((pause ?? .max) < 3000, "\(outcome)")
        }

        @Test("is replaced when the better path returns")
        func betterPath() throws {
            let (outcome, pause) = try download(
                30_000_000, wifiAndCellular + ["--scenario", "tcp-only-server"],
                "pause 0.5; mplab set wlan0 down; pause 6; mplab set wlan0 up")
            #expect(outcome.output.contains("over wlan0 by tcp (better path: wlan0)"), "\(outcome)")
            #expect(outcome.output.contains("by 3 connections"), "\(outcome)")
            // Waiting for the better path would take six seconds.
            #expect((pause ?? .max) < 5000, "\(outcome)")
        }

        @Test("stays on a path that only gets slow")
        func slowPath() throws {
            // Wi-Fi gets slow and lossy for a while, but it answers.
            let (outcome, _) = try download(
                2_000_000, wifiAndCellular + ["--wifi", "rtt=20ms,rate=2mbit"],
                "pause 1; mplab set wlan0 rtt=250ms,loss=2%; pause 1; mplab set wlan0 rtt=20ms,loss=0%,rate=50mbit"
            )
            #expect(outcome.output.contains("by 1 connections"), "\(outcome)")
        }

        @Test("loses no byte while all paths are gone")
        func noPaths() throws {
            let (outcome, _) = try download(
                8_000_000, wifiAndCellular,
                "pause 0.7; mplab set wlan0 down; mplab set wwan0 down; pause 3; mplab set wwan0 up")
            #expect(outcome.output.contains("over wwan0 by tcp (path lost: down)"), "\(outcome)")
            #expect(outcome.output.contains("8000000 bytes"))
        }

        /// Says what mpconnect tells of its path, each line with the milliseconds since the fault, until it tells that the path
        /// doesn't carry the connection.
        private func told(_ fault: String, _ client: String, atMost seconds: Int = 20) throws -> Outcome {
            try LabCommand.lab(
                wifiAndCellular,
                """
                pause() { read -t $1 <> <(:); }
                log=$(mktemp); trap 'rm "$log"' EXIT
                { \(client); } | timeout 60 '\(LabCommand.program("mpconnect"))' --verbose server:9 \
                  2> >(while read -r line; do echo "${EPOCHREALTIME/./} $line"; done > "$log") > /dev/null &
                connection=$!
                # Waits until it has told something, or for so many twentieths of a second.
                until_told() {
                    for _ in $(seq "$2"); do if grep -q "$1" "$log"; then break; fi; pause 0.05; done
                }
                until_told 'connected to' 600
                pause 1
                '\(LabCommand.program("mplab"))' set wlan0 \(fault); fault=${EPOCHREALTIME/./}
                until_told 'does not carry' \(20 * seconds)
                kill $connection $(jobs -p); wait
                while read -r time line; do echo "$(( (time - fault) / 1000 )) $line"; done < "$log"
                """)
        }

        @Test(
            "tells a sender soon that nothing arrives",
            arguments: ["cat /dev/zero", "while echo x; do read -t 0.05 <> <(:); done"])
        func sender(client: String) throws {
            let outcome = try told("blackhole", client)
            let line = try #require(
                outcome.lines.first { $0.contains("does not carry the connection") }, "\(outcome)")
            #expect(line.hasSuffix("no acknowledgement"))
            // Without the watch nothing would be told for minutes.
            #expect((100...10_000).contains(Int(line.prefix { $0 != " " }) ?? 0), "\(outcome)")
        }

        @Test(
            "tells at once that its path is gone while it is idle",
            arguments: ["down", "carrier off", "address off"])
        func idle(fault: String) throws {
            let outcome = try told(fault, "pause 30")
            let line = try #require(
                outcome.lines.first { $0.contains("does not carry the connection") }, "\(outcome)")
            // Nothing is sent, so that nothing else would tell.
            #expect((-5000...5000).contains(Int(line.prefix { $0 != " " }) ?? 10_000), "\(outcome)")
        }

        @Test("takes no lossy path for a dead one")
        func lossy() throws {
            // With 5 % in both directions one run in some forty loses a segment, its repetition and both of the timer's:
            // then nothing comes for a second, and saying so is right.
            let outcome = try told("loss=2%,jitter=5ms", "cat /dev/zero", atMost: 3)
            #expect(!outcome.output.contains("does not carry"), "\(outcome)")
        }
    }
}
