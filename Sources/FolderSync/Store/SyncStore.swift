#if HTTP && Outbox
    import Dispatch
    import Foundation
    import GRDB

    /// What both sides agreed on, and what this program was about to do: one SQLite file in WAL mode.
    ///
    /// A note is written before its deed, so a process that is killed leaves nothing that the next one can't tell. Where the
    /// machine itself crashes the last notes may be lost (`synchronous = NORMAL`): what has no note is then compared by its
    /// content, or kept under another name.
    final class SyncStore: Sendable {
        private let database: DatabaseQueue

        /// What is taken out of its place to be deleted or replaced.
        struct Aside: Sendable, Hashable {
            var token: String
            var path: SyncPath
            /// What it must be to be deleted.
            var local: LocalVersion?
            var remote: RemoteVersion?
            var isFolder = false
            /// The inode of what is to take its place; nil for nothing.
            var newInode: UInt64?
        }

        /// A large file on its way to the server.
        struct Upload: Sendable, Hashable {
            var path: SyncPath
            /// Its name on the server while it is sent.
            var token: String
            /// Of the file here; another one is sent anew.
            var local: LocalVersion
        }

        /// - Throws: `FolderSyncError.record`.
        init(_ path: String) throws(FolderSyncError) {
            do {
                if !FileManager.default.fileExists(atPath: path) {
                    _ = FileManager.default.createFile(
                        atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                }
                var configuration = Configuration()
                configuration.label = "folder sync"
                configuration.journalMode = .wal
                database = try DatabaseQueue(path: path, configuration: configuration)
                if try database.read(Self.schema.hasBeenSuperseded) {
                    throw FolderSyncError.record("it was written by a newer version")
                }
                try Self.schema.migrate(database)
            } catch {
                throw Self.translate(error)
            }
        }

        private static var schema: DatabaseMigrator {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("folders") { database in
                try database.execute(
                    sql: """
                        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                        CREATE TABLE agreed (
                            path TEXT PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, inode INTEGER,
                            tag TEXT, remoteSize INTEGER, remoteModified TEXT, content TEXT
                        ) WITHOUT ROWID;
                        CREATE TABLE intent (
                            path TEXT PRIMARY KEY, content TEXT NOT NULL, tag TEXT, remoteSize INTEGER,
                            remoteModified TEXT
                        ) WITHOUT ROWID;
                        CREATE TABLE aside (
                            token TEXT PRIMARY KEY, path TEXT NOT NULL, isFolder INTEGER NOT NULL, size INTEGER,
                            modified INTEGER, changed INTEGER, inode INTEGER, isRemote INTEGER NOT NULL, tag TEXT,
                            remoteSize INTEGER, remoteModified TEXT
                        ) WITHOUT ROWID;
                        CREATE TABLE upload (
                            path TEXT PRIMARY KEY, token TEXT NOT NULL, size INTEGER, modified INTEGER,
                            changed INTEGER, inode INTEGER
                        ) WITHOUT ROWID;
                        """)
            }
            migrator.registerMigration("new inodes") { database in
                try database.execute(sql: "ALTER TABLE aside ADD COLUMN newInode INTEGER")
            }
            return migrator
        }

        private static func translate(_ error: any Error) -> FolderSyncError {
            if let error = error as? FolderSyncError { return error }
            let words = (error as? DatabaseError).map { $0.message ?? "\($0)" } ?? "\(error)"
            return .record("\(words); to begin anew, delete the folder .mpsync")
        }

        /// Not GRDB's own asynchronous calls: those of a cancelled task are rolled back, and what was done must be noted all the
        /// same.
        private func write<Value: Sendable>(
            _ body: @escaping @Sendable (Database) throws -> Value
        ) async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                database.asyncWrite(body) { _, result in
                    continuation.resume(with: result.mapError { Self.translate($0) })
                }
            }
        }

        // MARK: The pair of folder and server

        func value(_ key: String) async throws -> String? {
            try await write {
                try String.fetchOne($0, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
            }
        }

        func setValue(_ value: String, for key: String) async throws {
            try await write {
                try $0.execute(sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)", arguments: [key, value])
            }
        }

        /// Forgets what was agreed, and all that is on the server. What was taken out of its place here is still put back.
        func beginAnew() async throws {
            try await write {
                try $0.execute(
                    sql: """
                        DELETE FROM agreed; DELETE FROM intent; DELETE FROM upload;
                        DELETE FROM aside WHERE isRemote;
                        DELETE FROM meta WHERE key IN ('number', 'traits');
                        """)
            }
        }

        // MARK: What was agreed

        func agreed() async throws -> [SyncPath: AgreedItem] {
            try await write { database in
                var items: [SyncPath: AgreedItem] = [:]
                let rows = try Row.fetchCursor(database, sql: "SELECT * FROM agreed")
                while let row = try rows.next() {
                    guard let path = try? SyncPath(row["path"] as String) else { continue }
                    guard let content = row["content"] as String?, let local = Self.local(row) else {
                        items[path] = .folder
                        continue
                    }
                    items[path] = .file(local, Self.remote(row), ContentHash(content))
                }
                return items
            }
        }

        private static func local(_ row: Row) -> LocalVersion? {
            guard let size = row["size"] as Int64?, let modified = row["modified"] as Int64?,
                let changed = row["changed"] as Int64?, let inode = row["inode"] as Int64?
            else { return nil }
            return LocalVersion(
                size: size, modified: modified, changed: changed, inode: UInt64(bitPattern: inode))
        }

        private static func remote(_ row: Row) -> RemoteVersion {
            RemoteVersion(tag: row["tag"], size: row["remoteSize"], modified: row["remoteModified"])
        }

        /// Writes what has come about, all at once, and drops the notes of it.
        ///
        /// - Parameter changes: nil where a path is on neither side any more.
        func agree(_ changes: [(SyncPath, AgreedItem?)]) async throws {
            try await write { database in
                for (path, item) in changes {
                    try database.execute(sql: "DELETE FROM intent WHERE path = ?", arguments: [path.text])
                    switch item {
                    case nil:
                        try database.execute(sql: "DELETE FROM agreed WHERE path = ?", arguments: [path.text])
                    case .folder?:
                        try database.execute(
                            sql: "INSERT OR REPLACE INTO agreed (path) VALUES (?)", arguments: [path.text])
                    case .file(let local, let remote, let content)?:
                        try database.execute(
                            sql: "INSERT OR REPLACE INTO agreed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                            arguments: [
                                path.text, local.size, local.modified, local.changed,
                                Int64(bitPattern: local.inode),
                                remote.tag, remote.size, remote.modified, content.text,
                            ])
                    }
                }
            }
        }

        // MARK: Notes

        func intents() async throws -> [SyncPath: Intent] {
            try await write { database in
                var intents: [SyncPath: Intent] = [:]
                for row in try Row.fetchAll(database, sql: "SELECT * FROM intent") {
                    guard let path = try? SyncPath(row["path"] as String) else { continue }
                    intents[path] = Intent(content: ContentHash(row["content"]), remote: Self.remote(row))
                }
                return intents
            }
        }

        func note(_ intents: [(SyncPath, Intent)]) async throws {
            try await write { database in
                for (path, intent) in intents {
                    try database.execute(
                        sql: "INSERT OR REPLACE INTO intent VALUES (?, ?, ?, ?, ?)",
                        arguments: [
                            path.text, intent.content.text, intent.remote.tag, intent.remote.size,
                            intent.remote.modified,
                        ])
                }
            }
        }

        func note(_ asides: [Aside]) async throws {
            try await write { database in
                for aside in asides {
                    try database.execute(
                        sql: "INSERT OR REPLACE INTO aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        arguments: [
                            aside.token, aside.path.text, aside.isFolder, aside.local?.size,
                            aside.local?.modified, aside.local?.changed,
                            aside.local.map { Int64(bitPattern: $0.inode) },
                            aside.local == nil, aside.remote?.tag, aside.remote?.size, aside.remote?.modified,
                            aside.newInode.map { Int64(bitPattern: $0) },
                        ])
                }
            }
        }

        func dropAsides(_ tokens: [String]) async throws {
            try await write { database in
                for token in tokens {
                    try database.execute(sql: "DELETE FROM aside WHERE token = ?", arguments: [token])
                }
            }
        }

        func asides() async throws -> [Aside] {
            try await write { database in
                try Row.fetchAll(database, sql: "SELECT * FROM aside").compactMap { row in
                    guard let path = try? SyncPath(row["path"] as String) else { return nil }
                    let isRemote: Bool = row["isRemote"]
                    return Aside(
                        token: row["token"], path: path, local: Self.local(row),
                        remote: isRemote ? Self.remote(row) : nil, isFolder: row["isFolder"],
                        newInode: (row["newInode"] as Int64?).map { UInt64(bitPattern: $0) })
                }
            }
        }

        func uploads() async throws -> [Upload] {
            try await write { database in
                try Row.fetchAll(database, sql: "SELECT * FROM upload").compactMap { row in
                    guard let path = try? SyncPath(row["path"] as String), let local = Self.local(row) else {
                        return nil
                    }
                    return Upload(path: path, token: row["token"], local: local)
                }
            }
        }

        func note(_ upload: Upload) async throws {
            try await write { database in
                try database.execute(
                    sql: "INSERT OR REPLACE INTO upload VALUES (?, ?, ?, ?, ?, ?)",
                    arguments: [
                        upload.path.text, upload.token, upload.local.size, upload.local.modified,
                        upload.local.changed, Int64(bitPattern: upload.local.inode),
                    ])
            }
        }

        func dropUpload(_ path: SyncPath) async throws {
            try await write {
                try $0.execute(sql: "DELETE FROM upload WHERE path = ?", arguments: [path.text])
            }
        }
    }
#endif
