#if HTTP && Outbox
    extension SyncSession {
        /// Reads everything that the server has, folder by folder: `Depth: infinity` is forbidden on most (RFC 4918 section
        /// 9.1.1).
        func listServer() async throws {
            var found: [SyncPath: RemoteItem] = [:]
            var unknown: Set<SyncPath> = []
            var troubles: [SyncTrouble] = []
            var waiting: [SyncPath?] = [nil]
            state.update { $0.spellings = [:] }
            var asked: Set<SyncPath> = []
            while true {
                if waiting.isEmpty {
                    for (path, answer) in try await unlisted(found, unknown, &asked) {
                        switch answer {
                        case .gone: continue
                        case .there(let item):
                            found[path] = item
                            if item.isFolder { waiting.append(path) }
                        case .unknown(let reason):
                            unknown.insert(path)
                            troubles.append(SyncTrouble(path, reason))
                        }
                    }
                    if waiting.isEmpty { break }
                }
                let batch = waiting
                waiting = []
                try await forEach(batch, atMost: transfers) {
                    try await self.listFolder($0)
                } ingest: { listing in
                    troubles += listing.troubles
                    if listing.isUnknown, let path = listing.path { unknown.insert(path) }
                    unknown.formUnion(listing.unknown)
                    for (path, item) in listing.items {
                        if found[path] != nil {
                            unknown.insert(path)
                            troubles.append(SyncTrouble(path, "the server lists it twice"))
                        }
                        found[path] = item
                        guard item.isFolder else { continue }
                        if path.ancestors.count >= Self.deepestFolder {
                            unknown.insert(path)
                            troubles.append(
                                SyncTrouble(path, "more than \(Self.deepestFolder) folders inside each other")
                            )
                        } else {
                            waiting.append(path)
                        }
                    }
                    // What can't be used takes its memory, too.
                    guard found.count + unknown.count + troubles.count <= Self.mostEntries else {
                        throw FolderSyncError.server(
                            "the server lists more than \(Self.mostEntries) files and folders")
                    }
                }
            }
            state.update { [found, unknown, troubles] content in
                content.remote = found
                content.unknown = unknown
                content.listingTroubles = troubles
                content.outdated = []
            }
        }

        private enum Unlisted {
            case gone
            case there(RemoteItem)
            case unknown(String)
        }

        /// Asks for each file and folder that was agreed and is in no listing of its folder: what a server leaves out, as nginx
        /// does with names that begin with a dot, it has not lost.
        private func unlisted(
            _ found: [SyncPath: RemoteItem], _ unknown: Set<SyncPath>, _ asked: inout Set<SyncPath>
        ) async throws -> [(SyncPath, Unlisted)] {
            let agreed = state.value.agreed
            // A server that folds names answers for what it lists in another spelling, too.
            let listed = traits.foldsNames ? Set(found.keys.map { Self.folded($0.text) }) : []
            let missing = agreed.keys.filter { path in
                found[path] == nil && !asked.contains(path) && !listed.contains(Self.folded(path.text))
                    && (path.parent.map { found[$0]?.isFolder == true } ?? true)
                    && !unknown.contains(path) && !path.ancestors.contains(where: unknown.contains)
            }
            asked.formUnion(missing)
            var answers: [(SyncPath, Unlisted)] = []
            try await forEach(missing, atMost: transfers) { path in
                (path, try await self.ask(for: path, isFolder: agreed[path]?.isFolder == true))
            } ingest: {
                answers.append($0)
            }
            return answers
        }

        private func ask(for path: SyncPath, isFolder: Bool) async throws -> Unlisted {
            do {
                guard let listing = try await client.find(path, isFolder: isFolder) else { return .gone }
                return listing.item.map { .there($0) }
                    ?? .unknown("the server does not say what it is; it is left alone")
            } catch let error as WebDAVError where !error.isFinal {
                return .unknown("\(error)")
            }
        }

        private struct FolderListing {
            var path: SyncPath?
            var items: [(SyncPath, RemoteItem)] = []
            /// What is there, or may be, without more being known.
            var unknown: Set<SyncPath> = []
            var troubles: [SyncTrouble] = []
            var isUnknown = false
        }

        private func listFolder(_ path: SyncPath?) async throws -> FolderListing {
            var listing = FolderListing(path: path)
            do {
                let found = try await client.list(path)
                if let doubt = found.doubt { throw FolderSyncError.server(doubt) }
                guard found.item?.isFolder == true else {
                    throw FolderSyncError.server("the server does not say that it is a folder")
                }
                let names = Set(found.children.map(\.path))
                for (child, item) in found.children {
                    if path == nil, child.text.hasPrefix(Self.reserved) { continue }
                    var place = spelledAsHere(child)
                    // Two that it lists are two, whatever it does with other names.
                    if place != child, names.contains(place) { place = child }
                    if let item {
                        listing.items.append((place, item))
                    } else {
                        listing.unknown.insert(place)
                        listing.troubles.append(
                            SyncTrouble(place, "the server does not say what it is; it is left alone"))
                    }
                }
                for reason in found.unusable {
                    listing.troubles.append(
                        SyncTrouble(path, "the server lists something that can't be here: \(reason)"))
                }
            } catch {
                // Without the top nothing is known. Of what is below it, one folder's fault is its own.
                guard path != nil, error is WebDAVError || error is FolderSyncError else { throw error }
                if let error = error as? WebDAVError, error.isFinal { throw error }
                listing.isUnknown = true
                listing.troubles.append(SyncTrouble(path, "\(error)"))
            }
            return listing
        }

        /// A server that folds names may list one in another form than it was sent in.
        private func spelledAsHere(_ path: SyncPath) -> SyncPath {
            guard traits.foldsNames else { return path }
            return state.update { content in
                if content.agreed[path] != nil { return path }
                if content.spellings.isEmpty {
                    for known in content.agreed.keys { content.spellings[Self.folded(known.text)] = known }
                }
                return content.spellings[Self.folded(path.text)] ?? path
            }
        }

        /// Asks again about what was not as expected.
        func lookAgain() async throws {
            for path in state.value.outdated.sorted() {
                let found = try await client.find(path, isFolder: false)
                if let found, found.item == nil {
                    state.update { _ = $0.unknown.insert(path) }
                    state.trouble(path, "the server does not say what it is; it is left alone")
                }
                let item = found?.item
                // A server that folds names answers for another spelling, too.
                let known = traits.foldsNames ? sameOnServer(as: path) : nil
                if item?.isFolder == true, state.value.remote[path]?.isFolder != true {
                    // What is in it is new, too.
                    return try await listServer()
                }
                state.update { content in
                    content.remote[path] = known == nil ? item : nil
                    if let known { content.remote[known] = item }
                    content.outdated.remove(path)
                }
            }
        }

        /// Another spelling of a name, under which the server is known to have something.
        private func sameOnServer(as path: SyncPath) -> SyncPath? {
            let key = Self.folded(path.text)
            return state.value.remote.keys.first { $0 != path && Self.folded($0.text) == key }
        }
    }
#endif
