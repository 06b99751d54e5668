import NetworkLab
import TestSupport
import Testing

extension Labs {
    @Suite("The server's")
    struct Services {
        @Test("source, echo and paced services say what they promise")
        func streams() throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=2ms"],
                """
                ask() { exec 3<>/dev/tcp/server/$1; printf "$2" >&3; cat <&3; exec 3>&-; }
                ask 19 '100000 5\\n' | sha256sum
                exec 3<>/dev/tcp/server/7; echo hello >&3; read -r line <&3; echo "$line"; exec 3>&-
                begun=${EPOCHREALTIME/./}
                ask 20 '1000 50 20\\n' | wc -c
                echo $(( (${EPOCHREALTIME/./} - begun) / 1000 ))
                """)
            try #require(outcome.lines.count == 4, "\(outcome)")
            #expect(outcome.lines[0].hasPrefix(SourceData.digest(count: 100_000, seed: 5)))
            #expect(outcome.lines[1] == "hello")
            #expect(outcome.lines[2] == "20000")
            // 19 pauses of 50 ms.
            #expect((940...5000).contains(Int(outcome.lines[3]) ?? 0))
        }

        @Test("sink answers with count and digest")
        func sink() throws {
            let outcome = try LabCommand.run(
                [LabCommand.program("mplab"), "run", "--", LabCommand.program("mpconnect"), "server:9"],
                input: "abc")
            #expect(
                outcome.output
                    == "3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n", "\(outcome)")
        }

        @Test("web server serves ranges")
        func ranges() throws {
            let outcome = try LabCommand.lab(
                [],
                """
                curl -sS http://server/100000 | sha256sum
                { curl -sS -r 0-39999 http://server/100000; curl -sS -r 40000- http://server/100000; } | sha256sum
                curl -sS http://server/sha256/100000
                curl -sS -o /dev/null -w '%{http_code} ' -r 200000- http://server/100000
                curl -sS -o /dev/null -w '%{http_code} ' -r -10 http://server/100000
                curl -sS -o /dev/null -w '%{http_code}' http://server/nothing/here
                """)
            try #require(outcome.lines.count == 4, "\(outcome)")
            #expect(outcome.lines[0] == outcome.lines[1])
            #expect(outcome.lines[0].hasPrefix(outcome.lines[2]))
            #expect(outcome.lines[3] == "416 206 404")
        }

        @Test("place may be taken by any program")
        func otherServer() throws {
            let outcome = try LabCommand.lab(
                ["--serve", "iperf3 -s -1"], "iperf3 -c server -n 100K -J | grep -c receiver")
            #expect(outcome.status == 0, "\(outcome)")
        }
    }
}
