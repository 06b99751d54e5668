// What a server may ask of a client, and what not. Its kernel announces whatever address it is told to.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A server that says where to connect")
    struct HostilePeer {
        /// A function of the shell: one of the counters of this host's kernel (net/mptcp/mib.c).
        private static let counter = """
            counter() {
                awk -v name="$1" '/^MPTcpExt:/ { if (!n) { n = split($0, names) } else { split($0, values) } }
                    END { for (i = 1; i <= n; i++) if (names[i] == name) print values[i] }' /proc/net/netstat
            }
            """

        /// Downloads over Wi-Fi while cellular, which costs nothing, would be joined, from a server that is prepared first.
        /// The request goes out with the handshake's last packet.
        private func download(from preparation: String) throws -> (events: String, joins: Int) {
            let folder = try TemporaryFolder()
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
                \(Self.counter)
                # The joins that this host's kernel has sent.
                echo "joins $(counter MPJoinSynTx)"
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

        /// The client's processor time, and what came in (net/mptcp/mib.c).
        @Test(
            "costs the client less than a fiftieth of a processor where it announces addresses, takes them back and changes priorities without end"
        )
        func flood() throws {
            let folder = try TemporaryFolder()
            let mpconnect = LabCommand.program("mpconnect")
            let outcome = try LabCommand.lab(
                [
                    "--wifi", "rtt=2ms,rate=100mbit", "--cellular", "rtt=4ms,rate=100mbit", "--families",
                    "ipv4",
                    "--serve",
                    """
                    cd '\(folder.path)'
                    echo userspace > /proc/sys/net/mptcp/path_manager
                    '\(LabCommand.program("subflow-probe"))' flood 8 > flood &
                    exec '\(mpconnect)' --listen -v :7000 < /dev/null > got 2> server
                    """,
                ],
                """
                cd '\(folder.path)'
                pause() { read -t $1 <> <(:); }
                for _ in $(seq 1000); do grep -qs listening server && grep -qs listens flood && break; pause 0.01; done
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
                mkfifo in; exec 3<> in
                '\(mpconnect)' -v --no-progress "$MPLAB_SERVER:7000" < in > out 2> events 3<&- &
                client=$!
                echo hello >&3
                \(Self.counter)
                # In microseconds, of all threads.
                used() { cat /proc/$client/task/*/schedstat | awk '{ sum += $1 } END { printf "%d", sum / 1000 }'; }
                for _ in $(seq 1000); do [ "$(counter AddAddr)" -gt 100 ] && break; pause 0.01; done
                pause 1
                for kind in AddAddr RmAddr MPPrioRx; do eval "$kind=$(counter $kind)"; done
                before=$(used); begun=${EPOCHREALTIME/./}
                pause 5
                for kind in AddAddr RmAddr MPPrioRx; do echo "$kind $(($(counter $kind) - ${!kind}))"; done
                echo "microseconds $(($(used) - before)) of $((${EPOCHREALTIME/./} - begun))"
                kill $client
                cat events server flood
                """)
            let lines = outcome.lines.map { $0.split(separator: " ") }
            let came = ["AddAddr", "RmAddr", "MPPrioRx"].map { kind in
                lines.first { $0.first == kind[...] }.flatMap { Int($0[1]) } ?? 0
            }
            let time = lines.first { $0.first == "microseconds" }.map {
                (Int($0[1]) ?? .max, Int($0[3]) ?? 0)
            }
            let (used, passed) = try #require(time, "\(outcome)")
            #expect(came.allSatisfy { $0 > 300 }, "\(outcome)")
            #expect(used * 50 <= passed, "\(outcome)")
            print("flood:", came, "announced, taken back, priorities;", used, "us of", passed)
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
