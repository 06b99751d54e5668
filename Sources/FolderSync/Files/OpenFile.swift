#if HTTP && Outbox
    import CFolderSync
    import Crypto
    import Glibc

    /// An open file, closed when its last user lets it go.
    final class OpenFile: Sendable {
        let descriptor: CInt
        private let name: String

        init(_ descriptor: CInt, name: String) {
            self.descriptor = descriptor
            self.name = name
        }

        deinit { _ = close(descriptor) }

        func version() throws(FileError) -> LocalVersion { LocalVersion(try status()) }

        func status() throws(FileError) -> stat {
            var status = stat()
            try checked("can't look at \(name)") { fstat(descriptor, &status) }
            return status
        }

        /// - Returns: fewer than the buffer holds only at the end.
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
            var count = 0
            while count < buffer.count {
                let more = try checked("can't read \(name)") {
                    pread(
                        descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count,
                        off_t(offset) + off_t(count))
                }
                if more == 0 { break }
                count += more
            }
            return count
        }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
            var count = 0
            while count < bytes.count {
                count += try checked("can't write \(name)") {
                    pwrite(
                        descriptor, bytes.baseAddress.map { $0 + count }, bytes.count - count,
                        off_t(offset) + off_t(count))
                }
            }
        }

        /// Has the kernel begin to write a part of it to the disk.
        func beginSynchronizing(from offset: Int64, count: Int64) {
            mps_begin_writing(descriptor, offset, count)
        }

        func synchronize() throws(FileError) {
            try checked("can't write \(name) to the disk") { fsync(descriptor) }
        }

        func setModified(_ seconds: Int64) throws(FileError) {
            var times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
            times[0].tv_nsec = Int(utimeOmit)
            try checked("can't set the time of \(name)") { futimens(descriptor, &times) }
        }

        func setMode(_ mode: mode_t) throws(FileError) {
            try checked("can't set the rights of \(name)") { fchmod(descriptor, mode & 0o7777) }
        }

        /// Whether a program has it open for writing, and may go on with it.
        var isOpenForWriting: Bool { mps_is_open_for_writing(descriptor) != 0 }

        /// SHA-256 of all of it.
        func content() throws -> ContentHash {
            var (hash, offset) = (SHA256(), Int64(0))
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
            defer { buffer.deallocate() }
            while true {
                let count = try read(into: buffer, at: offset)
                if count == 0 { break }
                hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
                try Task.checkCancellation()
            }
            return ContentHash(hash.finalize())
        }
    }

    /// UTIME_OMIT (bits/stat.h) is a macro with a shift.
    private let utimeOmit: Int64 = (1 << 30) - 2

    extension ContentHash {
        init(_ digest: SHA256.Digest) {
            let digits = Array("0123456789abcdef".utf8)
            self.init(
                String(
                    unsafeUninitializedCapacity: 64
                ) { buffer in
                    for (place, byte) in digest.enumerated() {
                        buffer[2 * place] = digits[Int(byte >> 4)]
                        buffer[2 * place + 1] = digits[Int(byte & 15)]
                    }
                    return 64
                })
        }
    }

    extension LocalVersion {
        init(_ status: stat) {
            self.init(
                size: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
                changed: Self.nanoseconds(status.st_ctim), inode: UInt64(status.st_ino))
        }

        /// A clock may be set to any time: the numbers are only ever compared.
        private static func nanoseconds(_ time: timespec) -> Int64 {
            Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }
    }
#endif
