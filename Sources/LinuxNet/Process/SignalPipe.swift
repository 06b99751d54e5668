import Glibc

/// Where a signal handler leaves the numbers of signals, for a task to take them.
///
/// signalfd would want the signals blocked in every thread, but Dispatch lets the main thread sleep with all of
/// them open.
struct SignalPipe {
    private let readEnd: CInt
    /// For the handler, which may touch nothing more complicated.
    let writeEnd: CInt

    /// No pipe: what is written to it goes nowhere, and nothing comes.
    static let none = SignalPipe(readEnd: -1, writeEnd: -1)

    /// - Returns: nil where the process has no descriptors left.
    static func make() -> SignalPipe? {
        var made: [CInt] = [-1, -1]
        guard pipe(&made) == 0 else { return nil }
        for end in made {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return SignalPipe(readEnd: made[0], writeEnd: made[1])
    }

    /// Waits for the next signal. What came before the call is not lost.
    /// - Returns: its number; nil where the task was cancelled.
    func next() async -> CInt? {
        guard await EventThread.shared.ready(readEnd, for: .readable) != nil else { return nil }
        var number: UInt8 = 0
        return read(readEnd, &number, 1) == 1 ? CInt(number) : nil
    }
}
