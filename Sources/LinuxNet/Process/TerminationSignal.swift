import CLinux
import Glibc

/// Signals that end a command in an orderly way: SIGINT, SIGTERM, SIGHUP.
///
/// A handler writes the number into a pipe. signalfd would want the signals blocked in every thread, but
/// Dispatch lets the main thread sleep with all of them open.
package enum TerminationSignal {
    /// The pipe's ends. Set once, before any handler is; a handler may touch nothing more complicated.
    private nonisolated(unsafe) static var ends: (read: CInt, write: CInt) = (-1, -1)

    /// Takes the signals, except those that whoever started the program has it ignore (nohup). Call it once,
    /// first of all.
    package static func take() {
        var made: [CInt] = [-1, -1]
        guard pipe(&made) == 0 else { return }
        for end in made {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        ends = (made[0], made[1])
        for number in [SIGINT, SIGTERM, SIGHUP] {
            mp_handle_signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(TerminationSignal.ends.write, &byte, 1)
            }
        }
    }

    /// Waits for the first such signal. One that came before the call is not lost.
    /// - Returns: its number; nil where the task was cancelled.
    package static func first() async -> CInt? {
        let end = ends.read
        guard await EventThread.shared.ready(end, for: .readable) != nil else { return nil }
        var number: UInt8 = 0
        return read(end, &number, 1) == 1 ? CInt(number) : nil
    }
}
