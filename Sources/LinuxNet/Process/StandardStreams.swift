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
        try systemCall("read standard input") { Glibc.read(rawValue, buffer.baseAddress, buffer.count) }
    }

    /// Writes all of it, waiting where the reader is slow.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while rest.count > 0 {
            let count = try systemCall("write to \(name)") {
                Glibc.write(rawValue, rest.baseAddress, rest.count)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Ends the stream for its reader. The number stays taken, so that no socket gets it.
    package func close() {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return }
        _ = dup2(null, rawValue)
        _ = Glibc.close(null)
    }

    package var isTerminal: Bool { isatty(rawValue) == 1 }

    private var name: String {
        switch self {
        case .input: "standard input"
        case .output: "standard output"
        case .error: "standard error"
        }
    }

    /// Makes a program safe to start: a stream that was closed by whoever started it is not taken by the
    /// next socket, and a reader that goes away is an error of `write`, not the program's end.
    /// - Returns: the streams that were closed.
    package static func prepare() -> [StandardStream] {
        _ = mp_ignore_signal(SIGPIPE)
        var closed: [StandardStream] = []
        for stream in [StandardStream.input, .output, .error] where fcntl(stream.rawValue, F_GETFD) < 0 {
            closed.append(stream)
            // The lowest free number is this one, because the ones below are taken by now.
            _ = open("/dev/null", O_RDWR)
        }
        return closed
    }

    /// Waits until nobody reads this stream any more. It waits until it is cancelled where that can't be
    /// told: a file, a terminal.
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

    package static func exit(_ status: CInt) -> Never { Glibc.exit(status) }
}
