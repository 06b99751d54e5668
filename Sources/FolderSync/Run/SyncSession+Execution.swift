#if HTTP && Outbox
    import Glibc
    import MultipathHTTP

    extension SyncSession {
        /// A file that is larger goes alone, and goes on where it stopped.
        static let largeFile: Int64 = 8 << 20
        /// Small files of one batch: they are looked at, noted and renamed together.
        static let mostInBatch = 32
        static let largestBatch: Int64 = 16 << 20

        /// What one worker does in one go.
        enum Job: Sendable {
            case uploads([Upload])
            /// Files that have arrived, once the server's clock has gone on.
            case naming([Sent], notBefore: ContinuousClock.Instant)
            case downloads([Download])
            case other(SyncAction)
        }

        struct Upload: Sendable {
            var path: SyncPath
            var version: LocalVersion
            var replaced: RemoteVersion?
        }

        struct Download: Sendable {
            var path: SyncPath
            var version: RemoteVersion
            var replaced: LocalVersion?
        }

        /// Does what a plan says, phase by phase. What fails is a trouble, and ends nothing else.
        ///
        /// - Throws: `CancellationError`, and what ends all.
        func execute(_ plan: SyncPlan) async throws {
            for phase in SyncAction.Phase.allCases where phase != .record {
                let actions = plan.actions.filter { $0.phase == phase }
                guard !actions.isEmpty, !state.value.isOver else { continue }
                let jobs = Self.jobs(actions)
                // A folder is made before what is in it, and deleted after that.
                let isOrdered = phase == .folders || phase == .emptyFolders || phase == .conflicts
                try await run(jobs, at: isOrdered ? 1 : transfers)
            }
        }

        private static func jobs(_ actions: [SyncAction]) -> [Job] {
            var jobs: [Job] = []
            var (uploads, downloads) = ([Upload](), [Download]())
            var (sent, received) = (Int64(0), Int64(0))
            func flushUploads() {
                if !uploads.isEmpty { jobs.append(.uploads(uploads)) }
                (uploads, sent) = ([], 0)
            }
            func flushDownloads() {
                if !downloads.isEmpty { jobs.append(.downloads(downloads)) }
                (downloads, received) = ([], 0)
            }
            for action in actions {
                switch action {
                case .upload(let path, let version, let replaced):
                    let upload = Upload(path: path, version: version, replaced: replaced)
                    guard version.size <= largeFile else {
                        jobs.append(.uploads([upload]))
                        continue
                    }
                    uploads.append(upload)
                    sent += version.size
                    if uploads.count >= mostInBatch || sent >= largestBatch { flushUploads() }
                case .download(let path, let version, let replaced):
                    let download = Download(path: path, version: version, replaced: replaced)
                    // Where the server doesn't say how large it is, it may be large.
                    guard let size = version.size, size <= largeFile else {
                        jobs.append(.downloads([download]))
                        continue
                    }
                    downloads.append(download)
                    received += size
                    if downloads.count >= mostInBatch || received >= largestBatch { flushDownloads() }
                default: jobs.append(.other(action))
                }
            }
            flushUploads()
            flushDownloads()
            return jobs
        }

        /// - Parameter width: how many jobs run at a time.
        private func run(_ jobs: [Job], at width: Int) async throws {
            try await withThrowingTaskGroup(of: (worker: Int, next: Job?).self) { group in
                var queue = JobQueue(jobs)
                var idle = Array((0..<width).reversed())
                while true {
                    if state.value.isOver { queue.dropNew() }
                    while !idle.isEmpty, let job = queue.next() {
                        let worker = idle.removeLast()
                        group.addTask { (worker, try await self.perform(job, worker)) }
                    }
                    guard let done = try await group.next() else { return }
                    idle.append(done.worker)
                    if let job = done.next { queue.append(job) }
                }
            }
        }

        /// What workers do next: files get their names once that time has come, and others are sent until then.
        private struct JobQueue {
            private var new: ArraySlice<Job>
            private var named: [(job: Job, notBefore: ContinuousClock.Instant)] = []

            init(_ jobs: [Job]) { new = jobs[...] }

            mutating func append(_ job: Job) {
                guard case .naming(_, let time) = job else { return new.append(job) }
                named.append((job, time))
            }

            /// Nothing new is begun. What has arrived still gets its name.
            mutating func dropNew() { new = [] }

            mutating func next() -> Job? {
                if let first = named.first, first.notBefore <= .now || new.isEmpty {
                    return named.removeFirst().job
                }
                return new.popFirst()
            }
        }

        /// - Returns: what is left to do for it.
        private func perform(_ job: Job, _ worker: Int) async throws -> Job? {
            switch job {
            case .uploads(let uploads): return try await upload(uploads, worker)
            case .naming(let files, let time):
                try await ContinuousClock().sleep(until: time)
                try await name(files)
            case .downloads(let downloads): try await download(downloads)
            case .other(let action):
                try await attempt(action.path) {
                    try await self.perform(action)
                    self.state.report(.done(action))
                }
            }
            return nil
        }

        /// Does something for a path. That it fails is the path's trouble; what has changed meanwhile is looked at again.
        ///
        /// - Returns: whether it was done.
        @discardableResult
        func attempt(_ path: SyncPath, _ body: () async throws -> Void) async throws -> Bool {
            do {
                try await body()
                return true
            } catch is CancellationError {
                throw CancellationError()
            } catch let error as Outdated {
                for path in error.paths { state.isOutdated(path) }
                if let reason = error.reason { state.trouble(path, reason) }
            } catch let error as WebDAVError {
                state.isOutdated(path)
                if error.isFinal { state.update { $0.isOver = true } }
                state.trouble(path, "\(error)")
            } catch let error as FileError {
                if error.isFull { state.update { $0.isOver = true } }
                state.trouble(path, "\(error)")
            } catch let error as MultipathHTTPError {
                try Task.checkCancellation()
                if let code = error.errno, FileError.isFull(code) { state.update { $0.isOver = true } }
                state.trouble(path, "\(error)")
            } catch let error as FolderSyncError {
                if case .record = error { throw error }
                state.trouble(path, "\(error)")
            } catch is FileChanged {
                state.isOutdated(path)
            } catch let error as SyncPath.Malformed {
                state.trouble(path, "\(error)")
            }
            return false
        }

        /// Something is not as the plan expected. The next pass decides anew.
        struct Outdated: Error {
            var paths: [SyncPath]
            /// Nil where that is nothing to tell.
            var reason: String?

            init(_ paths: SyncPath..., reason: String? = nil) {
                self.paths = paths
                self.reason = reason
            }
        }

        // MARK: Small deeds

        private func perform(_ action: SyncAction) async throws {
            switch action {
            case .makeLocalFolder(let path):
                try await onFileThread { [folder] in
                    try folder.makeFolder(path)
                    try folder.synchronizeFolders(of: [path])
                }
                try await agree([(path, .folder)])
            case .makeRemoteFolder(let path):
                try await client.makeFolder(path)
                try await agree([(path, .folder)])
            case .keepLocalAs(let path, let other):
                try await onFileThread { [folder] in try folder.move(path, to: other) }
                kept(path, other)
            case .keepRemoteAs(let path, let other):
                let isFolder = state.value.remote[path]?.isFolder == true
                try await moveOnServer(path, to: other, isFolder: isFolder)
                state.isOutdated(path, other)
                kept(path, other)
            case .moveLocal(let path, let other, let version, let remote, let content):
                try await moveLocal(path, other, version, remote, content)
            case .moveRemote(let path, let other, let version, let remote, let content):
                try await moveRemote(path, other, version, remote, content)
            case .deleteLocal(let path, let version): try await deleteLocal(path, version)
            case .deleteRemote(let path, let version): try await deleteRemote(path, version)
            case .deleteLocalFolder(let path):
                do {
                    try await onFileThread { [folder] in try folder.removeFolder(path) }
                } catch let error as FileError where error.code == ENOTEMPTY || error.code == EEXIST {
                    // Something new is in it.
                    throw Outdated()
                }
                try await agree([(path, nil)])
                state.update { $0.summary.deletions += 1 }
            case .deleteRemoteFolder(let path): try await deleteRemoteFolder(path)
            case .compare(let path, let version, let remote): try await compare(path, version, remote)
            case .upload, .download, .agree, .forget: preconditionFailure("\(action) is done elsewhere")
            }
        }

        func kept(_ path: SyncPath, _ other: SyncPath) {
            state.update { $0.summary.conflicts += 1 }
            state.report(.conflict(path, keptAs: other))
        }

        private func moveLocal(
            _ path: SyncPath, _ other: SyncPath, _ version: LocalVersion, _ remote: RemoteVersion,
            _ content: ContentHash
        ) async throws {
            let moved = try await onFileThread { [folder] in
                guard try folder.version(path) == version else { return LocalVersion?.none }
                try folder.makeParents(of: other)
                try folder.move(path, to: other)
                try folder.synchronizeFolders(of: [other])
                return try folder.version(other)
            }
            guard let moved, moved.isSameFile(as: version) else { throw Outdated(path, other) }
            try await agree([(path, nil), (other, .file(moved, remote, content))])
            state.update { $0.summary.moves += 1 }
        }

        private func moveRemote(
            _ path: SyncPath, _ other: SyncPath, _ version: LocalVersion, _ remote: RemoteVersion,
            _ content: ContentHash
        ) async throws {
            // The source has to be what was agreed: whatever it is otherwise would be taken along.
            guard let now = try await client.version(path), remote.matches(now) else {
                throw Outdated(path)
            }
            try await store.note([(other, Intent(content: content, remote: remote))])
            let isDoubtful: Bool
            do {
                if Self.folded(path.text) == Self.folded(other.text) {
                    isDoubtful = try await moveByWay(path, to: other, remote)
                } else {
                    isDoubtful = try await moveOnServer(path, to: other, isFolder: false)
                }
            } catch let error as WebDAVError where error.isOutdated {
                throw Outdated(path, other)
            }
            guard let moved = try await client.version(other) else { throw Outdated(path, other) }
            // A server may give another tag; the size is all there is then.
            guard
                remote.matches(moved)
                    || !isDoubtful && !traits.keepsTags && moved.size == remote.size
            else {
                throw Outdated(path, other)
            }
            try await agree([(path, nil), (other, .file(version, moved, content))])
            state.update { $0.summary.moves += 1 }
        }

        /// Renames a file to what a server that folds names takes for the same name: by a name of this program's own. Where it
        /// ends half-way, the next run settles it: it deletes the file there only where it is as agreed, and it is sent again.
        private func moveByWay(
            _ path: SyncPath, to other: SyncPath, _ version: RemoteVersion
        ) async throws -> Bool {
            try await makeOwnFolder()
            let aside = SyncStore.Aside(token: Self.token("gone"), path: path, remote: version)
            let way = try own.appending(aside.token)
            try await store.note([aside])
            let wasLost = try await moveOnServer(path, to: way, isFolder: false)
            do {
                let isDoubtful = try await moveOnServer(way, to: other, isFolder: false)
                try await store.dropAsides([aside.token])
                return isDoubtful || wasLost
            } catch let error as WebDAVError {
                try await moveOnServer(way, to: path, isFolder: false)
                try await store.dropAsides([aside.token])
                throw error
            }
        }

        /// Moves to a name that is new.
        ///
        /// - Returns: whether what is there now has to be looked at, as an answer was lost.
        @discardableResult
        func moveOnServer(_ path: SyncPath, to other: SyncPath, isFolder: Bool) async throws -> Bool {
            if !traits.honoursOverwrite, try await client.exists(other, isFolder: isFolder) {
                throw WebDAVError("MOVE", other.text, 412)
            }
            return try await client.move(path, to: other, isFolder: isFolder, replacesAny: false)
        }

        private func compare(_ path: SyncPath, _ version: LocalVersion, _ remote: RemoteVersion) async throws
        {
            let content = try await onFileThread { [folder] in
                let file = try folder.open(path)
                let content = try file.content()
                return try file.version() == version ? content : nil
            }
            guard let content else { throw Outdated(path) }
            let fetched = try await fetch(path, remote)
            fetched.remove(from: folder)
            if fetched.content == content {
                try await agree([(path, .file(version, fetched.recorded, content))])
            } else if case .file(let old, _, let agreed)? = state.value.agreed[path],
                fetched.content == agreed
            {
                // The server has what was agreed, as another version: only this side has changed it.
                try await agree([(path, .file(old, fetched.recorded, agreed))])
                // The next pass replaces this version, and asks the server whether it is still there.
                if !fetched.isYoung { state.agreed(path, .file(old, fetched.version, agreed)) }
            } else {
                state.update { state in
                    state.remote[path] = .file(fetched.version)
                    state.different[path] = SyncSituation.DifferentVersions(
                        local: version, remote: fetched.version)
                }
            }
        }

        // MARK: Names of this program's own

        static func token(_ kind: String) -> String {
            "\(kind)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        }

        func makeOwnFolder() async throws {
            guard !state.value.hasOwnFolder else { return }
            try await client.makeFolder(own)
            state.update { $0.hasOwnFolder = true }
        }
    }
#endif
