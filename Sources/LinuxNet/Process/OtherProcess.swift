import CLinux
import Glibc

/// Whether what reads standard error is behind: to write to a full pipe waits for its reader.
package enum StandardErrorRoom {
    package static var exists: Bool {
        var state = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLOUT) != 0
    }
}

/// What the kernel tells of other processes.
package enum OtherProcess {
    /// The name of a thread's program, as the kernel shortens it to 15 bytes; nil where the thread is gone.
    package static func name(of thread: Int32) -> String? {
        let file = open("/proc/\(thread)/comm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
            let count = read(file, bytes.baseAddress, bytes.count)
            guard count > 0 else { return nil }
            return String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)
        }
    }

    /// The process of a thread: what has its descriptors when it has ended. Nil where it is gone.
    package static func process(of thread: Int32) -> Int32? {
        // Only a process's first thread has one (pidfd_open(2)), and most have no other: a tenth of what the file costs.
        let first = mp_open_process(thread)
        if first >= 0 {
            close(first)
            return thread
        }
        let file = open("/proc/\(thread)/status", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { bytes in
            let count = read(file, bytes.baseAddress, bytes.count)
            guard count > 0 else { return nil }
            for line in bytes[..<count].split(separator: 0x0A) where line.starts(with: Array("Tgid:".utf8)) {
                return Int32(String(decoding: line.dropFirst(6), as: UTF8.self))
            }
            return nil
        }
    }
}
