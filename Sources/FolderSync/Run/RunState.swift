#if HTTP && Outbox
    import Synchronization

    /// What a run knows while several transfers go on.
    final class RunState: Sendable {
        struct Content {
            var agreed: [SyncPath: AgreedItem] = [:]
            var remote: [SyncPath: RemoteItem] = [:]
            /// Folders on the server that can't be listed.
            var unknown: Set<SyncPath> = []
            var intents: [SyncPath: Intent] = [:]
            var different: [SyncPath: SyncSituation.DifferentVersions] = [:]
            /// What the server has to be asked about again.
            var outdated: Set<SyncPath> = []
            /// Troubles of the pass that is on.
            var troubles: [SyncTrouble] = []
            /// Troubles of listings, which stay until the next one.
            var listingTroubles: [SyncTrouble] = []
            /// By the folded name, what it is called here; for servers that fold names.
            var spellings: [String: SyncPath] = [:]
            var summary = SyncSummary()
            var hasOwnFolder = false
            /// The server was listed, and the run after that ended.
            var isListed = false
            /// Deletions of earlier runs that count for this one.
            var deletionsBefore = 0
            /// Folders in it that are there.
            var lanes: Set<SyncPath> = []
            /// On a server without entity tags: a file that is moved keeps its time.
            var keepsTimes = false
            /// Nothing more can be done: the disk is full here or there, or the server wants another user.
            var isOver = false
        }

        private let content = Mutex(Content())
        let report: @Sendable (SyncEvent) -> Void

        init(_ report: @escaping @Sendable (SyncEvent) -> Void) { self.report = report }

        func update<Value: Sendable>(_ body: (inout Content) -> Value) -> Value {
            content.withLock { body(&$0) }
        }

        var value: Content { content.withLock { $0 } }

        /// Both sides are the same at a path now, or have nothing there.
        func agreed(_ path: SyncPath, _ item: AgreedItem?) {
            content.withLock { content in
                content.agreed[path] = item
                content.intents[path] = nil
                content.different[path] = nil
                content.outdated.remove(path)
                switch item {
                case nil: content.remote[path] = nil
                case .folder?: content.remote[path] = .folder
                case .file(_, let remote, _)?: content.remote[path] = .file(remote)
                }
            }
        }

        func trouble(_ path: SyncPath?, _ reason: String) {
            content.withLock { $0.troubles.append(SyncTrouble(path, reason)) }
        }

        func isOutdated(_ paths: SyncPath...) {
            content.withLock { content in for path in paths { content.outdated.insert(path) } }
        }

        func transferred(sent: Int64 = 0, received: Int64 = 0) {
            content.withLock { content in
                content.summary.bytesSent += sent
                content.summary.bytesReceived += received
            }
            report(.transferred(sent + received))
        }
    }
#endif
