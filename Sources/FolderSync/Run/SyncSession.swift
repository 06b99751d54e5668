#if HTTP && Outbox
    import Foundation
    import MultipathHTTP
    import Synchronization

    /// One folder, one server and their record, open as long as this lives: what passes are made with.
    final class SyncSession: Sendable {
        /// Where this program keeps files on the server while they are sent: `.mpsync-` and this folder's own number. Every
        /// client leaves alone what begins so.
        static let reserved = ".mpsync"

        let folder: LocalFolder
        let store: SyncStore
        let client: WebDAVClient
        let options: Reconciler.Options
        let transfers: Int
        let state: RunState
        /// This program's own folder on the server.
        let own: SyncPath
        private let knownTraits: Mutex<ServerTraits>
        var traits: ServerTraits { knownTraits.withLock { $0 } }

        private static let mostPasses = 8
        /// A folder on the server may have so many files and folders, at any depth.
        static let mostEntries = 2_000_000
        /// Folders inside each other.
        static let deepestFolder = 128

        /// - Throws: `FolderSyncError`, `FileError`, `MultipathHTTPError`, `WebDAVError`.
        init(
            _ configuration: FolderSyncConfiguration, _ client: WebDAVClient,
            _ report: @escaping @Sendable (SyncEvent) -> Void, folder: LocalFolder, store: SyncStore
        ) async throws {
            self.folder = folder
            self.store = store
            self.client = client
            options = configuration.options
            transfers = max(configuration.transfers, 1)
            state = RunState(report)
            let server = configuration.server.description
            if let recorded = try await store.value("server"), recorded != server {
                throw FolderSyncError.otherServer(recorded: recorded, asked: server)
            }
            // What answers there has to be a WebDAV server, before anything is written.
            _ = try await client.list(nil, depth: 0)
            try await store.setValue(server, for: "server")
            // A copy of the folder, or another user, has another past: the contents are compared anew.
            let identity = try folder.identity(user: configuration.credentials?.user)
            if let recorded = try await store.value("identity"), recorded != identity {
                try await store.beginAnew()
            }
            try await store.setValue(identity, for: "identity")
            let number: String
            if let known = try await store.value("number") {
                number = known
            } else {
                number = String(UInt64.random(in: .min ... .max), radix: 36)
                try await store.setValue(number, for: "number")
            }
            own = try SyncPath("\(Self.reserved)-\(number)")
            let traits = try await Self.traits(client, own, store)
            knownTraits = Mutex(traits)
            state.report(.server(Self.words(traits)))
        }

        private static func traits(
            _ client: WebDAVClient, _ own: SyncPath, _ store: SyncStore
        ) async throws -> ServerTraits {
            let now = WallTime.now
            if let text = try await store.value("traits"),
                let time = try await store.value("traitsTime").flatMap({ Int64($0) }),
                (0..<Self.traitsLast).contains(now - time),
                try await store.value("traitsServer") == client.serverName,
                let known = try? JSONDecoder().decode(ServerTraits.self, from: Data(text.utf8))
            {
                return known
            }
            try await client.makeFolder(own)
            let traits = try await ServerTraits.tried(on: client, in: own)
            try await note(traits, store)
            try await store.setValue("\(now)", for: "traitsTime")
            try await store.setValue(client.serverName, for: "traitsServer")
            return traits
        }

        private static func note(_ traits: ServerTraits, _ store: SyncStore) async throws {
            try await store.setValue(
                String(decoding: try JSONEncoder().encode(traits), as: UTF8.self), for: "traits")
        }

        /// Before the first plan that replaces or deletes something on the server.
        private func tryTags(for plan: SyncPlan) async throws {
            var traits = traits
            guard traits.honoursTags == nil, plan.actions.contains(where: \.needsCondition) else { return }
            try await makeOwnFolder()
            try await traits.tryTags(on: client, in: own)
            let tried = traits
            knownTraits.withLock { $0 = tried }
            try await Self.note(tried, store)
            state.report(.server(Self.words(tried)))
        }

        /// A server may be set up anew: a week, in seconds.
        private static let traitsLast: Int64 = 7 * 86_400

        private static func words(_ traits: ServerTraits) -> String {
            let words = [
                traits.honoursTags.map { $0 ? "conditions by entity tag" : "no conditions by entity tag" },
                traits.appends ? "uploads go on where they stopped" : "an upload that breaks begins anew",
                traits.foldsNames ? "names that differ by case are one" : nil,
            ]
            return words.compactMap { $0 }.joined(separator: "; ")
        }

        // MARK: Passes

        /// Makes both sides the same, as far as that can be done.
        ///
        /// - Parameters:
        ///   - listsServer: false where the server is as it was after the last call.
        ///   - isWatching: the deletions of the last hour count, too.
        func run(listsServer: Bool = true, isWatching: Bool = false) async throws -> SyncSummary {
            let deletionsBefore = isWatching ? try await deletionsOfThisHour() : 0
            // Without a listing all that was agreed would look as if the server had lost it.
            let listsServer = listsServer || !state.value.isListed
            let agreed = try await store.agreed()
            let intents = try await store.intents()
            state.update { content in
                content.agreed = agreed
                content.intents = intents
                content.summary = SyncSummary()
                content.isOver = false
                content.isListed = false
                content.deletionsBefore = deletionsBefore
            }
            try await recoverLocal()
            if listsServer {
                try await listServer()
                try await recoverRemote()
            }
            var previous: [SyncAction] = []
            for pass in 1...Self.mostPasses {
                let (plan, troubles) = try await plan()
                let content = state.value
                state.update { content in
                    content.troubles = troubles + plan.troubles
                    content.summary.left = plan.left
                }
                try await record(plan)
                // What failed twice in the same way fails a third time.
                guard plan.hasWork else { break }
                if plan.actions == previous || pass == Self.mostPasses {
                    reportUndone(plan, troubles: troubles + plan.troubles, earlier: content.troubles)
                    break
                }
                previous = plan.actions
                state.report(.planned(actions: plan.actions.count, bytes: bytes(of: plan)))
                try await tryTags(for: plan)
                try await noteDeletions(plan)
                try await execute(plan)
                try await lookAgain()
                if state.value.isOver { break }
            }
            let summary = try await finish()
            state.update { $0.isListed = true }
            return summary
        }

        private static let hour: Int64 = 3_600

        /// Noted run by run, so that a watch that is begun anew does not begin at none.
        private func deletionsOfThisHour() async throws -> Int {
            let words =
                try await store.value("deletions")?.split(separator: " ").compactMap { Int64($0) } ?? []
            guard words.count == 2, (0..<Self.hour).contains(WallTime.now - words[0]) else { return 0 }
            return Int(clamping: words[1])
        }

        /// Notes the deletions before they are done.
        private func noteDeletions(_ plan: SyncPlan) async throws {
            let planned = plan.actions.count(where: \.isDeletion)
            guard planned > 0 else { return }
            let words =
                try await store.value("deletions")?.split(separator: " ").compactMap { Int64($0) } ?? []
            let isRecent = words.count == 2 && (0..<Self.hour).contains(WallTime.now - words[0])
            let (start, count) = isRecent ? (words[0], words[1]) : (WallTime.now, 0)
            try await store.setValue("\(start) \(count + Int64(planned))", for: "deletions")
        }

        /// What a plan asks for again stays undone: with the reason that its attempt had, where it had one.
        private func reportUndone(_ plan: SyncPlan, troubles: [SyncTrouble], earlier: [SyncTrouble]) {
            let reasons = Dictionary(
                earlier.compactMap { trouble in trouble.path.map { ($0, trouble) } }, uniquingKeysWith: { $1 }
            )
            let undone = plan.actions.filter { $0.phase != .record }.map { action in
                reasons[action.path]
                    ?? SyncTrouble(action.path, "it changes all the time, here or there; run it again later")
            }
            state.update { $0.troubles = troubles + undone }
        }

        private func plan() async throws -> (SyncPlan, [SyncTrouble]) {
            let content = state.value
            var listing = try await onFileThread { [folder] in try folder.list() }
            try await readChanged(&listing, content)
            var situation = SyncSituation()
            situation.agreed = content.agreed
            situation.local = listing.items
            situation.remote = content.remote
            situation.intents = content.intents
            situation.unknown = listing.unknown.union(content.unknown)
            situation.different = content.different
            var troubles = content.listingTroubles + listing.troubles
            if traits.foldsNames {
                troubles += situation.leaveOutClashes(options.direction, folded: Self.folded)
            }
            var options = options
            options.deletionsBefore = content.summary.deletions + content.deletionsBefore
            return (Reconciler.plan(situation, options), troubles)
        }

        static func folded(_ text: String) -> String {
            text.precomposedStringWithCanonicalMapping.lowercased().precomposedStringWithCanonicalMapping
        }

        /// Reads the files of which numbers alone don't tell whether they changed.
        private func readChanged(
            _ listing: inout LocalFolder.Listing, _ content: RunState.Content
        ) async throws {
            var inodes: Set<UInt64> = []
            for (path, item) in content.agreed where listing.items[path] == nil {
                if case .file(let local, _, _) = item { inodes.insert(local.inode) }
            }
            for (path, item) in listing.items {
                guard case .file(let version, nil) = item else { continue }
                let isDoubtful =
                    switch content.agreed[path] {
                    case .file(let old, _, _)?:
                        version != old && (version.size == old.size || content.intents[path] != nil)
                    default: inodes.contains(version.inode) || content.intents[path] != nil
                    }
                guard isDoubtful else { continue }
                let known = try? await onFileThread { [folder] in
                    let file = try folder.open(path)
                    let hash = try file.content()
                    return try file.version() == version ? hash : nil
                }
                try Task.checkCancellation()
                if let hash = known ?? nil { listing.items[path] = .file(version, hash) }
            }
        }

        private func bytes(of plan: SyncPlan) -> Int64 {
            plan.actions.reduce(0) { sum, action in
                let size: Int64 =
                    switch action {
                    case .upload(_, let version, _): version.size
                    case .download(_, let version, _), .compare(_, _, let version): version.size ?? 0
                    default: 0
                    }
                // A server may list what no disk could hold.
                let (new, isTooMuch) = sum.addingReportingOverflow(size)
                return isTooMuch ? .max : new
            }
        }

        private func record(_ plan: SyncPlan) async throws {
            var changes: [(SyncPath, AgreedItem?)] = []
            for action in plan.actions {
                switch action {
                case .agree(let path, let item): changes.append((path, item))
                case .forget(let path): changes.append((path, nil))
                default: continue
                }
            }
            try await agree(changes)
        }

        /// Writes what both sides have now.
        func agree(_ changes: [(SyncPath, AgreedItem?)]) async throws {
            guard !changes.isEmpty else { return }
            try await store.agree(changes)
            for (path, item) in changes { state.agreed(path, item) }
        }

        private func finish() async throws -> SyncSummary {
            try await tidyUp()
            let content = state.value
            var summary = content.summary
            summary.requests = client.counter.value.requests
            summary.same = content.agreed.count
            summary.troubles = content.troubles
            for trouble in summary.troubles { state.report(.trouble(trouble)) }
            return summary
        }
    }
#endif
