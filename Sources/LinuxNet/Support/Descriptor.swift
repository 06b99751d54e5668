import Glibc

/// A descriptor with one owner, closed when the owner goes.
package struct Descriptor: ~Copyable, Sendable {
    /// The number, for a call; it is not to be kept.
    package let number: CInt

    /// Takes ownership.
    package init(owning number: CInt) { self.number = number }

    deinit { _ = close(number) }

    /// Gives ownership away: the receiver closes it.
    package consuming func release() -> CInt {
        let number = number
        discard self
        return number
    }

    /// A second descriptor of an open file that has another owner.
    /// - Throws: EBADF where the number is none of an open file: it may come from the library's caller.
    package init(duplicating number: CInt) throws(SystemError) {
        guard fcntl(number, F_GETFD) >= 0 else { throw SystemError("dup", errno: EBADF) }
        self.init(owning: try systemCall("dup") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
    }
}
