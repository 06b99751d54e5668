// What a server may ask of a client, and what not. Its kernel announces whatever address it is told to.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A server that says where to connect")
    struct HostilePeer {
        /// Downloads over Wi-Fi while cellular, which costs nothing, would be joined, from a server that is prepared first.
        /// The request goes out with the handshake's last packet.
        private func download(from preparation: String) throws -> (events: String, joins: Int) {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let mpconnect = LabCommand.program("mpconnect")
            let outcome = try LabCommand.lab(
                [
                    "--wifi", "rtt=20ms,rate=40mbit", "--cellular", "rtt=40ms,rate=40mbit", "--families",
                    "ipv4",
                    "--serve",
                    """
                    cd '\(folder.path)'; head -c 8000000 /dev/zero > data
                    { \(preparation); } && exec '\(mpconnect)' --listen -v :7000 < data > got 2> server
                    """,
                ],
                """
                cd '\(folder.path)'
                for _ in $(seq 1000); do grep -qs listening server && break; read -t 0.01 <> <(:); done
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
                { echo hello; for _ in $(seq 1000); do [ "$(stat -c %s out)" -ge 8000000 ] && break; read -t 0.01 <> <(:); done; } |
                    timeout 20 '\(mpconnect)' -v --report --no-progress "$MPLAB_SERVER:7000" > out 2> events
                echo "status $?"
                # The joins that this host's kernel has sent (net/mptcp/mib.c).
                awk '/^MPTcpExt:/ { if (!n) { n = split($0, names) } else { split($0, values) } }
                    END { for (i = 1; i <= n; i++) if (names[i] == "MPJoinSynTx") print "joins " values[i] }' \\
                    /proc/net/netstat
                cat events
                """)
            #expect(outcome.lines.first == "status 0", "\(outcome)")
            let joins = outcome.lines.first { $0.hasPrefix("joins ") }.flatMap { Int($0.dropFirst(6)) }
            return (outcome.output, try #require(joins, "\(outcome)"))
        }

        @Test("is joined where it says nothing")
        func friendly() throws {
            let seen = try download(from: ":")
            #expect(seen.joins > 0 && seen.events.contains("wwan0 joined"), "\(seen)")
        }

        @Test("gets no join at an address that it denies, also where data goes at once")
        func denied() throws {
            let seen = try download(from: "echo 0 > /proc/sys/net/mptcp/allow_join_initial_addr_port")
            #expect(seen.joins == 0 && !seen.events.contains("joined"), "\(seen)")
        }

        @Test(
            "sends the client nowhere that is none of its business",
            arguments: ["192.168.77.1", "10.1.2.3", "169.254.7.7", "192.0.2.18"])
        func announced(address: String) throws {
            let seen = try download(
                from: """
                    echo 0 > /proc/sys/net/mptcp/allow_join_initial_addr_port;
                    ip mptcp endpoint add \(address) signal
                    """)
            #expect(seen.joins == 0 && !seen.events.contains("joined"), "\(seen)")
        }
    }
}
