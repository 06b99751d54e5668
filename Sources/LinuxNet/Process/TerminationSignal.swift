import CLinux
import Glibc

/// Signals that end a command in an orderly way: SIGINT, SIGTERM, SIGHUP.
package enum TerminationSignal {
    /// Set once, before any handler is.
    private nonisolated(unsafe) static var signals = SignalPipe.none

    /// Installs the handlers, except for signals that the program was started to ignore (nohup). Call it once,
    /// first of all.
    package static func install() {
        guard let made = SignalPipe.make() else { return }
        signals = made
        for number in [SIGINT, SIGTERM, SIGHUP] {
            mp_handle_signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(TerminationSignal.signals.writeEnd, &byte, 1)
            }
        }
    }

    /// Waits for the first such signal. One that came before the call is not lost.
    /// - Returns: its number; nil where the task was cancelled.
    package static func first() async -> CInt? { await signals.next() }
}
