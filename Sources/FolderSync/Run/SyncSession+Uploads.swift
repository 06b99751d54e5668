#if HTTP && Outbox
    import Crypto
    import MultipathHTTP
    import NIOCore
    import Synchronization

    extension SyncSession {
        /// A file that the server has whole, under a name of this program's own.
        private struct Sent: Sendable {
            var upload: Upload
            var place: SyncPath
            var content: ContentHash
            /// The file here, as it was before and after it was read.
            var local: LocalVersion
            var remote = RemoteVersion(tag: nil, size: nil, modified: nil)
        }

        /// Of a file that is read as a whole before it is sent.
        private static let smallest: Int64 = 1 << 20
        /// What a server that appends gets at a time.
        private static let part: Int64 = 16 << 20
        /// Of entity tags and times.
        private static let coarsestTick = Duration.milliseconds(1_050)
        private static let readAtOnce = 256 << 10
        /// A file that changes each time is left for the next run.
        private static let mostTriesWhileChanging = 3

        /// Sends files, looks at them there, and gives them their names.
        func upload(_ uploads: [Upload], _ worker: Int) async throws {
            let lane = try own.appending("lane\(worker)")
            var sent: [Sent] = []
            for upload in uploads {
                guard !state.value.isOver else { break }
                try await attempt(upload.path) {
                    if upload.version.size > Self.largeFile {
                        sent.append(try await self.sendLarge(upload))
                    } else {
                        try await self.makeLane(lane)
                        sent.append(try await self.send(upload, in: lane))
                    }
                }
            }
            guard let first = sent.first else { return }
            // One listing tells of all whether they arrived whole, and by which tags they will be known.
            let isAlone = first.place.parent == own
            let isListed = try await attempt(first.upload.path) {
                let listing = try await self.client.list(
                    isAlone ? first.place : lane, isFolder: !isAlone, depth: isAlone ? 0 : 1)
                var versions: [SyncPath: RemoteVersion] = [:]
                for (path, item) in isAlone ? [(first.place, listing.item)] : listing.children {
                    if case .file(let version)? = item { versions[path] = version }
                }
                for place in sent.indices {
                    if let version = versions[sent[place].place] { sent[place].remote = version }
                }
            }
            guard isListed else { return }
            var whole: [Sent] = []
            for file in sent {
                let (size, expected) = (file.remote.size, file.local.size)
                if size == expected {
                    whole.append(file)
                } else {
                    state.trouble(
                        file.upload.path,
                        "the server has \(size.map { "\($0)" } ?? "none") of its \(expected) bytes after the upload"
                    )
                    try await store.dropUpload(file.upload.path)
                }
            }
            try await store.note(
                whole.map { ($0.upload.path, Intent(content: $0.content, remote: $0.remote)) })
            // Whatever is written from the next second on has another tag.
            if whole.contains(where: { $0.remote.isCoarse }) {
                try await Task.sleep(for: Self.coarsestTick)
            }
            var changes: [(SyncPath, AgreedItem?)] = []
            for file in whole {
                let path = file.upload.path
                try await attempt(path) {
                    let remote = try await self.name(file)
                    changes.append((path, .file(Self.trusted(file.local), remote, file.content)))
                    self.state.report(.done(.upload(path, file.local, replacing: file.upload.replaced)))
                    if isAlone { try await self.store.dropUpload(path) }
                }
            }
            try await agree(changes)
            let count = changes.count
            state.update { $0.summary.uploads += count }
        }

        private func makeLane(_ lane: SyncPath) async throws {
            try await makeOwnFolder()
            guard !state.value.lanes.contains(lane) else { return }
            try await client.makeFolder(lane)
            state.update { _ = $0.lanes.insert(lane) }
        }

        /// Gives a file on the server its name.
        ///
        /// - Returns: what the server has there now.
        private func name(_ file: Sent) async throws -> RemoteVersion {
            let path = file.upload.path
            let isDoubtful: Bool
            do {
                if let replaced = file.upload.replaced {
                    if traits.honoursTags, let tag = replaced.strongTag {
                        isDoubtful = try await client.move(
                            file.place, to: path, replacesAny: true, tag: tag)
                    } else {
                        // Between the look and the move another client may write: this server has no condition for that.
                        guard let now = try await client.version(path), replaced.matches(now) else {
                            throw Outdated(path)
                        }
                        isDoubtful = try await client.move(file.place, to: path, replacesAny: true)
                    }
                } else {
                    isDoubtful = try await moveOnServer(file.place, to: path, isFolder: false)
                }
            } catch let error as WebDAVError where error.isOutdated {
                // A name that is new to the plan and to the last listing is taken all the same: by one that the server
                // doesn't tell from it, where it is not listed.
                throw Outdated(path, reason: error.status == 409 ? "\(error)" : nil)
            }
            if traits.keepsTags, !isDoubtful { return file.remote }
            guard let now = try await client.version(path), now.size == file.remote.size,
                !isDoubtful || traits.keepsTags && file.remote.matches(now)
            else {
                // The next pass compares the contents.
                throw Outdated(path)
            }
            return now
        }

        /// A file that was written in this very moment may be written again in the same tick of the clock: it is read once more
        /// by the next scan.
        private static func trusted(_ version: LocalVersion) -> LocalVersion {
            let now = Int64(WallTime.now)
            guard abs(now - version.modified / 1_000_000_000) < 2 else { return version }
            var version = version
            version.changed = -1
            return version
        }

        // MARK: One file

        /// Sends a file, again where it changes meanwhile.
        private func send(_ upload: Upload, in lane: SyncPath) async throws -> Sent {
            for number in 1... {
                // A name of its own for each: what an earlier try left under a name could be taken for this.
                let place = try lane.appending(Self.token("file"))
                let file = try await onFileThread { [folder] in try folder.open(upload.path) }
                let before = try await onFileThread { try file.version() }
                let hash: ContentHash?
                do {
                    if before.size <= Self.smallest {
                        let (bytes, content) = try await onFileThread { try file.whole(Int(before.size)) }
                        try await client.put(place, .bytes(bytes))
                        hash = content
                    } else {
                        let box = HashBox()
                        try await client.put(place, Self.body(file, 0, before.size, box))
                        hash = box.content
                    }
                } catch is FileChanged {
                    hash = nil
                }
                let after = try await onFileThread { [folder] in try folder.version(upload.path) }
                if let hash, after == before {
                    state.transferred(sent: before.size)
                    return Sent(upload: upload, place: place, content: hash, local: before)
                }
                guard after != nil else { throw Outdated(upload.path) }
                guard number < Self.mostTriesWhileChanging else { break }
                state.report(.changedWhileSent(upload.path))
            }
            throw Outdated(
                upload.path, reason: "it changes all the time; it is sent when it rests, by the next run")
        }

        /// A body that is read while it is sent, and hashed.
        private static func body(
            _ file: OpenFile, _ start: Int64, _ end: Int64, _ box: HashBox,
            sent: @escaping @Sendable (Int64) -> Void = { _ in }
        ) -> HTTPRequestBody {
            .restartable(length: end - start) { writer in
                var hash = box.start
                var offset = start
                while offset < end {
                    let (place, count) = (offset, Int(min(end - offset, Int64(readAtOnce))))
                    let bytes = try await onFileThread { try file.bytes(count, at: place) }
                    guard bytes.readableBytes > 0 else {
                        throw FileChanged()
                    }
                    bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                    try await writer.write(bytes)
                    offset += Int64(bytes.readableBytes)
                    sent(Int64(bytes.readableBytes))
                }
                box.finish(hash)
            }
        }

        /// A large file goes in parts where the server appends them, and goes on after the last one that arrived.
        private func sendLarge(_ upload: Upload) async throws -> Sent {
            try await makeOwnFolder()
            for number in 1... {
                let file = try await onFileThread { [folder] in try folder.open(upload.path) }
                let before = try await onFileThread { try file.version() }
                let known = try await store.uploads().first { $0.path == upload.path }
                let isContinued = known?.local == before && traits.appends
                let token = isContinued ? known?.token ?? "" : Self.token("large")
                let place = try own.appending(token)
                try await store.note(SyncStore.Upload(path: upload.path, token: token, local: before))
                let hash: ContentHash?
                do {
                    hash = try await sendParts(upload, file, before, place, isContinued: known != nil)
                } catch is FileChanged {
                    hash = nil
                }
                let after = try await onFileThread { [folder] in try folder.version(upload.path) }
                if let hash, after == before {
                    return Sent(upload: upload, place: place, content: hash, local: before)
                }
                try await store.dropUpload(upload.path)
                try await client.delete(place, isFolder: false)
                guard after != nil else { throw Outdated(upload.path) }
                guard number < Self.mostTriesWhileChanging else { break }
                state.report(.changedWhileSent(upload.path))
            }
            throw Outdated(
                upload.path, reason: "it changes all the time; it is sent when it rests, by the next run")
        }

        private func sendParts(
            _ upload: Upload, _ file: OpenFile, _ version: LocalVersion, _ place: SyncPath, isContinued: Bool
        ) async throws -> ContentHash {
            let size = version.size
            let box = HashBox()
            guard traits.appends else {
                if isContinued {
                    state.report(.restarted(upload.path, "the server can't go on with an upload"))
                }
                try await client.put(
                    place, Self.body(file, 0, size, box) { [state] in state.transferred(sent: $0) })
                return box.content
            }
            var offset: Int64 = 0
            if isContinued, let there = try await client.version(place)?.size, there > 0, there <= size {
                offset = there
                state.report(.continued(upload.path, at: offset))
                let hash = try await onFileThread { try file.hash(upTo: there) }
                box.advance(hash)
            }
            while offset < size {
                try Task.checkCancellation()
                let (start, end) = (offset, min(offset + Self.part, size))
                try await client.put(
                    place, Self.body(file, start, end, box) { [state] in state.transferred(sent: $0) },
                    range: start == 0 ? nil : (first: start, total: size))
                box.advance(box.last)
                offset = end
                if try await onFileThread({ try file.version() }) != version { throw FileChanged() }
            }
            return box.content
        }
    }

    /// A file has another length than before.
    struct FileChanged: Error {}

    /// SHA-256 of what was sent so far. A part that is sent again begins where the part before ended.
    private final class HashBox: Sendable {
        private let state = Mutex((start: SHA256(), last: SHA256()))

        var start: SHA256 { state.withLock { $0.start } }
        var last: SHA256 { state.withLock { $0.last } }
        var content: ContentHash { ContentHash(last.finalize()) }

        func finish(_ hash: SHA256) { state.withLock { $0.last = hash } }
        func advance(_ hash: SHA256) { state.withLock { $0 = (hash, hash) } }
    }

    extension OpenFile {
        fileprivate func bytes(_ count: Int, at offset: Int64) throws -> ByteBuffer {
            var bytes = ByteBufferAllocator().buffer(capacity: count)
            _ = try bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { pointer in
                try read(into: UnsafeMutableRawBufferPointer(rebasing: pointer[..<count]), at: offset)
            }
            return bytes
        }

        fileprivate func whole(_ size: Int) throws -> (ByteBuffer, ContentHash) {
            let bytes = try bytes(size, at: 0)
            var hash = SHA256()
            bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            return (bytes, ContentHash(hash.finalize()))
        }

        fileprivate func hash(upTo end: Int64) throws -> SHA256 {
            var (hash, offset) = (SHA256(), Int64(0))
            while offset < end {
                let bytes = try bytes(Int(min(end - offset, 1 << 20)), at: offset)
                guard bytes.readableBytes > 0 else { throw FileChanged() }
                bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                offset += Int64(bytes.readableBytes)
            }
            return hash
        }
    }
#endif
