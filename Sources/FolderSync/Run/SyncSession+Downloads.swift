#if HTTP && Outbox
    import Crypto
    import Foundation
    import Glibc
    import MultipathHTTP
    import NIOCore
    import Synchronization

    extension SyncSession {
        /// A file that has arrived whole, and waits for its name.
        struct Fetched: Sendable {
            var token: String
            var file: OpenFile
            var content: ContentHash
            var version: RemoteVersion

            func remove(from folder: LocalFolder) { folder.removePart(token) }
        }

        func download(_ downloads: [Download]) async throws {
            var fetched: [(Download, Fetched)] = []
            for download in downloads {
                guard !state.value.isOver else { break }
                try await attempt(download.path) {
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
                        try file.file.synchronize()
                    }
                }
                if isReady { ready.append((download, file)) } else { file.remove(from: folder) }
            }
            try await store.note(
                ready.map { ($0.0.path, Intent(content: $0.1.content, remote: $0.1.version)) })
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
                    let version = try await onFileThread { [folder] in
                        try folder.put(file.token, file.file, at: download.path, replacing: download.replaced)
                    }
                    settled.append(file.token)
                    guard let version else {
                        file.remove(from: self.folder)
                        throw Outdated(download.path)
                    }
                    changes.append((download.path, .file(version, file.version, file.content)))
                    self.state.report(
                        .done(.download(download.path, file.version, replacing: download.replaced)))
                }
            }
            try await agree(changes)
            try await store.dropAsides(settled)
            let count = changes.count
            state.update { $0.summary.downloads += count }
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
                    let file = try await onFileThread { [folder] in try folder.makePart(token) }
                    var (hash, offset) = (SHA256(), Int64(0))
                    for try await part in body {
                        part.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                        let place = offset
                        try await onFileThread {
                            try part.withUnsafeReadableBytes { try file.write($0, at: place) }
                        }
                        offset += Int64(part.readableBytes)
                    }
                    let found = try self.version(of: response, offset, version, path)
                    self.state.transferred(received: offset)
                    return Fetched(
                        token: token, file: file, content: ContentHash(hash.finalize()), version: found)
                }
            } catch {
                folder.removePart(token)
                throw error
            }
        }

        /// What arrived, as the answer names it: it may be newer than the listing.
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
            // It may have been written again in the second in which it was read.
            if found.isCoarse, let written = found.modified.flatMap(HTTPTime.seconds),
                let now = (response.headerFields[.date] ?? nil).flatMap(HTTPTime.seconds), now - written < 2
            {
                return found.untrusted
            }
            return found
        }

        /// Goes on where an earlier run stopped, where the server names the file by a strong tag.
        private func fetchLarge(_ path: SyncPath, _ version: RemoteVersion) async throws -> Fetched {
            let token = "large-" + ContentHash(SHA256.hash(data: Data(path.text.utf8))).text.prefix(32)
            let first = FirstProgress()
            let response = try await client.http.download(
                client.location.url(path, isFolder: false), to: folder.partPath(token),
                headerFields: client.downloadFields, options: client.downloadOptions
            ) { [state] progress in
                if first.take(), progress.resumed > 0 { state.report(.continued(path, at: progress.resumed)) }
                state.transferred(received: first.advance(to: progress.transferred))
            }
            return try await onFileThread { [folder] in
                let file = try folder.openPart(token)
                let size = try file.version().size
                return Fetched(
                    token: token, file: file, content: try file.content(),
                    version: try self.version(of: response, size, version, path))
            }
        }
    }

    /// Tells a progress's steps.
    private final class FirstProgress: Sendable {
        private let state = Mutex((isFirst: true, bytes: Int64(0)))

        func take() -> Bool {
            state.withLock { state in
                defer { state.isFirst = false }
                return state.isFirst
            }
        }

        func advance(to bytes: Int64) -> Int64 {
            state.withLock { state in
                defer { state.bytes = bytes }
                return bytes - state.bytes
            }
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
                if let parent = path.parent, try status(parent) == nil {
                    for folder in parent.ancestors.reversed() + [parent] { try makeFolder(folder) }
                }
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
