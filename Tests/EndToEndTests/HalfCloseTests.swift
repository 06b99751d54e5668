// A client that has said all it has to say, and waits for the answer.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A connection that sends no more")
    struct HalfClose {
        @Test(
            "still gets its answer when Wi-Fi dies in silence, though its kernel makes no subflow any more",
            arguments: ["expensive", "not-expensive"])
        func answer(cellular: String) throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let outcome = try LabCommand.lab(
                [
                    "--wifi", "rtt=20ms,rate=40mbit,queue=20ms", "--cellular",
                    "rtt=40ms,rate=40mbit,queue=20ms",
                ],
                """
                cd '\(folder.path)'
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,\(cellular)'
                printf 'GET /12000000 HTTP/1.0\\r\\n\\r\\n' |
                    timeout 20 '\(LabCommand.program("mpconnect"))' -v --report --no-progress server:80 > out 2> events &
                client=$!
                for _ in $(seq 1000); do [ "$(stat -c %s out)" -gt 1000000 ] && break; read -t 0.01 <> <(:); done
                '\(LabCommand.program("mplab"))' set wlan0 blackhole
                wait $client; echo "status $?"
                sed '1,/^\\r$/d' out | wc -c
                cat events
                """)
            #expect(outcome.lines.prefix(2) == ["status 0", "12000000"], "\(outcome)")
            #expect(outcome.output.contains("moved from wlan0 to wwan0"), "\(outcome)")
        }
    }
}
