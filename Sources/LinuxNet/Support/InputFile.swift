import CLinux
import Glibc

/// A file that is read at once.
package enum InputFile {
    /// - Throws: the kernel's error, or EFBIG for more bytes than the limit.
    package static func text(_ path: String, limit: Int = .max) throws(SystemError) -> String {
        String(decoding: try bytes(path, limit: limit), as: UTF8.self)
    }

    /// - Throws: the kernel's error, or EFBIG for more bytes than the limit.
    package static func bytes(_ path: String, limit: Int = .max) throws(SystemError) -> [UInt8] {
        let file = Descriptor(owning: try systemCall("open \(path)") { open(path, O_RDONLY | O_CLOEXEC) })
        return try bytes(of: file, path, limit)
    }

    /// The bytes of a file that anything may have been put in the place of: a pipe would wait for ever.
    /// - Throws: the kernel's error, EFBIG for more bytes than the limit, EINVAL for what is no regular file.
    package static func regularBytes(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = Descriptor(
            owning: try systemCall("open \(path)") {
                open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            })
        var status = stat()
        try systemCall("read \(path)") { fstat(file.number, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError("read \(path)", errno: EINVAL, detail: "it is no file")
        }
        return try bytes(of: file, path, limit)
    }

    static func bytes(
        of file: borrowing Descriptor, _ path: String, _ limit: Int
    ) throws(SystemError) -> [UInt8] {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = try systemCall("read \(path)") { read(file.number, &buffer, buffer.count) }
            if count == 0 { return text }
            text += buffer[..<count]
            if text.count > limit { throw SystemError("read \(path)", errno: EFBIG) }
        }
    }

    /// The text without the last line's end, as the kernel's small files have it; nil where it can't be read.
    package static func line(_ path: String) -> String? {
        guard var text = try? text(path) else { return nil }
        if text.last == "\n" { text.removeLast() }
        return text
    }
}
