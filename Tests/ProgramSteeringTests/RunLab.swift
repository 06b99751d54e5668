// The lab that mprun is tried in.

import Foundation
import TestSupport

enum RunLab {
    private static let networks = [
        "--wifi", "rtt=20ms,rate=50mbit,queue=40ms", "--cellular", "rtt=40ms,rate=50mbit,queue=40ms",
    ]
    /// `run` and `probe` are the programs; the echo service is `$echo`.
    private static let beginning = """
        export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
        lab='\(LabCommand.program("mplab"))'
        run='\(LabCommand.program("mprun"))' probe='\(LabCommand.program("trap-probe"))' echo='203.0.113.10 7'
        work=$(mktemp -d); cd "$work"; trap 'rm -rf "$work"' EXIT
        wait_for() {
            local what=$1; shift
            for _ in $(seq 1000); do if "$@" > /dev/null 2>&1; then return 0; fi; sleep 0.02; done
            echo "gave up waiting for $what" >&2; exit 99
        }

        """

    static func run(_ script: String) throws -> Outcome {
        try LabCommand.lab(networks, beginning + script, deadline: .seconds(90))
    }
}
