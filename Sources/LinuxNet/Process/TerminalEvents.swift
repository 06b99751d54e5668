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
    /// The pipe's ends. Set once, before any handler is; a handler may touch nothing more complicated.
    private nonisolated(unsafe) static var ends: (read: CInt, write: CInt) = (-1, -1)

    /// Takes the signals, except those that whoever started the program has it ignore (nohup). Call it once.
    package static func take() {
        var made: [CInt] = [-1, -1]
        guard pipe(&made) == 0 else { return }
        for end in made {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        ends = (made[0], made[1])
        for number in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT] {
            mp_handle_signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(TerminalEvents.ends.write, &byte, 1)
            }
        }
    }

    /// Waits for the next one. What came before the call is not lost.
    /// - Returns: nil where the task was cancelled.
    package static func next() async -> TerminalEvent? {
        let end = ends.read
        guard await EventThread.shared.ready(end, for: .readable) != nil else { return nil }
        var number: UInt8 = 0
        guard read(end, &number, 1) == 1 else { return nil }
        switch CInt(number) {
        case SIGWINCH: return .resized
        case SIGTSTP: return .suspend
        case SIGCONT: return .resumed
        default: return .end(CInt(number))
        }
    }

    /// Stops the process, as SIGTSTP would have, until somebody continues it.
    package static func suspend() { _ = raise(SIGSTOP) }
}
