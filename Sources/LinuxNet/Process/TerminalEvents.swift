import CLinux
import Glibc

/// What a program that draws on a terminal must answer to.
package enum TerminalEvent: Sendable, Hashable {
    /// SIGWINCH: the terminal has another size.
    case resized
    /// SIGTSTP: the user wants the program to stop for now. It answers with `TerminalEvents.suspend()`.
    case suspend
    /// SIGCONT: it goes on, and the screen is not as it left it.
    case resumed
    /// SIGINT, SIGTERM, SIGHUP, by their number.
    case end(CInt)
}

/// The signals of a terminal, taken so that the program can leave the terminal as it found it.
package enum TerminalEvents {
    /// Set once, before any handler is.
    private nonisolated(unsafe) static var signals = SignalPipe.none

    /// Installs the handlers, except for signals that the program was started to ignore (nohup). Call it once.
    package static func install() {
        guard let made = SignalPipe.make() else { return }
        signals = made
        for number in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT] {
            mp_handle_signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(TerminalEvents.signals.writeEnd, &byte, 1)
            }
        }
    }

    /// Waits for the next one. What came before the call is not lost.
    /// - Returns: nil where the task was cancelled.
    package static func next() async -> TerminalEvent? {
        guard let number = await signals.next() else { return nil }
        switch number {
        case SIGWINCH: return .resized
        case SIGTSTP: return .suspend
        case SIGCONT: return .resumed
        default: return .end(number)
        }
    }

    /// Stops the process, as SIGTSTP would have, until it is continued.
    package static func suspend() { _ = raise(SIGSTOP) }
}
