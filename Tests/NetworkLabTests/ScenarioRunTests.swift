// What each built-in scenario promises, seen from outside: by ping, curl, sockets and the kernel's tables.

import Foundation
import NetworkLab
import TestSupport
import Testing

extension Labs {
    @Suite("The scenario")
    struct Scenarios {
        /// Runs a script in a scenario's client host.
        private func run(
            _ scenario: String, _ script: String, deadline: Duration = .seconds(60)
        ) throws -> Outcome {
            try LabCommand.lab(["--scenario", scenario], script, deadline: deadline)
        }

        /// Prints `ok` or `no` for each second's ping over an interface.
        private static let pings = """
            pings() { for ((i = 0; i < $2; i++)); do
              begun=${EPOCHREALTIME/./}
              ping -4 -q -c 1 -W 0.9 -I $1 server >/dev/null 2>&1 && echo ok || echo no
              left=$(( 1000000 - (${EPOCHREALTIME/./} - begun) ))
              ((left > 0)) && read -t $(printf '0.%06d' $left) <> <(:)
            done; }

            """

        @Test("healthy has two good paths")
        func healthy() throws {
            let outcome = try run(
                "healthy",
                "ip route show default; ping -4 -q -c 20 -i 0.05 server; ping -4 -q -c 20 -i 0.05 -I wwan0 server"
            )
            #expect(outcome.lines[0].contains("dev wlan0") && outcome.lines[0].contains("metric 600"))
            #expect(outcome.lines[1].contains("dev wwan0") && outcome.lines[1].contains("metric 700"))
            let wifi = Figures.roundTrips(outcome.output.components(separatedBy: "PING")[1])
            let cellular = Figures.roundTrips(outcome.output)
            try #require(wifi.count == 4 && cellular.count == 4, "\(outcome)")
            #expect((20...25).contains(wifi[0]))
            #expect((60...65).contains(cellular[0]))
        }

        @Test("wifi-blackhole is silent")
        func wifiBlackhole() throws {
            let outcome = try run(
                "wifi-blackhole",
                Self.pings + """
                    pings wlan0 2; read -t 2.5 <> <(:); pings wlan0 2
                    ip -o link show wlan0 | grep -o LOWER_UP; ip route show default | grep -c wlan0
                    ping -4 -q -c 1 -W 1 -I wwan0 server >/dev/null && echo cellular
                    """)
            #expect(outcome.output == "ok\nok\nno\nno\nLOWER_UP\n1\ncellular\n", "\(outcome)")
        }

        @Test("wifi-walkout gets worse, then goes")
        func wifiWalkout() throws {
            let outcome = try run(
                "wifi-walkout",
                """
                rtt() { ping -4 -q -c 8 -i 0.1 -W 2 -I wlan0 server | sed -n 's|^rtt[^=]*= \\([0-9]*\\).*|\\1|p'; }
                rtt; read -t 6 <> <(:); rtt
                while [ -n "$(ip route show default dev wlan0)" ] && ((SECONDS < 20)); do read -t 0.1 <> <(:); done
                echo $SECONDS; ip route show default
                """)
            try #require(outcome.lines.count == 4, "\(outcome)")
            let (early, late) = (Int(outcome.lines[0]) ?? 0, Int(outcome.lines[1]) ?? 0)
            // On a busy machine Wi-Fi has begun to get worse by then.
            #expect((20...60).contains(early))
            #expect((100...320).contains(late))
            #expect((11...13).contains(Int(outcome.lines[2]) ?? 0))
            #expect(outcome.lines[3].contains("dev wwan0"))
        }

        @Test("wifi-flapping loses its carrier again and again")
        func wifiFlapping() throws {
            let outcome = try run(
                "wifi-flapping",
                """
                until ((SECONDS >= 10)); do
                  ip -o link show wlan0 | grep -q LOWER_UP && echo up || echo down
                  read -t 0.08 <> <(:)
                done | uniq
                """)
            let changes = outcome.lines.filter { $0 == "down" }.count
            #expect((2...3).contains(changes), "\(outcome)")
            #expect(outcome.lines.first == "up")
        }

        @Test("bufferbloat makes a transfer slow everything else")
        func bufferbloat() throws {
            let outcome = try run(
                "bufferbloat",
                """
                ping -4 -q -c 4 -i 0.2 server
                curl -s -o /dev/null http://203.0.113.10/60000000 &
                for _ in $(seq 80); do
                  ping -4 -q -c 1 -W 3 server | awk -F/ '/^rtt/ { deep = $5 >= 400 } END { exit !deep }' && break
                  read -t 0.1 <> <(:)
                done
                ping -4 -q -c 5 -i 0.2 -W 3 server; kill %1
                """)
            let idle = Figures.roundTrips(outcome.output.components(separatedBy: "PING")[1])
            let loaded = Figures.roundTrips(outcome.output)
            try #require(idle.count == 4 && loaded.count == 4, "\(outcome)")
            #expect(idle[0] < 25, "\(outcome)")
            #expect((300...1100).contains(loaded[1]), "the queue is up to a second long")
        }

        @Test("one-way-loss loses one way only")
        func oneWayLoss() throws {
            let outcome = try run(
                "one-way-loss",
                """
                ping -4 -q -c 500 -i 0.004 -W 1 server | grep -o '[0-9]* received'
                curl -sS -o /dev/null http://203.0.113.10/2000000
                awk '/^Tcp:/ {n=$13} END {print n}' /proc/net/snmp
                ip -s link show wlan0 | awk '/RX:/ {getline; print $2}'
                """)
            let received = outcome.lines.first.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            // 20 % of 500, and four standard deviations of 9.
            #expect((364...436).contains(received), "\(outcome)")
            // A download arrives almost without loss: its packets are counted, and there are few too many.
            let packets = outcome.lines.last.flatMap { Int($0) } ?? 0
            #expect((1700...2300).contains(packets), "\(outcome)")
        }

        @Test("elevator leaves no path for twenty seconds")
        func elevator() throws {
            let outcome = try run(
                "elevator",
                Self.pings + """
                    pings wlan0 2; read -t 2 <> <(:)
                    (pings wlan0 3) & (pings wwan0 3) & wait
                    while ! ping -4 -q -c 1 -W 0.2 server >/dev/null && ((SECONDS < 40)); do :; done
                    echo $SECONDS
                    ping -4 -q -c 2 -i 0.1 -W 1 -I wwan0 server >/dev/null && echo cellular
                    """, deadline: .seconds(80))
            #expect(outcome.lines.prefix(8).joined(separator: " ") == "ok ok no no no no no no", "\(outcome)")
            try #require(outcome.lines.count == 10)
            #expect((22...25).contains(Int(outcome.lines[8]) ?? 0))
            #expect(outcome.lines[9] == "cellular")
        }

        @Test("train changes both paths all the time")
        func train() throws {
            let outcome = try run(
                "train",
                """
                for link in wlan0 wwan0; do
                  ping -4 -c 90 -i 0.1 -W 1 -I $link server | sed -n "s/.*time=\\([0-9]*\\).*/$link \\1/p" > /dev/stdout &
                done; wait
                """)
            for (link, low, high) in [("wlan0", 60, 120), ("wwan0", 90, 250)] {
                let times = outcome.lines.filter { $0.hasPrefix(link) }.compactMap { Int($0.dropFirst(6)) }
                #expect(times.count > 40, "\(link)")
                #expect((times.min() ?? 0) < low, "\(link)")
                #expect((times.max() ?? 0) > high, "\(link)")
            }
        }

        /// Opens an MPTCP connection and asks the kernel whether it stayed one.
        private static let mptcp = """
            mptcp() { '\(LabCommand.program("mpconnect"))' --json --report --require $1 server:80 \
              < <(printf 'GET /1000 HTTP/1.0\\r\\n\\r\\n') 2>&1 >/dev/null | grep -o '"transport":{[^}]*}\\|"transport":"[^"]*"' | tail -1; }

            """

        @Test("middlebox-strip strips the option on Wi-Fi alone")
        func middleboxStrip() throws {
            let outcome = try run(
                "middlebox-strip",
                Self.mptcp + """
                    mptcp wlan0; mptcp wwan0
                    nstat -asz MPTcpExtMPCapableFallbackSYNACK MPTcpExtMPCapableSYNACKRX | awk '/MPTcp/ {print $1, $2}'
                    """)
            #expect(outcome.lines.contains("MPTcpExtMPCapableSYNACKRX 1"), "cellular's stayed: \(outcome)")
            #expect(outcome.status == 0, "\(outcome)")
        }

        @Test("middlebox-drop lets only TCP pass")
        func middleboxDrop() throws {
            let outcome = try run(
                "middlebox-drop",
                """
                curl -4 -sS -m 5 -o /dev/null -w '%{http_code}\\n' http://server/1000
                begun=${EPOCHREALTIME/./}
                '\(LabCommand.program("mpconnect"))' --require wlan0 --connect-timeout 20s server:80 \
                  < <(printf 'GET /1000 HTTP/1.0\\r\\n\\r\\n') | head -1
                nstat -asz MPTcpExtMPCapableSYNTX MPTcpExtMPCapableSYNACKRX TcpRetransSegs | awk '!/#/ {print $1, $2}'
                """)
            #expect(outcome.lines.first == "200", "\(outcome)")
            #expect(outcome.lines.contains("MPTcpExtMPCapableSYNACKRX 0"), "\(outcome)")
        }

        @Test("tcp-only-server answers without MPTCP")
        func tcpOnlyServer() throws {
            let outcome = try run(
                "tcp-only-server",
                """
                '\(LabCommand.program("mpconnect"))' server:80 < <(printf 'GET /1000 HTTP/1.0\\r\\n\\r\\n') | head -1
                nstat -asz MPTcpExtMPCapableSYNTX MPTcpExtMPCapableSYNACKRX | awk '!/#/ {print $1, $2}'
                """)
            #expect(outcome.lines.first?.hasPrefix("HTTP/1.1 200") == true, "\(outcome)")
            #expect(outcome.lines.contains("MPTcpExtMPCapableSYNACKRX 0"), "\(outcome)")
            #expect(!outcome.lines.contains("MPTcpExtMPCapableSYNTX 0"), "\(outcome)")
        }

        @Test("metered-hotspot is told to the classifier")
        func meteredHotspot() throws {
            let outcome = try run("metered-hotspot", "'\(LabCommand.program("mppaths"))'")
            let text = outcome.output
            #expect(text.contains("wlan0  wifi"), "\(outcome)")
            #expect(text.contains("wwan0  cellular"))
            #expect(text.contains("constrained  yes"))
            #expect(!text.contains("expensive    no"))
        }

        @Test("ipv6-only has no IPv4")
        func ipv6Only() throws {
            let outcome = try run(
                "ipv6-only",
                """
                ip -4 -o addr show scope global | wc -l; ip -4 route | wc -l
                ping -q -c 1 -W 2 server >/dev/null && echo reached
                curl -4 -s -m 2 http://server/10 >/dev/null || echo none
                """)
            #expect(outcome.output == "0\n0\nreached\nnone\n", "\(outcome)")
        }

        @Test("nat-timeout forgets what was idle")
        func natTimeout() throws {
            let outcome = try run(
                "nat-timeout",
                """
                exec 3<>/dev/tcp/203.0.113.10/7
                say() { echo $1 >&3; read -r -t 2 line <&3 && echo "$line" || echo silence; }
                say one; read -t 3 <> <(:); say two; read -t 7 <> <(:); say three
                ping -4 -q -c 1 -W 2 server >/dev/null && echo alive
                """)
            #expect(outcome.output == "one\ntwo\nsilence\nalive\n", "\(outcome)")
        }
    }
}
