import Glibc

/// A file that is read and written at places of the caller's choice. Its calls block: run them where that is allowed.
package final class RandomAccessFile: Sendable {
    private let descriptor: Descriptor
    /// Where it was opened.
    package let path: String

    /// Opens a file to read and write, and makes it where there is none.
    /// - Throws: the kernel's error.
    package init(updating path: String) throws(SystemError) {
        self.path = path
        descriptor = Descriptor(
            owning: try systemCall("open \(path)") { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644) })
    }

    /// Opens a file to read.
    /// - Throws: the kernel's error.
    package init(reading path: String) throws(SystemError) {
        self.path = path
        descriptor = Descriptor(owning: try systemCall("open \(path)") { open(path, O_RDONLY | O_CLOEXEC) })
    }

    /// Keeps other processes that ask for the same from using the file, until this goes.
    /// - Returns: false where another one has it, or has renamed it since it was opened here: it is another file then.
    package func lock() -> Bool {
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0, let ours = try? status() else { return false }
        var there = stat()
        return stat(path, &there) == 0 && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev
    }

    /// In bytes.
    package func size() throws(SystemError) -> Int64 { Int64(try status().st_size) }

    /// When its content was last changed, in nanoseconds since 1970.
    package func modified() throws(SystemError) -> Int64 {
        let time = try status().st_mtim
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func status() throws(SystemError) -> stat {
        var status = stat()
        try systemCall("look at \(path)") { fstat(descriptor.number, &status) }
        return status
    }

    /// Cuts it off, or fills it up with zeros.
    package func resize(to size: Int64) throws(SystemError) {
        try systemCall("resize \(path)") { ftruncate(descriptor.number, off_t(size)) }
    }

    /// Writes all bytes.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        guard let base = bytes.baseAddress else { return }
        var done = 0
        while done < bytes.count {
            done += try systemCall("write \(path)") {
                pwrite(descriptor.number, base + done, bytes.count - done, off_t(offset) + off_t(done))
            }
        }
    }

    /// Reads what there is, as far as there is room.
    /// - Returns: how many bytes; 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    {
        guard let base = buffer.baseAddress else { return 0 }
        return try systemCall("read \(path)") {
            pread(descriptor.number, base, buffer.count, off_t(offset))
        }
    }

    /// Returns when all is on the disk.
    package func synchronize() throws(SystemError) {
        try systemCall("write \(path)") { fsync(descriptor.number) }
    }

    /// Puts a file in the place of another one.
    package static func rename(_ path: String, to target: String) throws(SystemError) {
        try systemCall("rename \(path) to \(target)") { Glibc.rename(path, target) }
    }

    /// Removes a file, where there is one.
    package static func remove(_ path: String) { _ = unlink(path) }
}
