// A process that stood still while its network changed, as in a sleep. (That a machine slept its two clocks tell:
// WakeWatchTests. Here no clock jumps, so the process has to find all out by itself.)

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A process that was stopped for a while")
    struct Resuming {
        @Test(
            "goes on at once where Wi-Fi was renumbered meanwhile", arguments: ["expensive", "not-expensive"])
        func renumbered(cellular: String) throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=20ms,rate=20mbit", "--cellular", "rtt=40ms,rate=20mbit"],
                """
                cd '\(folder.path)'; mkfifo in
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,\(cellular)'
                pause() { read -t $1 <> <(:); }
                wait_for() { for _ in $(seq 1500); do if "$@"; then return 0; fi; pause 0.01; done; exit 99; }
                has() { [ "$(stat -c %s out)" -gt "$1" ]; }
                { echo '2000 20 500'; wait_for has 999999; } > in &
                '\(LabCommand.program("mpconnect"))' -v --report --no-progress server:20 < in > out 2> events &
                client=$!
                wait_for has 50000
                kill -STOP $client
                '\(LabCommand.program("mplab"))' set wlan0 renumber
                pause 8
                size=$(stat -c %s out); begun=${EPOCHREALTIME/./}
                kill -CONT $client
                # More than the kernel can have kept of it: 20 ms of the server's are 2,000 bytes.
                wait_for has $((size + 540000))
                echo "on $(( (${EPOCHREALTIME/./} - begun) / 1000 ))"
                wait $client && stat -c 'size %s' out
                cat events
                """)
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.output.contains("\nsize 1000000\n"), "\(outcome)")
            // What was sent meanwhile and 40 of the server's steps more: 0.8 s at least where nothing waits.
            let on = outcome.lines.first?.split(separator: " ").last.flatMap { Int($0) }
            #expect((on ?? .max) < 6000, "\(outcome)")
            #expect(outcome.output.contains("wlan0 answers again"), "\(outcome)")
            #expect(outcome.output.contains("control     steers each connection's subflows"), "\(outcome)")
        }
    }
}
