#if HTTP && Outbox
    import CFolderSync
    import Glibc

    /// Tells that something in a folder has changed, by inotify(7). What has changed a scan finds out: an event that is lost, or a
    /// queue that overflows, costs nothing.
    final class FolderWatcher: Sendable {
        private let queue: OpenFile
        private let path: String
        private static let mask =
            UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MODIFY) | UInt32(IN_MOVED_FROM)
            | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE) | UInt32(IN_ATTRIB) | UInt32(IN_ONLYDIR)
            | UInt32(IN_DONT_FOLLOW)

        init(_ path: String) throws(FileError) {
            self.path = path
            queue = OpenFile(
                try checked("can't watch \(path)") {
                    inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
                }, name: "inotify")
        }

        /// Watches these folders, and all that were watched before.
        ///
        /// - Returns: false where the kernel has no room for so many watches (fs.inotify.max_user_watches).
        func watch(_ folders: [SyncPath]) -> Bool {
            var isComplete = inotify_add_watch(queue.descriptor, path, Self.mask) >= 0
            for folder in folders
            where inotify_add_watch(queue.descriptor, "\(path)/\(folder)", Self.mask) < 0 && errno == ENOSPC {
                isComplete = false
            }
            return isComplete
        }

        /// Whether anything happened since the last call.
        func drain() -> Bool {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 8)
            defer { buffer.deallocate() }
            var hasChanged = false
            while read(queue.descriptor, buffer.baseAddress, buffer.count) > 0 { hasChanged = true }
            return hasChanged
        }
    }
#endif
