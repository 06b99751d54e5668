#if HTTP && Outbox
    import CFolderSync
    import Foundation
    import Glibc

    /// The folder that is kept the same, with the folder `.mpsync` in it, which holds this program's own files.
    ///
    /// Every name is looked up below an open folder and no symbolic link is followed on the way, so nothing outside is ever read or
    /// written.
    final class LocalFolder: Sendable {
        /// The folder's own files: the record, the lock, and what is being downloaded.
        static let ownFolder = ".mpsync"
        private static let partFolder = "part"

        /// As the user named it.
        let path: String
        private let root: OpenFile
        private let parts: OpenFile
        private let lock: OpenFile
        private let device: dev_t

        var storePath: String { "\(path)/\(Self.ownFolder)/state.sqlite" }

        /// - Throws: `FileError`; `FolderSyncError.inUse` where another process keeps the folder the same.
        init(_ path: String) throws {
            self.path = path
            root = OpenFile(
                try checked("can't open \(path)") { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) },
                name: path)
            device = try root.status().st_dev
            let own = try Self.makeFolder(Self.ownFolder, in: root, mode: 0o700)
            lock = OpenFile(
                try checked("can't open \(path)/\(Self.ownFolder)/lock") {
                    openat(own.descriptor, "lock", CInt(MPS_LOCK_FILE), 0o600)
                }, name: "lock")
            guard mps_try_lock(lock.descriptor) == 0 else { throw FolderSyncError.inUse(path) }
            parts = try Self.makeFolder(Self.partFolder, in: own, mode: 0o700)
        }

        private static func makeFolder(
            _ name: String, in folder: OpenFile, mode: mode_t
        ) throws(FileError)
            -> OpenFile
        {
            if mkdirat(folder.descriptor, name, mode) != 0, errno != EEXIST {
                throw FileError("can't make the folder \(name)")
            }
            return OpenFile(
                try checked("can't open the folder \(name)") {
                    openat(folder.descriptor, name, CInt(MPS_READ_FOLDER))
                }, name: name)
        }

        // MARK: Looking

        /// The folder that a path lies in.
        func parent(of path: SyncPath) throws(FileError) -> OpenFile { try folder(path.parent) }

        /// A folder by its path, each part on its own: O_NOFOLLOW is about the last one only.
        func folder(_ path: SyncPath?) throws(FileError) -> OpenFile {
            guard let path else { return root }
            var folder = root
            for part in ServerLocation.parts(path.text) {
                let place = folder.descriptor
                folder = OpenFile(
                    try checked("can't open the folder \(path)") {
                        openat(place, part, CInt(MPS_READ_FOLDER))
                    }, name: part)
            }
            return folder
        }

        /// What is there; nil for nothing.
        func status(_ path: SyncPath) throws(FileError) -> stat? {
            let folder: OpenFile
            do throws(FileError) { folder = try parent(of: path) } catch {
                if error.code == ENOENT { return nil }
                throw error
            }
            return try Self.status(path.name, in: folder)
        }

        private static func status(_ name: String, in folder: OpenFile) throws(FileError) -> stat? {
            var status = stat()
            if fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
            if errno == ENOENT { return nil }
            throw FileError("can't look at \(name)")
        }

        /// The version of a file; nil where there is none, or something else.
        func version(_ path: SyncPath) throws(FileError) -> LocalVersion? {
            guard let status = try status(path), mps_is_file(status.st_mode) != 0 else { return nil }
            return LocalVersion(status)
        }

        func open(_ path: SyncPath) throws(FileError) -> OpenFile {
            let folder = try parent(of: path)
            let file = OpenFile(
                try checked("can't read \(path)") {
                    openat(folder.descriptor, path.name, CInt(MPS_READ_FILE))
                }, name: path.text)
            guard mps_is_file(try file.status().st_mode) != 0 else {
                throw FileError("can't read \(path)", EINVAL)
            }
            return file
        }

        /// Whether a program may go on with a file; false for one that can't be read.
        func isOpenForWriting(_ path: SyncPath) throws(FileError) -> Bool {
            try isOpenForWriting { () throws(FileError) in try open(path) }
        }

        /// The same of a part.
        func isPartOpenForWriting(_ token: String) throws(FileError) -> Bool {
            try isOpenForWriting { () throws(FileError) in try openPart(token) }
        }

        private func isOpenForWriting(_ open: () throws(FileError) -> OpenFile) throws(FileError) -> Bool {
            do throws(FileError) {
                return try open().isOpenForWriting
            } catch {
                guard [ENOENT, EACCES, EINVAL, ELOOP].contains(error.code) else { throw error }
                return false
            }
        }

        // MARK: Listing

        /// What a scan found.
        struct Listing {
            var items: [SyncPath: LocalItem] = [:]
            /// What can't be read.
            var unknown: Set<SyncPath> = []
            var troubles: [SyncTrouble] = []
        }

        /// Every file and folder, without contents.
        ///
        /// - Throws: `FileError` where the folder itself can't be read.
        func list() throws -> Listing {
            var listing = Listing()
            try list(nil, root, &listing)
            return listing
        }

        private func list(_ path: SyncPath?, _ folder: OpenFile, _ listing: inout Listing) throws {
            try Task.checkCancellation()
            for name in try Self.names(in: folder) {
                guard let name else {
                    let reason = "a name in it is not UTF-8, and can't be on a WebDAV server; it is left out"
                    listing.troubles.append(SyncTrouble(path, reason))
                    continue
                }
                if path == nil, name.hasPrefix(Self.ownFolder) {
                    if name != Self.ownFolder {
                        listing.troubles.append(
                            SyncTrouble(
                                nil,
                                "'\(name)' is left out: names that begin with .mpsync are this program's own")
                        )
                    }
                    continue
                }
                let child: SyncPath
                do throws(SyncPath.Malformed) {
                    child = if let path { try path.appending(name) } else { try SyncPath(name) }
                } catch {
                    listing.troubles.append(SyncTrouble(path, "\(name): \(error)"))
                    continue
                }
                do throws(FileError) {
                    guard let status = try Self.status(name, in: folder) else { continue }
                    if status.st_dev != device {
                        listing.items[child] = .other
                        listing.troubles.append(
                            SyncTrouble(child, "it is on another file system; it is left out"))
                    } else if mps_is_file(status.st_mode) != 0 {
                        listing.items[child] = .file(LocalVersion(status), nil)
                    } else if mps_is_folder(status.st_mode) != 0 {
                        listing.items[child] = .folder
                    } else {
                        listing.items[child] = .other
                    }
                } catch {
                    listing.unknown.insert(child)
                    listing.troubles.append(SyncTrouble(child, "\(error)"))
                }
                guard listing.items[child] == .folder else { continue }
                do {
                    let inner = OpenFile(
                        try checked("can't open it") {
                            openat(folder.descriptor, name, CInt(MPS_READ_FOLDER))
                        }, name: child.text)
                    try list(child, inner, &listing)
                } catch let error as FileError {
                    listing.unknown.insert(child)
                    listing.troubles.append(SyncTrouble(child, "\(error)"))
                }
            }
        }

        /// - Returns: nil for a name that is not UTF-8.
        private static func names(in folder: OpenFile) throws(FileError) -> [String?] {
            let copy = try checked("can't list a folder") {
                openat(folder.descriptor, ".", CInt(MPS_READ_FOLDER))
            }
            guard let stream = fdopendir(copy) else {
                let error = FileError("can't list a folder")
                close(copy)
                throw error
            }
            defer { closedir(stream) }
            var names: [String?] = []
            while true {
                errno = 0
                guard let entry = readdir(stream) else {
                    if errno != 0 { throw FileError("can't list a folder") }
                    return names
                }
                let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: UInt8.self, capacity: 256) { bytes in
                        String(
                            validating: UnsafeBufferPointer(start: bytes, count: strnlen(bytes)),
                            as: UTF8.self)
                    }
                }
                if name != ".", name != ".." { names.append(name) }
            }
        }

        private static func strnlen(_ bytes: UnsafePointer<UInt8>) -> Int {
            var count = 0
            while count < 256, bytes[count] != 0 { count += 1 }
            return count
        }

        // MARK: Downloads, and files on their way out

        /// A new file for what is downloaded.
        func makePart(_ token: String) throws(FileError) -> OpenFile {
            unlinkat(parts.descriptor, token, 0)
            return OpenFile(
                try checked("can't make a file in \(Self.ownFolder)") {
                    openat(parts.descriptor, token, CInt(MPS_MAKE_FILE), 0o666)
                }, name: "\(Self.ownFolder)/\(Self.partFolder)/\(token)")
        }

        func openPart(_ token: String) throws(FileError) -> OpenFile {
            OpenFile(
                try checked("can't open a file in \(Self.ownFolder)") {
                    openat(parts.descriptor, token, CInt(MPS_READ_FILE))
                }, name: token)
        }

        /// Where a part is, for what downloads into a file by its name.
        func partPath(_ token: String) -> String { "\(path)/\(Self.ownFolder)/\(Self.partFolder)/\(token)" }

        func partVersion(_ token: String) throws(FileError) -> LocalVersion? {
            try Self.status(token, in: parts).map { LocalVersion($0) }
        }

        /// What a part is called once it has changed places with the user's file.
        static func goneToken(_ token: String) -> String { "gone-\(token)" }

        func renamePart(_ token: String, _ other: String) throws(FileError) {
            try rename(parts, token, parts, other, UInt32(MPS_NOREPLACE))
        }

        /// Which folder this is: a copy, also on another machine, is another one.
        func identity(user: String?) throws -> String {
            var system = statvfs()
            try checked("can't look at \(path)") { fstatvfs(root.descriptor, &system) }
            let own = try Self.status(Self.ownFolder, in: root)
            let machine = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
            return [
                machine.filter(\.isHexDigit), "\(system.f_fsid)", "\(try root.status().st_ino)",
                "\(own?.st_ino ?? 0)", user ?? "",
            ].joined(separator: " ")
        }

        func removePart(_ token: String) { unlinkat(parts.descriptor, token, 0) }

        func partNames() throws(FileError) -> [String] { try Self.names(in: parts).compactMap { $0 } }

        enum Placing { case new, replacing }

        /// Gives a part its name. Where it replaces a file, that one is then the part: the two change places in one step.
        ///
        /// - Returns: whether the two have changed places; otherwise the part is gone.
        /// - Throws: `FileError` with EEXIST where a new name is taken.
        func place(_ token: String, at path: SyncPath, _ placing: Placing) throws(FileError) -> Bool {
            let folder = try parent(of: path)
            switch placing {
            case .new:
                try rename(parts, token, folder, path.name, UInt32(MPS_NOREPLACE))
                return false
            case .replacing:
                try checked("can't put \(path) in its place") {
                    mps_rename(
                        parts.descriptor, token, folder.descriptor, path.name, UInt32(MPS_EXCHANGE))
                }
                return true
            }
        }

        /// Gives a part a name that is taken: what is there is lost.
        func replace(_ token: String, _ path: SyncPath) throws(FileError) {
            let folder = try parent(of: path)
            try rename(parts, token, folder, path.name, 0)
        }

        /// Takes a file out of its place; it is a part then.
        func takeOut(_ path: SyncPath, as token: String) throws(FileError) {
            let folder = try parent(of: path)
            try rename(folder, path.name, parts, token, UInt32(MPS_NOREPLACE))
        }

        /// Renames; nothing is replaced.
        func move(_ path: SyncPath, to other: SyncPath) throws(FileError) {
            let (from, to) = (try parent(of: path), try parent(of: other))
            try rename(from, path.name, to, other.name, UInt32(MPS_NOREPLACE))
        }

        private func rename(
            _ from: OpenFile, _ name: String, _ to: OpenFile, _ other: String, _ flags: UInt32
        )
            throws(FileError)
        {
            try checked("can't rename \(name) to \(other)") {
                () -> CInt in
                let result = mps_rename(from.descriptor, name, to.descriptor, other, flags)
                guard result != 0, errno == EINVAL, flags == UInt32(MPS_NOREPLACE) else { return result }
                // NFS and sshfs: a second name never replaces. Folders can't have one, and stay where they are.
                guard linkat(from.descriptor, name, to.descriptor, other, 0) == 0 else { return -1 }
                return unlinkat(from.descriptor, name, 0)
            }
        }

        // MARK: Folders

        func makeFolder(_ path: SyncPath) throws(FileError) {
            let folder = try parent(of: path)
            if mkdirat(folder.descriptor, path.name, 0o777) != 0, errno != EEXIST {
                throw FileError("can't make the folder \(path)")
            }
        }

        /// Makes the folders that a path lies in, where they are missing.
        func makeParents(of path: SyncPath) throws(FileError) {
            guard let parent = path.parent, try status(parent) == nil else { return }
            for folder in parent.ancestors.reversed() + [parent] { try makeFolder(folder) }
        }

        /// Only an empty folder goes.
        func removeFolder(_ path: SyncPath) throws(FileError) {
            let folder = try parent(of: path)
            if unlinkat(folder.descriptor, path.name, AT_REMOVEDIR) != 0, errno != ENOENT {
                throw FileError("can't delete the folder \(path)")
            }
        }

        /// Writes the names of files and folders to the disk.
        func synchronizeFolders(of paths: [SyncPath]) throws(FileError) {
            var parents: Set<SyncPath?> = []
            for path in paths where parents.insert(path.parent).inserted {
                do throws(FileError) {
                    try folder(path.parent).synchronize()
                } catch {
                    // It may be gone already. A file system over a network may not know how.
                    guard [ENOENT, ENOTDIR, ELOOP, EINVAL].contains(error.code) else { throw error }
                }
            }
        }
    }
#endif
