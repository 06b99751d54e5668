// The three streams of a command. They may be terminals, pipes or files, and are often shared with other
// programs, so they stay blocking: O_NONBLOCK would be set for all of them.

import CLinux
import Glibc

package enum StandardStream: CInt, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// Reads what there is, waiting for it. 0 is the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        while true {
            let count = Glibc.read(rawValue, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            try recover(from: errno, "read \(name)", for: POLLIN)
        }
    }

    /// Writes all of it, waiting where the reader is slow.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while rest.count > 0 {
            let count = Glibc.write(rawValue, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else {
                try recover(from: errno, "write to \(name)", for: POLLOUT)
            }
        }
    }

    /// Waits where the stream is only not ready: another program that shares it may have made it non-blocking.
    ///
    /// This is not `systemCall`, which traps on a bad descriptor: these three are the user's, who may have
    /// opened one for the other direction.
    private func recover(from number: CInt, _ operation: String, for events: Int32) throws(SystemError) {
        switch number {
        case EINTR: return
        case EAGAIN:
            var ready = pollfd(fd: rawValue, events: Int16(events), revents: 0)
            _ = poll(&ready, 1, -1)
        default: throw SystemError(operation, errno: number)
        }
    }

    /// Lets a pipe hold up to a mebibyte, where Linux gives it 64 KiB (`man 7 pipe`), so that who fills it and who
    /// empties it wake each other less often. What is no pipe, or may not grow so far, stays as it is.
    package func enlargePipe() { _ = fcntl(rawValue, CInt(MP_F_SETPIPE_SZ), 1 << 20) }

    /// Ends the stream for its reader. The number stays taken, so that no socket gets it.
    package func close() {
        // Input and output may be one socket (inetd, socat), which closing one of them would leave open.
        _ = shutdown(rawValue, CInt(SHUT_WR))
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return }
        _ = dup2(null, rawValue)
        _ = Glibc.close(null)
    }

    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// A terminal's size in characters; nil where the stream is none.
    package var terminalSize: (rows: Int, columns: Int)? {
        var size = winsize()
        guard isTerminal, ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    private var name: String {
        switch self {
        case .input: "standard input"
        case .output: "standard output"
        case .error: "standard error"
        }
    }

    /// Makes a reader that goes away an error of `write`, and not the program's end.
    package static func ignoreBrokenPipes() { _ = mp_ignore_signal(SIGPIPE) }

    /// Waits until the stream has no reader any more. Where that can't be told (a file, a terminal) it waits
    /// until it is cancelled.
    package func waitForClosedReader() async {
        // A pipe whose last reader closed reports an error, asked for or not.
        _ = await EventThread.shared.ready(rawValue, for: [])
    }
}

/// What a command asks of the process it is.
package enum ProcessEnvironment {
    package static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Nothing for a program that has more rights than its user (secure_getenv(3)).
    package static func trustedValue(_ name: String) -> String? {
        mp_trusted_environment(name).map { String(cString: $0) }
    }

    package static func exit(_ status: CInt) -> Never { Glibc.exit(status) }
}
