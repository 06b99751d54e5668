import Glibc
import LinuxNet
import PathCore

package enum ListeningSockets {
    /// Waits until there is a TCP listener or a bound UDP port in the network namespace this thread is in.
    /// - Returns: whether there is; false at the deadline.
    @discardableResult
    package static func waitForFirst(by deadline: MonotonicTime) -> Bool {
        while MonotonicTime.now < deadline {
            if exist { return true }
            // The kernel announces no listener: look again soon.
            usleep(2000)
        }
        return false
    }

    private static var exist: Bool {
        let folder = "/proc/thread-self/net/"
        // State 0A is TCP_LISTEN; an unconnected UDP socket has 07.
        return [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")].contains { file, state in
            (InputFile.line(folder + file) ?? "").split(separator: "\n").dropFirst().contains {
                let words = $0.split(separator: " ")
                return words.count > 3 && words[3] == state
            }
        }
    }
}
