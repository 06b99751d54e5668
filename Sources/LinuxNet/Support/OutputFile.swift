import CLinux
import Glibc

/// A file that is written from its beginning, in pieces large enough to be cheap.
package final class OutputFile: Sendable {
    private let file: Descriptor
    private let pending = Locked<[UInt8]>([])

    /// Makes the file, or empties one that is there.
    package init(_ path: String) throws(SystemError) {
        file = Descriptor(
            owning: try systemCall("open \(path)") {
                open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            })
    }

    package func write(_ text: String) {
        pending.withLock { pending in
            pending += Array(text.utf8)
            if pending.count >= 16_384 { drain(&pending) }
        }
    }

    /// Writes at once, past what waits, and all of it unless the disk is full.
    package func append(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            done += try systemCall("write the file") {
                bytes.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress! + done, $0.count - done) }
            }
        }
    }

    package func flush() { pending.withLock { drain(&$0) } }

    private func drain(_ pending: inout [UInt8]) {
        var done = 0
        while done < pending.count {
            let count = pending.withUnsafeBytes { bytes in
                Glibc.write(file.number, bytes.baseAddress! + done, bytes.count - done)
            }
            // A full disk loses lines; the lab goes on.
            if count <= 0 { break }
            done += count
        }
        pending.removeAll(keepingCapacity: true)
    }
}
