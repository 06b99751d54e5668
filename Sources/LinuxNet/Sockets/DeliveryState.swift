import CLinux
import Glibc
import PathCore

extension StreamSocket {
    /// Ends both directions: whoever waits on the descriptor wakes up, and the number stays taken.
    package func shutDown() { _ = shutdown(descriptor.number, CInt(SHUT_RDWR)) }
}
