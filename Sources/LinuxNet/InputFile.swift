import CLinux
import Glibc

/// A file that is read at once.
package enum InputFile {
    /// - Throws: the kernel's error, or EFBIG for more bytes than the limit.
    package static func text(_ path: String, limit: Int = .max) throws(SystemError) -> String {
        let file = Descriptor(owning: try systemCall("open \(path)") { open(path, O_RDONLY | O_CLOEXEC) })
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = try systemCall("read \(path)") { read(file.number, &buffer, buffer.count) }
            if count == 0 { return String(decoding: text, as: UTF8.self) }
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
