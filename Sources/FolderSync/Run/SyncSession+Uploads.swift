#if HTTP && Outbox
    import MultipathHTTP

    extension SyncSession {
        /// A file that the server has whole, under a name of this program's own.
        struct Sent: Sendable {
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
        /// A file that changes each time is left for the next run.
        private static let mostTriesWhileChanging = 3

        /// Sends files, and looks at them there.
        ///
        /// - Returns: that they get their names; nil where none has arrived.
        func upload(_ uploads: [Upload], _ worker: Int) async throws -> Job? {
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
            guard let first = sent.first else { return nil }
            let arrived = ContinuousClock.now
            // One listing tells of all whether they arrived whole, and by which tags they will be known.
            let isAlone = first.place.parent == own
            var listingTime: Int64?
            let isListed = try await attempt(first.upload.path) {
                let listing = try await self.client.list(
                    isAlone ? first.place : lane, isFolder: !isAlone, depth: isAlone ? 0 : 1)
                listingTime = listing.time
                var versions: [SyncPath: RemoteVersion] = [:]
                for (path, item) in isAlone ? [(first.place, listing.item)] : listing.children {
                    if case .file(let version)? = item { versions[path] = version }
                }
                for place in sent.indices {
                    if let version = versions[sent[place].place] { sent[place].remote = version }
                }
            }
            guard isListed else { return nil }
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
            let isCoarse = whole.contains { $0.remote.isCoarse && !isOlder($0.remote, than: listingTime) }
            return .naming(whole, notBefore: isCoarse ? arrived + Self.coarsestTick : arrived)
        }

        /// What an upload is to count as written at on the server, in seconds since 1970: so long ago that nothing written from
        /// now on gets the same time, and later than what it replaces. Nil for now, as where it replaces nothing: another client may
        /// have had a file of that name and time there a moment ago, and have deleted or moved it.
        private func past(for upload: Upload) -> Int64? {
            guard traits.takesDates, let time = client.serverTime, let replaced = upload.replaced,
                let written = replaced.modified.flatMap(HTTPTime.seconds), written < time - Self.safeAge
            else { return nil }
            return time - Self.safeAge
        }

        /// Whether no file that is written from now on gets the time of this one.
        private func isOlder(_ version: RemoteVersion, than time: Int64?) -> Bool {
            guard traits.takesDates, let time, let written = version.modified.flatMap(HTTPTime.seconds) else {
                return false
            }
            return written <= time - Self.safeAge
        }

        /// In seconds: more than a server's clock and that of its files differ by.
        static let safeAge: Int64 = 3

        /// Gives files that the server has whole their names.
        func name(_ files: [Sent]) async throws {
            var changes: [(SyncPath, AgreedItem?)] = []
            for file in files {
                let path = file.upload.path
                try await attempt(path) {
                    let remote = try await self.name(file)
                    changes.append((path, .file(Self.trusted(file.local), remote, file.content)))
                    self.state.report(.done(.upload(path, file.local, replacing: file.upload.replaced)))
                    if file.place.parent == self.own { try await self.store.dropUpload(path) }
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
                    if traits.honoursTags == true, let tag = replaced.strongTag {
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
            // What went in parts is looked at once more: a part whose connection broke may have been written since.
            let isLarge = file.place.parent == own
            if traits.keepsTags || state.value.keepsTimes, !isDoubtful, !isLarge { return file.remote }
            guard let now = try await client.version(path), now.size == file.remote.size else {
                throw Outdated(path)
            }
            let isSame = file.remote.matches(now)
            guard isSame || !isDoubtful && !traits.keepsTags else {
                // The next pass compares the contents.
                throw Outdated(path)
            }
            // It was sent a second ago or more: without tags that is all there is to see.
            if isSame, !isDoubtful, now.tag == nil, now.modified != nil {
                state.update { $0.keepsTimes = true }
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
                let place: SyncPath
                let name = { try lane.appending(Self.token("file")) }
                let file = try await onFileThread { [folder] in try folder.open(upload.path) }
                let before = try await onFileThread { try file.version() }
                let hash: ContentHash?
                do {
                    if before.size <= Self.smallest {
                        let (bytes, content) = try await onFileThread { try file.whole(Int(before.size)) }
                        place = try await client.put(.bytes(bytes), written: past(for: upload), under: name)
                        hash = content
                    } else {
                        let outgoing = OutgoingFile(file, size: before.size)
                        place = try await client.put(
                            outgoing.body(from: 0, to: before.size), written: past(for: upload), under: name)
                        hash = outgoing.content
                    }
                } catch is FileChanged {
                    (place, hash) = (own, nil)
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

        /// A large file goes in parts where the server appends them, and goes on after the last one that arrived.
        private func sendLarge(_ upload: Upload) async throws -> Sent {
            try await makeOwnFolder()
            for number in 1... {
                let file = try await onFileThread { [folder] in try folder.open(upload.path) }
                let before = try await onFileThread { try file.version() }
                let known = try await store.uploads().first { $0.path == upload.path }
                let earlier = known?.local == before && traits.appends ? known?.token : nil
                if known != nil, earlier == nil {
                    state.report(
                        .restarted(
                            upload.path,
                            traits.appends ? "it has changed" : "the server can't go on with an upload"))
                }
                var sent: (place: SyncPath, content: ContentHash)?
                do {
                    sent = try await sendParts(upload, file, before, earlier)
                } catch is FileChanged {}
                let after = try await onFileThread { [folder] in try folder.version(upload.path) }
                if let sent, after == before {
                    return Sent(upload: upload, place: sent.place, content: sent.content, local: before)
                }
                if let known = try await store.uploads().first(where: { $0.path == upload.path }) {
                    try await store.dropUpload(upload.path)
                    try await client.delete(try own.appending(known.token), isFolder: false)
                }
                guard after != nil else { throw Outdated(upload.path) }
                guard number < Self.mostTriesWhileChanging else { break }
                state.report(.changedWhileSent(upload.path))
            }
            throw Outdated(
                upload.path, reason: "it changes all the time; it is sent when it rests, by the next run")
        }

        /// - Parameter earlier: what a part of it is called that arrived before.
        private func sendParts(
            _ upload: Upload, _ file: OpenFile, _ version: LocalVersion, _ earlier: String?
        ) async throws -> (place: SyncPath, content: ContentHash) {
            let (size, outgoing) = (version.size, OutgoingFile(file, size: version.size))
            let sent: @Sendable (Int64) -> Void = { [state] in state.transferred(sent: $0) }
            var (offset, place) = (Int64(0), own)
            if let earlier {
                place = try own.appending(earlier)
                if let there = try await client.version(place)?.size, there > 0, there <= size {
                    offset = there
                    state.report(.continued(upload.path, at: offset))
                    try await onFileThread { try outgoing.skip(to: there) }
                }
            }
            if offset == 0 {
                let end = traits.appends ? min(size, Self.part) : size
                var tries = 0
                place = try await client.put(
                    outgoing.body(from: 0, to: end, sent: sent), written: past(for: upload)
                ) {
                    tries += 1
                    if tries > 1, !self.traits.appends {
                        self.state.report(
                            .restarted(
                                upload.path, "its connection broke; the server can't go on with an upload"))
                    }
                    let token = Self.token("large")
                    try await self.store.note(
                        SyncStore.Upload(path: upload.path, token: token, local: version))
                    return try self.own.appending(token)
                }
                outgoing.arrived()
                offset = end
            }
            while offset < size {
                try Task.checkCancellation()
                let (start, end) = (offset, min(offset + Self.part, size))
                try await client.put(
                    place, outgoing.body(from: start, to: end, sent: sent), range: (first: start, total: size)
                )
                outgoing.arrived()
                offset = end
                if try await onFileThread({ try file.version() }) != version { throw FileChanged() }
            }
            return (place, outgoing.content)
        }
    }
#endif
