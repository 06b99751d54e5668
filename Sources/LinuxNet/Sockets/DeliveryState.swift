import CLinux
import Glibc
import PathCore

extension StreamSocket {
    /// Ends both directions: those that wait on the descriptor wake up, and its number stays in use.
    package func shutDown() { _ = shutdown(descriptor.number, CInt(SHUT_RDWR)) }
}
