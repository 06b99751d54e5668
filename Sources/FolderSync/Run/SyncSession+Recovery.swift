#if HTTP && Outbox
    extension SyncSession {
        /// Settles what an earlier run left behind here: what was to be deleted or replaced, and what had half arrived.
        func recoverLocal() async throws {
            for aside in try await store.asides() {
                guard let version = aside.local else { continue }
                try await onFileThread { [folder] in
                    let gone = LocalFolder.goneToken(aside.token)
                    if try folder.partVersion(gone) != nil {
                        try folder.settleOrKeep(gone, aside.path, version)
                    }
                    guard let now = try folder.partVersion(aside.token) else { return }
                    // The new file, which had not taken its place yet, or else the user's.
                    if now.inode == aside.newInode {
                        folder.removePart(aside.token)
                    } else {
                        try folder.settleOrKeep(aside.token, aside.path, version)
                    }
                }
                try await store.dropAsides([aside.token])
            }
            try await onFileThread { [folder] in
                for name in try folder.partNames() where name.hasPrefix("new-") { folder.removePart(name) }
                // A file without a note is one whose note the machine's crash took. It is kept.
                for name in try folder.partNames() where name.hasPrefix("gone-") {
                    let path = try SyncPath("recovered \(name)")
                    try folder.move(part: name, to: path)
                }
            }
        }

        /// The same on the server.
        func recoverRemote() async throws {
            guard try await client.exists(own, isFolder: true) else { return }
            state.update { $0.hasOwnFolder = true }
            for aside in try await store.asides() where aside.local == nil {
                try await attempt(aside.path) {
                    if try await !self.settle(aside) { self.state.isOutdated(aside.path) }
                }
            }
            let kept = Set(traits.appends ? try await store.uploads().map(\.token) : [])
            for (path, item) in try await client.list(own).children where !kept.contains(path.name) {
                // What has no note and was taken out of its place stays.
                guard let item, !path.name.hasPrefix("gone-") else { continue }
                try await client.delete(path, isFolder: item.isFolder)
            }
            try await lookAgain()
        }

        /// Removes what this run needed. What a later run goes on with stays.
        func tidyUp() async throws {
            let content = state.value
            let noted = Set(try await store.asides().map(\.token))
            try await onFileThread { [folder] in
                for name in try folder.partNames()
                where !noted.contains(name)
                    && (name.hasPrefix("new-") || name.hasPrefix("large-") && content.troubles.isEmpty)
                {
                    folder.removePart(name)
                }
            }
            if content.troubles.isEmpty {
                for upload in try await store.uploads() { try await store.dropUpload(upload.path) }
            }
            guard content.hasOwnFolder, try await store.uploads().isEmpty,
                try await store.asides().isEmpty
            else { return }
            do {
                let found = try await client.list(own)
                guard found.doubt == nil, !found.children.contains(where: { $0.path.name.hasPrefix("gone-") })
                else {
                    state.trouble(
                        nil,
                        "in \(own) on the server is what an earlier run took out of its place; look at it")
                    return
                }
                try await client.delete(own, isFolder: true)
                state.update { content in
                    content.hasOwnFolder = false
                    content.lanes = []
                }
            } catch let error as WebDAVError {
                state.trouble(nil, "this program's own folder stays on the server: \(error)")
            }
        }
    }

    extension LocalFolder {
        /// Settles; what can't have its place again is kept at the top.
        func settleOrKeep(_ token: String, _ path: SyncPath, _ version: LocalVersion) throws {
            do {
                _ = try settle(token, path, version)
            } catch let error as FileError where !error.isFull {
                try move(part: token, to: try SyncPath("recovered \(token)"))
            }
        }

        func move(part token: String, to path: SyncPath) throws(FileError) {
            _ = try place(token, at: path, .new)
        }
    }
#endif
