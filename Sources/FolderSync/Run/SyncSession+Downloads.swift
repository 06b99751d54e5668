#if HTTP && Outbox
    import Crypto
    import Foundation
    import Glibc
    import MultipathHTTP
    import NIOCore
    import NIOPosix
    import Synchronization

    extension SyncSession {
        /// A file that has arrived whole, and waits for its name.
        struct Fetched: Sendable {
            var token: String
            var file: OpenFile
            var content: ContentHash
            /// As the answer named it: it may be newer than the listing.
            var version: RemoteVersion
            /// How old it was, in seconds, by the server's clock; nil where its tag tells any change.
            var age: Int64?

            /// What is noted for later runs.
            var recorded: RemoteVersion {
                (age ?? .max) < SyncSession.youngestRecorded ? version.untrusted : version
            }

            /// Whether it may be written again in the second in which it was read, without another tag.
            var isYoung: Bool { (age ?? .max) < 2 }

            func remove(from folder: LocalFolder) { folder.removePart(token) }
        }

        func download(_ downloads: [Download]) async throws {
            var fetched: [(Download, Fetched)] = []
            for download in downloads {
                guard !state.value.isOver else { break }
                try await attempt(download.path) {
                    // Else it would be fetched for nothing, run after run.
                    try await self.ensureAtRest(download)
                    fetched.append((download, try await self.fetch(download.path, download.version)))
                }
            }
            guard !fetched.isEmpty else { return }
            // All are on the disk before one has its name, and all that is about to happen is noted.
            var ready: [(Download, Fetched)] = []
            for (download, file) in fetched {
                let isReady = try await attempt(download.path) {
                    try await onFileThread { [folder] in
                        if let status = try folder.status(download.path), download.replaced != nil {
                            try file.file.setMode(status.st_mode)
                        }
                        if let seconds = file.version.modified.flatMap(HTTPTime.seconds) {
                            try file.file.setModified(seconds)
                        }
                    }
                }
                if isReady { ready.append((download, file)) } else { file.remove(from: folder) }
            }
            // One after another, and nothing in between: the file system's journal is written once for all of them.
            for (place, (download, file)) in ready.enumerated().reversed() {
                let isOnDisk = try await attempt(download.path) {
                    try await onFileThread { try file.file.synchronize() }
                }
                if !isOnDisk {
                    file.remove(from: folder)
                    ready.remove(at: place)
                }
            }
            try await store.note(
                ready.map { ($0.0.path, Intent(content: $0.1.content, remote: $0.1.recorded)) })
            let asides = try await onFileThread { [ready] in
                try ready.compactMap { download, file in
                    try download.replaced.map {
                        SyncStore.Aside(
                            token: file.token, path: download.path, local: $0,
                            newInode: try file.file.version().inode)
                    }
                }
            }
            try await store.note(asides)
            // The notes of others stay: what they tell of may be the only copy of what was here.
            var settled: [String] = []
            var changes: [(SyncPath, AgreedItem?)] = []
            for (download, file) in ready {
                try await attempt(download.path) {
                    do {
                        try await self.ensureAtRest(download)
                    } catch {
                        file.remove(from: self.folder)
                        settled.append(file.token)
                        throw error
                    }
                    let version = try await onFileThread { [folder] in
                        try folder.put(file.token, file.file, at: download.path, replacing: download.replaced)
                    }
                    settled.append(file.token)
                    guard let version else {
                        file.remove(from: self.folder)
                        throw Outdated(download.path)
                    }
                    changes.append((download.path, .file(version, file.recorded, file.content)))
                    self.state.report(
                        .done(.download(download.path, file.version, replacing: download.replaced)))
                }
            }
            // A name that the machine's crash undoes must not stand in the record: it would look as if it were deleted here.
            let named = changes.map(\.0)
            try await onFileThread { [folder] in try folder.synchronizeFolders(of: named) }
            try await agree(changes)
            try await store.dropAsides(settled)
            let count = changes.count
            state.update { $0.summary.downloads += count }
        }

        /// A file that a program goes on with is not replaced.
        private func ensureAtRest(_ download: Download) async throws {
            guard download.replaced != nil else { return }
            let isBeingWritten = try await onFileThread { [folder] in
                try folder.isOpenForWriting(download.path)
            }
            if isBeingWritten { throw Outdated(download.path, reason: Self.isBeingWritten) }
        }

        /// Fetches a file into this program's own folder.
        func fetch(_ path: SyncPath, _ version: RemoteVersion) async throws -> Fetched {
            do {
                if let size = version.size, size <= Self.largeFile {
                    return try await fetchSmall(path, version)
                }
                return try await fetchLarge(path, version)
            } catch let error as WebDAVError where error.status == 404 {
                throw Outdated(path)
            } catch let error as MultipathHTTPError where error.status == 404 {
                throw Outdated(path)
            }
        }

        private func fetchSmall(_ path: SyncPath, _ version: RemoteVersion) async throws -> Fetched {
            let token = Self.token("new")
            do {
                return try await client.get(path) { response, body in
                    // A small one is written at once, a larger one as it arrives.
                    var (waiting, offset) = (ByteBuffer(), Int64(0))
                    var arriving: (file: OpenFile, hash: SHA256)?
                    for try await part in body {
                        waiting.writeImmutableBuffer(part)
                        guard waiting.readableBytes >= Self.written else { continue }
                        arriving = try await self.write(waiting, at: offset, arriving, token)
                        offset += Int64(waiting.readableBytes)
                        waiting.clear()
                    }
                    let (file, hash) = try await self.write(waiting, at: offset, arriving, token)
                    offset += Int64(waiting.readableBytes)
                    let found = try self.version(of: response, offset, version, path)
                    self.state.transferred(received: offset)
                    return Fetched(
                        token: token, file: file, content: ContentHash(hash.finalize()), version: found,
                        age: Self.age(of: found, response))
                }
            } catch {
                folder.removePart(token)
                throw error
            }
        }

        /// Of a small file, before it is written.
        private static let written = 1 << 20

        private func write(
            _ bytes: ByteBuffer, at offset: Int64, _ arriving: (file: OpenFile, hash: SHA256)?,
            _ token: String
        ) async throws -> (file: OpenFile, hash: SHA256) {
            try await onFileThread { [folder] in
                let file = try arriving?.file ?? folder.makePart(token)
                var hash = arriving?.hash ?? SHA256()
                try bytes.withUnsafeReadableBytes { bytes in
                    try file.write(bytes, at: offset)
                    hash.update(bufferPointer: bytes)
                }
                file.beginSynchronizing(from: offset, count: Int64(bytes.readableBytes))
                return (file, hash)
            }
        }

        /// - Throws: `Outdated` where the server sent something else than it lists.
        private func version(
            of response: MultipathHTTPResponse, _ size: Int64, _ listed: RemoteVersion, _ path: SyncPath
        ) throws -> RemoteVersion {
            let tag = response.headerFields[.eTag] ?? nil
            let found = RemoteVersion(
                tag: listed.tag == nil ? nil : tag ?? listed.tag, size: size,
                modified: response.headerFields[.lastModified] ?? listed.modified)
            if let listedSize = listed.size, listedSize != size, found.tag == listed.tag {
                throw Outdated(
                    path, reason: "the server lists \(listedSize) bytes, and sent \(size); it is left alone")
            }
            return found
        }

        private static func age(of version: RemoteVersion, _ response: MultipathHTTPResponse) -> Int64? {
            guard version.isCoarse, let written = version.modified.flatMap(HTTPTime.seconds) else {
                return nil
            }
            return (response.headerFields[.date] ?? nil).flatMap(HTTPTime.seconds).map { $0 - written }
        }

        /// A file whose tag is coarse is fetched once more where it was younger, in seconds: where it is deleted, an upload that counts
        /// as older than it is (`past`) may give its time a second time.
        static let youngestRecorded = safeAge + 2

        /// Goes on where an earlier run stopped, where the server names the file by a strong tag.
        private func fetchLarge(_ path: SyncPath, _ version: RemoteVersion) async throws -> Fetched {
            let token = "large-" + ContentHash(SHA256.hash(data: Data(path.text.utf8))).text.prefix(32)
            try await letSettle(version)
            let arrival = Arrival(folder, token + ".part")
            let response = try await client.http.download(
                client.location.url(path, isFolder: false), to: folder.partPath(token),
                headerFields: client.downloadFields, options: client.downloadOptions
            ) { [state] progress in
                let step = arrival.advance(progress)
                if step.isFirst, progress.resumed > 0 {
                    state.report(.continued(path, at: progress.resumed))
                }
                state.transferred(received: step.bytes)
            }
            return try await onFileThread { [folder] in
                let file = try folder.openPart(token)
                let size = try file.version().size
                let found = try self.version(of: response, size, version, path)
                return Fetched(
                    token: token, file: file, content: try arrival.content(of: file), version: found,
                    age: Self.age(of: found, response))
            }
        }
    }

    extension SyncSession {
        /// Waits until a file whose tag is coarse can't be written again under the same tag. What goes on after a break asks by the tag
        /// for the rest, and would get the rest of another version behind the beginning of this one.
        private func letSettle(_ version: RemoteVersion) async throws {
            guard version.isCoarse, let written = version.modified.flatMap(HTTPTime.seconds),
                let time = client.serverTime, (0..<2).contains(time - written)
            else { return }
            try await Task.sleep(for: .seconds(2 - (time - written)))
        }
    }

    /// A large file while it arrives: it is hashed, and on its way to the disk, before it is whole.
    final class Arrival: Sendable {
        private struct Progress {
            var isFirst = true
            var completed: Int64 = 0
            var transferred: Int64 = 0
            /// How often it began anew.
            var beginning = 0
            var isHashing = false
        }

        private struct Hashed {
            var hash = SHA256()
            var offset: Int64 = 0
            var beginning = 0
        }

        private let folder: LocalFolder
        private let name: String
        private let progress = Mutex(Progress())
        private let hashed = Mutex(Hashed())
        /// What is hashed at a time.
        private static let step: Int64 = 8 << 20

        init(_ folder: LocalFolder, _ name: String) {
            self.folder = folder
            self.name = name
        }

        /// - Returns: whether it is the first progress, and how many bytes have come since the one before.
        func advance(_ new: TransferProgress) -> (isFirst: Bool, bytes: Int64) {
            let (step, beginning) = progress.withLock { old -> ((Bool, Int64), Int?) in
                let (isFirst, bytes) = (old.isFirst, new.transferred - old.transferred)
                if isFirst { old.completed = new.resumed }
                // Where it begins anew there are fewer bytes than came.
                if new.completed - old.completed != bytes { old.beginning += 1 }
                (old.isFirst, old.completed, old.transferred) = (false, new.completed, new.transferred)
                let isDue =
                    !old.isHashing && new.completed / Self.step > (new.completed - bytes) / Self.step
                if isDue { old.isHashing = true }
                return ((isFirst, bytes), isDue ? old.beginning : nil)
            }
            if let beginning {
                let end = new.completed
                NIOThreadPool.singleton.submit { _ in
                    // What goes wrong here is seen by the one who reads the whole.
                    if let file = try? self.folder.openPart(self.name) {
                        _ = try? self.hash(file, upTo: end, beginning)
                    }
                    self.progress.withLock { $0.isHashing = false }
                }
            }
            return step
        }

        private func hash(_ file: OpenFile, upTo end: Int64?, _ beginning: Int) throws -> SHA256 {
            try hashed.withLock { hashed in
                if hashed.beginning != beginning {
                    hashed = Hashed()
                    hashed.beginning = beginning
                }
                let first = hashed.offset
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
                defer { buffer.deallocate() }
                while end.map({ hashed.offset < $0 }) ?? true {
                    let most = Int(min(Int64(buffer.count), (end ?? .max) - hashed.offset))
                    let count = try file.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<most]), at: hashed.offset)
                    if count == 0 { break }
                    hashed.hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    hashed.offset += Int64(count)
                }
                file.beginSynchronizing(from: first, count: hashed.offset - first)
                return hashed.hash
            }
        }

        /// Of the file when it is whole.
        func content(of file: OpenFile) throws -> ContentHash {
            // One that began anew and is empty made no progress that would have told.
            if try file.version().size < hashed.withLock({ $0.offset }) {
                progress.withLock { $0.beginning += 1 }
            }
            return ContentHash(try hash(file, upTo: nil, progress.withLock { $0.beginning }).finalize())
        }
    }

    extension LocalFolder {
        /// Gives a downloaded file its name.
        ///
        /// - Parameter replacing: what must be there; nil for nothing.
        /// - Returns: the file as it is now; nil where something else was there, which is there still, or under another name.
        func put(
            _ token: String, _ file: OpenFile, at path: SyncPath, replacing old: LocalVersion?
        ) throws -> LocalVersion? {
            let new = try file.version()
            guard try version(path) == old, try old != nil || status(path) == nil else { return nil }
            if let old {
                var isExchanged = false
                do throws(FileError) {
                    isExchanged = try place(token, at: path, .replacing)
                } catch {
                    // File systems that can't exchange: FAT, and some over a network.
                    guard error.code == EINVAL || error.code == ENOSYS else { throw error }
                    try replace(token, path)
                }
                if isExchanged {
                    // The part is what was there. A change in the last moment gets a name of its own.
                    let gone = Self.goneToken(token)
                    try renamePart(token, gone)
                    _ = try settle(gone, path, old)
                }
            } else {
                try makeParents(of: path)
                do throws(FileError) {
                    _ = try place(token, at: path, .new)
                } catch {
                    if error.code == EEXIST { return nil }
                    throw error
                }
            }
            guard let placed = try version(path), placed.isSameFile(as: new) else { return nil }
            return placed
        }
    }
#endif
