// The race of connections, on the networks it was made for.

import TestSupport
import Testing

extension Labs {
    @Suite("A race")
    struct Races {
        /// Asks the server for a page with mpconnect, which races; what it reports comes after the page.
        private func race(
            _ options: [String], _ flags: String = "", before: String = "", after: String = ""
        ) throws -> Outcome {
            try LabCommand.lab(
                options,
                """
                mplab() { '\(LabCommand.program("mplab"))' "$@"; }
                ask() { printf 'GET /10 HTTP/1.0\\r\\n\\r\\n' | '\(LabCommand.program("mpconnect"))' --report \(flags) server:80 2>&1; }
                \(before)
                ask | tr -d '\\000-\\011\\013-\\037\\177-\\377'; echo "status ${PIPESTATUS[0]}"
                \(after)
                """)
        }

        @Test("is won by the other path where the default one is a blackhole")
        func blackholedDefault() throws {
            let outcome = try race(["--scenario", "healthy", "--wifi", "blackhole"])
            #expect(outcome.output.contains("over wwan0 by mptcp"), "\(outcome)")
            #expect(outcome.output.contains("status 0"))
        }

        @Test("ends with TCP where the server has no MPTCP")
        func tcpOnlyServer() throws {
            let outcome = try race(["--scenario", "tcp-only-server"])
            #expect(outcome.output.contains("over wlan0 by tcp (fallback: peer"), "\(outcome)")
        }

        @Test("ends with TCP where a middlebox strips the option")
        func strippedOption() throws {
            let outcome = try race(["--scenario", "middlebox-strip"])
            #expect(outcome.output.contains("over wlan0 by tcp (fallback:"), "\(outcome)")
        }

        @Test("ends with TCP where a middlebox drops the option and there is no other path")
        func droppedOption() throws {
            let alone = try race(["--scenario", "middlebox-drop"], "--require wlan0")
            #expect(alone.output.contains("by tcp (fallback: middlebox"), "\(alone)")
            let both = try race(["--scenario", "middlebox-drop"])
            #expect(both.output.contains("status 0"), "\(both)")
        }

        @Test("needs no IPv4")
        func ipv6Alone() throws {
            let outcome = try race(["--scenario", "ipv6-only"])
            #expect(
                outcome.output.contains("connected to [2001:db8:3::10]:80 over wlan0 by mptcp"), "\(outcome)")
        }

        @Test("without a path says at once why")
        func withoutPath() throws {
            let outcome = try race([], before: "mplab set wlan0 down; mplab set wwan0 route off")
            #expect(outcome.output.contains("no path"), "\(outcome)")
            #expect(outcome.output.contains("wlan0: down"))
            #expect(outcome.output.contains("status 3"))
        }

        @Test("uses a path that appears later")
        func laterPath() throws {
            let outcome = try race(
                [],
                before: """
                    mplab set wlan0 down; mplab set wwan0 down; ask; echo "at first $?"
                    (sleep 2; mplab set wwan0 up) &
                    '\(LabCommand.program("mppaths"))' watch | grep -q -m1 'wwan0 cellular\\|wwan0 (cellular\\|satisfied.*wwan0'
                    begun=$SECONDS
                    until ask >/dev/null || ((SECONDS > 10)); do read -t 0.05 <> <(:); done
                    """)
            #expect(outcome.output.contains("at first 3"), "\(outcome)")
            #expect(outcome.output.contains("over wwan0 by mptcp"))
            #expect(outcome.output.contains("status 0"))
        }
    }
}
