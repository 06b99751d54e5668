// Connections that are followed at the end that accepts them, too: by it alone, and by both.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A server that steers")
    struct Servers {
        private static let wifi = ["--wifi", "rtt=20ms,rate=40mbit,queue=20ms"]
        private static let cellular = ["--cellular", "rtt=40ms,rate=40mbit,queue=20ms"]
        private static let withoutRights = "setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all"

        /// What the two ends said, and whether the client got what the server sent.
        private struct Seen {
            var isWhole: Bool
            var client: String
            var server: String

            func count(_ words: String, at end: KeyPath<Seen, String>) -> Int {
                self[keyPath: end].components(separatedBy: words).count - 1
            }
        }

        /// A server whose mpconnect steers as far as it can sends 12 MB while a script changes links.
        private func download(
            by client: String, while script: String, lingering: Double = 0.01
        ) throws -> Seen {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let mpconnect = LabCommand.program("mpconnect")
            let outcome = try LabCommand.lab(
                Self.wifi + Self.cellular + [
                    "--families", "ipv4", "--serve",
                    """
                    cd '\(folder.path)'; head -c 12000000 /dev/urandom > data
                    echo userspace > /proc/sys/net/mptcp/path_manager
                    unset MULTIPATH_INTERFACES
                    '\(mpconnect)' --listen -v --report :7000 < data > got 2> server
                    """,
                ],
                """
                cd '\(folder.path)'
                mplab() { '\(LabCommand.program("mplab"))' "$@"; }
                wait_for() { for _ in $(seq 1000); do if "$@"; then return 0; fi; read -t 0.01 <> <(:); done; exit 99; }
                has() { [ -s "$1" ] && [ "$(stat -c %s "$1")" -gt "$2" ]; }
                wait_for grep -qs listening server
                ip mptcp endpoint add 192.0.2.18 dev wwan0 subflow backup
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
                { wait_for has out 1000000; \(script); } &
                { echo hello; wait_for has out 11999999; read -t \(lingering) <> <(:); } |
                    \(client) '\(mpconnect)' -v --report --no-progress "$MPLAB_SERVER:7000" > out 2> client
                wait
                wait_for grep -qs duration server
                cmp data out && cmp got <(echo hello) && echo whole
                """)
            func text(_ name: String) -> String {
                (try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) ?? ""
            }
            return Seen(
                isWhole: outcome.status == 0 && outcome.output == "whole\n",
                client: text("client") + (outcome.status == 0 ? "" : outcome.errors), server: text("server"))
        }

        @Test("leaves a dead path of a client that steers nothing")
        func deadPath() throws {
            let seen = try download(by: Self.withoutRights, while: "mplab set wlan0 blackhole")
            #expect(seen.isWhole, "\(seen)")
            #expect(seen.client.contains("control     only observes: "), "\(seen)")
            #expect(seen.server.contains("control     steers each connection's subflows"), "\(seen)")
            #expect(seen.count("192.0.2.2 left: no acknowledgement", at: \.server) == 1, "\(seen)")
            #expect(seen.count("192.0.2.18 left", at: \.server) == 0, "\(seen)")
        }

        @Test("moves once with a client that steers too", arguments: ["blackhole", "down"])
        func bothEnds(fault: String) throws {
            let seen = try download(by: "", while: "mplab set wlan0 \(fault)")
            #expect(seen.isWhole, "\(seen)")
            for report in [seen.client, seen.server] {
                #expect(report.contains("control     steers each connection's subflows"), "\(seen)")
            }
            #expect(seen.count("mpconnect: moved from", at: \.client) == 1, "\(seen)")
            #expect(seen.count("moved from wlan0 to wwan0", at: \.client) == 1, "\(seen)")
            // Whichever end finds out first; what only asked whether the path lives is left, too.
            #expect((1...2).contains(seen.count("192.0.2.2 left: ", at: \.server)), "\(seen)")
            #expect(seen.count("192.0.2.18 left", at: \.server) == 0, "\(seen)")
        }

        @Test("follows a path that comes and goes, with a client that steers too")
        func flapping() throws {
            let seen = try download(
                by: "",
                while: """
                    for _ in 1 2; do
                        mplab set wlan0 down; wait_for has out $(($(stat -c %s out) + 1000000))
                        mplab set wlan0 up; wait_for has out $(($(stat -c %s out) + 1000000))
                    done
                    """)
            #expect(seen.isWhole, "\(seen)")
            // A flap that ends before it is noticed needs no move. A busy machine may add some; thrashing has dozens.
            let moves = seen.client.split(separator: "\n").filter { $0.contains("mpconnect: moved from") }
            #expect(moves.count { $0.hasSuffix(": down") } <= 2, "\(seen)")
            #expect((1...10).contains(moves.count), "\(seen)")
            #expect((1...20).contains(seen.count("192.0.2.2 left: ", at: \.server)), "\(seen)")
        }

        /// Once it has sent all, its kernel takes no further subflow: asking would look like a dead path, and give
        /// the server connections that are none.
        @Test("is asked for no subflow once it has sent all")
        func sentAll() throws {
            let seen = try download(by: "", while: "true", lingering: 3)
            #expect(seen.isWhole, "\(seen)")
            #expect(seen.count("failed", at: \.client) == 0, "\(seen)")
            #expect(seen.count("no path is left", at: \.client) == 0, "\(seen)")
            #expect(seen.count("refused", at: \.server) == 0, "\(seen)")
        }
    }
}
