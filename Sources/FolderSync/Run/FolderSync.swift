#if HTTP && Outbox
    import Foundation
    public import Multipath
    import MultipathHTTP

    /// Keeps a folder and a folder on a WebDAV server the same.
    ///
    /// ```swift
    /// let sync = FolderSync(FolderSyncConfiguration(folder: "photos", server: try ServerLocation("https://cloud.example/dav/")))
    /// let summary = try await sync.run { event in … }
    /// ```
    ///
    /// It works while a path is allowed by the configuration's policy, and waits otherwise. A server on this machine needs none.
    /// It is one user at a time of its folder: a second one, in this process or another, fails with `FolderSyncError.inUse`.
    public final class FolderSync: Sendable {
        private let configuration: FolderSyncConfiguration
        private let connector: Connector

        /// - Parameters:
        ///   - configuration: what is kept the same, and how.
        ///   - connector: makes the connections, and knows the paths; the process's own unless given.
        public init(_ configuration: FolderSyncConfiguration, connector: Connector = .shared) {
            self.configuration = configuration
            self.connector = connector
        }

        /// Makes both sides the same once.
        ///
        /// - Parameter report: hears what happens, from any thread.
        /// - Returns: how it went; what is not the same is among its troubles.
        /// - Throws: `FolderSyncError`; an error of the folder, the server or the connection where nothing could be done;
        ///   `CancellationError`. What was done so far stays, and the next run goes on.
        public func run(
            _ report: @escaping @Sendable (SyncEvent) -> Void
        ) async throws -> SyncSummary {
            let (folder, store) = try await open()
            return try await whileAllowed(report) {
                try await self.withSession(folder, store, report) { try await $0.run() }
            }
        }

        /// Makes both sides the same, and again whenever the folder changes, or the server does: that is asked every
        /// `interval`.
        ///
        /// - Parameter report: hears what happens, from any thread; after each run `SyncEvent.idle`.
        /// - Throws: what `run` throws; it ends only so, or by cancellation.
        public func watch(_ report: @escaping @Sendable (SyncEvent) -> Void) async throws {
            let (folder, store) = try await open()
            try await whileAllowed(report) {
                try await self.withSession(folder, store, report) { session in
                    try await self.watch(session, folder, report)
                }
            }
        }

        private func open() async throws -> (LocalFolder, SyncStore) {
            let path = configuration.folder
            return try await onFileThread {
                let folder = try LocalFolder(path)
                return (folder, try SyncStore(folder.storePath))
            }
        }

        private func withSession<Value: Sendable>(
            _ folder: LocalFolder, _ store: SyncStore, _ report: @escaping @Sendable (SyncEvent) -> Void,
            _ body: (SyncSession) async throws -> Value
        ) async throws -> Value {
            var http = configuration.http
            http.maximumHTTP1Connections = max(http.maximumHTTP1Connections, configuration.transfers)
            let client = MultipathHTTPClient(configuration: http, connector: connector)
            do {
                var options = http.options
                options.trafficClass = .background
                options.policy = configuration.policy
                let session = try await SyncSession(
                    configuration,
                    WebDAVClient(
                        configuration.server, client, options, authorization: authorization,
                        firstPause: configuration.retryPause), report,
                    folder: folder, store: store)
                let value = try await body(session)
                await client.close()
                return value
            } catch {
                await client.close()
                throw error
            }
        }

        /// Basic (RFC 7617).
        private var authorization: String? {
            configuration.credentials.map {
                "Basic " + Data("\($0.user):\($0.password)".utf8).base64EncodedString()
            }
        }

        // MARK: Paths

        /// Runs the body while a path is allowed, and tells when none is.
        private func whileAllowed<Value: Sendable>(
            _ report: @escaping @Sendable (SyncEvent) -> Void,
            _ body: @escaping @Sendable () async throws -> Value
        ) async throws -> Value {
            if configuration.server.isLoopback { return try await body() }
            let (monitor, policy) = (connector.monitor, configuration.policy)
            return try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask {
                    var isWaiting = false
                    for await path in monitor.updates(allowedBy: policy) {
                        if let path {
                            if isWaiting { report(.resumed(path.name)) }
                            isWaiting = false
                        } else {
                            isWaiting = true
                            let snapshot = try await monitor.currentPath()
                            report(
                                .waiting(
                                    snapshot.interfaces.compactMap { path in
                                        policy.refusal(of: path).map { "\(path.name) is \($0)" }
                                    }))
                        }
                    }
                    return nil
                }
                group.addTask { try await monitor.whileAllowed(policy) { _ in try await body() } }
                defer { group.cancelAll() }
                while let value = try await group.next() {
                    if let value { return value }
                }
                throw CancellationError()
            }
        }

        // MARK: Watching

        private static let settling = Duration.milliseconds(300)

        private func watch(
            _ session: SyncSession, _ folder: LocalFolder, _ report: @escaping @Sendable (SyncEvent) -> Void
        ) async throws {
            let watcher = try FolderWatcher(configuration.folder)
            var listsServer = true
            var asked = ContinuousClock.now
            while true {
                // What happens from here on is seen by the next scan.
                _ = watcher.drain()
                let folders = try await onFileThread {
                    try folder.list().items.compactMap { $0.value == .folder ? $0.key : nil }
                }
                if !watcher.watch(folders) {
                    report(
                        .trouble(
                            SyncTrouble(
                                nil,
                                "the kernel watches no more folders (fs.inotify.max_user_watches): changes are found every \(configuration.interval)"
                            )))
                }
                do {
                    if listsServer { asked = .now }
                    report(.idle(try await session.run(listsServer: listsServer, isWatching: true)))
                } catch let error where !(error is CancellationError || error is FolderSyncError) {
                    try Task.checkCancellation()
                    report(.trouble(SyncTrouble(nil, "\(error)")))
                    listsServer = true
                }
                listsServer = true
                while ContinuousClock.now < asked + configuration.interval {
                    try await Task.sleep(for: Self.settling)
                    guard watcher.drain() else { continue }
                    // A file that is still being written is waited for, for a while.
                    for _ in 0..<10 {
                        try await Task.sleep(for: Self.settling)
                        if !watcher.drain() { break }
                    }
                    listsServer = false
                    break
                }
            }
        }
    }
#endif
