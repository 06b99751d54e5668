import Glibc

/// A call on a file that failed.
public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was called, with what.
    public var operation: String
    /// errno.
    public var code: CInt

    init(_ operation: String, _ code: CInt = errno) {
        self.operation = operation
        self.code = code
    }

    public var description: String {
        let hint = code == ENOSPC || code == EDQUOT ? "; make room and run it again" : ""
        return "\(operation): \(String(cString: strerror(code)))\(hint)"
    }

    /// Whether the disk, or the user's share of it, is full: no other file will find room either.
    var isFull: Bool { Self.isFull(code) }

    /// - Parameter code: errno.
    static func isFull(_ code: CInt) -> Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
}

/// Calls once more after a signal. - Throws: `FileError` for a negative result.
@discardableResult
func checked<Number: SignedInteger>(
    _ operation: @autoclosure () -> String, _ body: () -> Number
) throws(FileError) -> Number {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw FileError(operation(), code) }
    }
}
