// Which path mprun gives a connection of a program's, in labs: the one that works, is allowed and preferred.

import Foundation
import TestSupport
import Testing

@Suite("mprun's choice of paths", .lab, .serialized)
struct RunPathTests {
    @Test("has what connects next avoid a Wi-Fi that another connection has found silent")
    func suspect() throws {
        let outcome = try RunLab.run(
            """
            { wait_for "the first half" test -s got; sleep 0.3; $lab set wlan0 blackhole=both; } &
            $run --list -- sh -c 'curl -sS --limit-rate 2M -o got http://server/4000000; curl -sS -o next http://server/3000' 2>&1
            """)
        #expect(outcome.lines.count == 3, "\(outcome)")
        #expect(outcome.lines.first?.contains("over wlan0: mptcp, steers") == true, "\(outcome)")
        #expect(outcome.lines.dropFirst().first?.contains("over wwan0: mptcp, steers") == true, "\(outcome)")
    }

    @Test(
        "finds out that Wi-Fi was silent before the program began, so that its next connection goes by cellular"
    )
    func silentBefore() throws {
        let outcome = try RunLab.run(
            """
            $lab set wlan0 blackhole=both
            $run --list -- sh -c 'for _ in 1 2 3 4; do curl -sS -m 1 -o next http://203.0.113.10/3000; done' 2>&1
            stat -c %s next
            """)
        #expect(outcome.output.contains(" over wwan0: mptcp, steers"), "\(outcome)")
        #expect(outcome.lines.last == "3000", "\(outcome)")
    }

    @Test("uses the interface that is to be first, and in aggregate mode both")
    func preferences() throws {
        let outcome = try RunLab.run(
            """
            $run --list --prefer wwan0 -- curl -sS -o got http://server/300000 2>&1
            $run --prefer wwna0 -- true 2>&1
            $run --json --mode aggregate -- curl -sS -o got http://server/20000000 2>&1 | tail -1 |
                python3 -c 'import json, sys
            paths = json.load(sys.stdin)["sockets"][0]["paths"]
            print(sorted(path["interface"] for path in paths if path["bytes_received"] > 2_000_000))'
            """)
        #expect(outcome.lines.first?.contains(" over wwan0: mptcp, steers") == true, "\(outcome)")
        #expect(
            outcome.lines.suffix(2) == [
                "mprun: warning: --prefer: no interface is named 'wwna0' (did you mean 'wwan0'?)",
                "['wlan0', 'wwan0']",
            ], "\(outcome)")
    }

    @Test("refuses what is prohibited before a packet leaves, and uses what is not")
    func prohibited() throws {
        let outcome = try RunLab.run(
            """
            nft 'add table inet count; add chain inet count sent { type filter hook output priority 0; };
                add counter inet count carried; add rule inet count sent oifname "wwan0" tcp dport 80 counter name carried'
            $run -q --prohibit cellular -- curl -sS -o got http://server/300000; echo "status $? $(stat -c %s got)"
            nft list counter inet count carried | grep -o 'packets [0-9]*'
            $run -q --prohibit wlan0,wwan0 -- curl -s -o got http://server/300000; echo "status $?"
            $run --list --require wwan0 -- curl -sS -o got http://server/300000 2>&1
            $run --prohibit celular -- true; echo "status $?"
            """)
        #expect(
            outcome.lines.prefix(3) == ["status 0 300000", "packets 0", "status 7"],
            "\(outcome)")
        #expect(outcome.output.contains("over wwan0: mptcp, steers each connection's subflows"), "\(outcome)")
        #expect(outcome.lines.last == "status 2", "\(outcome)")
        #expect(outcome.errors.contains("did you mean 'cellular'?"), "\(outcome)")
    }

    @Test("leaves a program in another network namespace as it is, and refuses it where paths are prohibited")
    func otherNetwork() throws {
        let outcome = try RunLab.run(
            """
            cat > there << 'END'
            ip link set lo up; ip address add 203.0.113.10/32 dev lo
            python3 -c '
            import socket
            listener = socket.create_server(("203.0.113.10", 7))
            try:
                connection = socket.create_connection(("203.0.113.10", 7))
                connection.sendall(b"text")
                print(listener.accept()[0].recv(4).decode())
            except OSError as error: print(error.strerror)
            '
            END
            $run --list -- unshare --net sh there 2>&1
            $run -q --prohibit cellular -- unshare --net sh there
            """)
        #expect(
            outcome.lines == [
                "text",
                "mprun: 2 made as TCP: the program is in another network namespace, or not to be looked at",
                "mprun: 2 sockets, 0 of them MPTCP; 0 connects; 1 connect of processes that can't be looked at, or of other "
                    + "network namespaces",
                "Network is unreachable",
            ], "\(outcome)")
    }
}
