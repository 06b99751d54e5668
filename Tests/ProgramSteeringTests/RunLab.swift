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

        """

    static func run(_ script: String) throws -> Outcome {
        try LabCommand.lab(
            networks, ShellFunctions.waitFor + beginning + script, deadline: ShellFunctions.patience)
    }
}
