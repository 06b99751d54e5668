import CLinux
import Glibc

/// A system call that failed: what was tried, the kernel's error number, and its text where it gave one.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package var operation: String
    package var errno: CInt
    /// What the kernel added (a netlink extended acknowledgement, say).
    package var detail: String?

    package init(_ operation: String, errno: CInt, detail: String? = nil) {
        self.operation = operation
        self.errno = errno
        self.detail = detail
    }

    /// The error number's words, as strerror gives them: "Connection refused".
    package var words: String { SystemError.words(errno) }

    /// EPIPE: the reader has gone.
    package var isBrokenPipe: Bool { errno == EPIPE }

    /// ESRCH, ENOENT, ENODEV or EADDRNOTAVAIL: what was to be changed or removed is not there.
    package var isMissing: Bool { [ESRCH, ENOENT, ENODEV, EADDRNOTAVAIL].contains(errno) }

    /// The kernel was busy, short of memory or interrupted; it may do the same a moment later.
    package var isPassing: Bool {
        [EAGAIN, EBUSY, EINTR, ENOBUFS, ENOMEM, ENOSPC, ETIMEDOUT].contains(errno)
    }

    /// ECONNREFUSED: there is no listener.
    package var isRefusal: Bool { errno == ECONNREFUSED }

    /// ETIMEDOUT: it took too long.
    package var isTimeout: Bool { errno == ETIMEDOUT }
    package var isTooLate: Bool { errno == ETIME }

    /// EAGAIN: nothing is there, or there is no room.
    package var isWouldBlock: Bool { errno == EWOULDBLOCK }

    /// ECONNRESET: the other has gone, and has left something unread.
    package var isReset: Bool { errno == ECONNRESET }

    /// ECONNABORTED: the other has gone before it was accepted.
    package var isConnectionAborted: Bool { errno == ECONNABORTED }

    /// EMFILE or ENFILE: there are no descriptors left.
    package var isOutOfDescriptors: Bool { errno == EMFILE || errno == ENFILE }

    /// What the path manager's commands say of a socket of the kernel's path manager.
    package var meansKernelPathManager: Bool {
        errno == EINVAL && detail?.contains("userspace PM not selected") == true
    }

    /// EADDRINUSE: another socket has the name.
    package var isTaken: Bool { errno == EADDRINUSE }

    /// ENOPROTOOPT or EPROTONOSUPPORT: MPTCP is switched off, or the kernel was built without it.
    package var meansNoMPTCP: Bool { errno == ENOPROTOOPT || errno == EPROTONOSUPPORT }

    /// An error that another process has told: of the kernel's where it names one, EACCES otherwise.
    package static func refused(_ operation: String, _ errno: CInt?, _ reason: String) -> SystemError {
        SystemError(operation, errno: errno ?? EACCES, detail: reason)
    }

    /// Another process has told of the kernel's ENOTCONN.
    package static func notReady(_ operation: String) -> SystemError {
        SystemError(operation, errno: ENOTCONN)
    }

    /// Another process has not answered.
    package static func unanswered(_ operation: String) -> SystemError {
        SystemError(operation, errno: ETIMEDOUT)
    }

    /// ENOTCONN: there is no connection any more.
    package static func isNotConnected(_ errno: CInt) -> Bool { errno == ENOTCONN }

    package static func words(_ errno: CInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard strerror_r(errno, buffer.baseAddress!, buffer.count) == 0 else { return "error \(errno)" }
            return String(cString: buffer.baseAddress!)
        }
    }

    package var description: String {
        "\(operation): \(words)" + (detail.map { " (\($0))" } ?? "")
    }
}

/// Calls the kernel once, reads errno once, and again after EINTR.
///
/// - Returns: the call's result, never negative. EBADF and EFAULT are errors of ours, and trap.
@discardableResult
package func systemCall<Result: FixedWidthInteger>(
    _ operation: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        #if DEBUG
            if let number = InjectedFault.strikes(operation) { throw SystemError(operation(), errno: number) }
        #endif
        let result = body()
        if result >= 0 { return result }
        let number = errno
        switch number {
        case EINTR: continue
        case EBADF, EFAULT: preconditionFailure("\(operation()): \(SystemError.words(number))")
        default: throw SystemError(operation(), errno: number)
        }
    }
}
