// Deletions: first out of the way, then looked at, then deleted.

#if HTTP && Outbox
    import Glibc
    import MultipathHTTP

    extension SyncSession {
        /// What a program writes into a file that is deleted or replaced would be lost, even where that is later.
        static let isBeingWritten =
            "a program has it open for writing; it is left alone until that ends"

        func deleteLocal(_ path: SyncPath, _ version: LocalVersion) async throws {
            let token = Self.token("gone")
            guard try await onFileThread({ [folder] in try !folder.isOpenForWriting(path) }) else {
                throw Outdated(path, reason: Self.isBeingWritten)
            }
            try await store.note([SyncStore.Aside(token: token, path: path, local: version)])
            // Where it fails the note stays, and the next run puts back what was taken out.
            let isDeleted = try await onFileThread { [folder] in
                guard try folder.version(path) == version else { return false }
                try folder.takeOut(path, as: token)
                return try folder.settle(token, path, version)
            }
            try await store.dropAsides([token])
            guard isDeleted else { throw Outdated(path) }
            try await agree([(path, nil)])
            state.update { $0.summary.deletions += 1 }
        }

        func deleteRemote(_ path: SyncPath, _ version: RemoteVersion) async throws {
            if traits.honoursTags == true, let tag = version.strongTag {
                do {
                    try await client.delete(path, isFolder: false, tag: tag)
                } catch let error as WebDAVError where error.status == 412 {
                    throw Outdated(path)
                }
            } else {
                guard let now = try await client.version(path) else {
                    return try await agree([(path, nil)])
                }
                guard version.matches(now) else { throw Outdated(path) }
                try await deleteAside(
                    SyncStore.Aside(token: Self.token("gone"), path: path, remote: version))
            }
            try await agree([(path, nil)])
            state.update { $0.summary.deletions += 1 }
        }

        func deleteRemoteFolder(_ path: SyncPath) async throws {
            guard try await client.exists(path, isFolder: true) else {
                return try await agree([(path, nil)])
            }
            guard try await client.list(path).isEmptyFolder else { throw Outdated(path) }
            try await deleteAside(SyncStore.Aside(token: Self.token("gone"), path: path, isFolder: true))
            try await agree([(path, nil)])
            state.update { $0.summary.deletions += 1 }
        }

        private func deleteAside(_ aside: SyncStore.Aside) async throws {
            try await makeOwnFolder()
            try await store.note([aside])
            do {
                try await moveOnServer(
                    aside.path, to: try own.appending(aside.token), isFolder: aside.isFolder)
            } catch let error as WebDAVError where error.isOutdated {
                throw Outdated(aside.path)
            }
            guard try await settle(aside) else { throw Outdated(aside.path) }
        }

        /// Deletes what was taken out of its place where it is what it should be, and puts it back otherwise.
        ///
        /// - Returns: whether it is deleted.
        func settle(_ aside: SyncStore.Aside) async throws -> Bool {
            let place = try own.appending(aside.token)
            let isExpected: Bool
            if aside.isFolder {
                guard try await client.exists(place, isFolder: true) else {
                    try await store.dropAsides([aside.token])
                    return true
                }
                // An error leaves it, and the note of it, to the next run.
                isExpected = try await client.list(place).isEmptyFolder
            } else {
                guard let now = try await client.version(place) else {
                    try await store.dropAsides([aside.token])
                    return true
                }
                isExpected =
                    aside.remote.map {
                        $0.matches(now)
                            || !traits.keepsTags && $0.size == now.size && $0.modified == now.modified
                    } ?? false
            }
            if isExpected {
                try await client.delete(place, isFolder: aside.isFolder)
            } else {
                do {
                    try await moveOnServer(place, to: aside.path, isFolder: aside.isFolder)
                } catch let error as WebDAVError where error.status == 412 {
                    let other = aside.path.conflictName(options.conflictLabel) { [state] in
                        state.value.remote[$0] != nil || state.value.agreed[$0] != nil
                    }
                    try await moveOnServer(place, to: other, isFolder: aside.isFolder)
                    kept(aside.path, other)
                    state.isOutdated(other)
                }
            }
            try await store.dropAsides([aside.token])
            return isExpected
        }
    }

    extension LocalFolder {
        /// Deletes what was taken out of its place where it is what it should be, and puts it back otherwise: under another name
        /// where its own is taken.
        ///
        /// - Returns: whether it is deleted.
        func settle(_ token: String, _ path: SyncPath, _ version: LocalVersion) throws -> Bool {
            guard let now = try partVersion(token) else { return true }
            if now.isSameFile(as: version), try !isPartOpenForWriting(token) {
                removePart(token)
                return true
            }
            try makeParents(of: path)
            for number in 0...100 {
                let other =
                    number == 0
                    ? path : path.conflictName("a change while it was synchronized") { _ in false }
                do throws(FileError) {
                    if try !place(token, at: numbered(other, number), .new) { return false }
                } catch {
                    guard error.code == EEXIST else { throw error }
                }
            }
            throw FileError("can't put \(path) back", EEXIST)
        }

        private func numbered(_ path: SyncPath, _ number: Int) -> SyncPath {
            number < 2 ? path : (try? SyncPath(path.text + " \(number)")) ?? path
        }
    }
#endif
