import CLab
import Glibc

/// The signals that a process which only waits for its child takes one by one.
package enum WaitingSignals {
    package enum Event: Sendable {
        case childEnded
        /// The process is told to end; `fromTerminal` where the terminal told all of its processes.
        case termination(CInt, fromTerminal: Bool)
    }

    /// Keeps them from acting by themselves; call it before another thread exists.
    package static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the next.
    package static func next() -> Event {
        var set = signals
        while true {
            var information = siginfo_t()
            let number = sigwaitinfo(&set, &information)
            guard number > 0 else { continue }
            if number == SIGCHLD { return .childEnded }
            return .termination(number, fromTerminal: mp_signal_is_from_kernel(&information) != 0)
        }
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGCHLD, SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, number) }
        return set
    }
}
