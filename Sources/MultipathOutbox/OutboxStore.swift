#if Outbox
    import Dispatch
    import Foundation
    import GRDB

    /// The requests that must arrive, in one SQLite file in WAL mode. Each write is on the disk when its call returns
    /// (`synchronous = FULL`), and the file is locked as long as it is open: two processes would send everything twice.
    ///
    /// All of it runs on a queue of its own.
    final class OutboxStore: Sendable {
        private let database: DatabaseQueue

        /// Opens the file, and makes it where there is none: for its owner alone, as requests carry credentials.
        ///
        /// - Throws: `OutboxError.inUse`, `.storage`.
        static func open(_ path: String) async throws -> OutboxStore {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue(label: "an outbox's opening").async {
                    continuation.resume(with: Result { try OutboxStore(path) })
                }
            }
        }

        private init(_ path: String) throws {
            do {
                if !FileManager.default.fileExists(atPath: path) {
                    // SQLite gives its other files the rights of this one. Where it can't be made, SQLite says why.
                    _ = FileManager.default.createFile(
                        atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                }
                var configuration = Configuration()
                configuration.label = "outbox"
                configuration.journalMode = .wal
                configuration.prepareDatabase { database in
                    try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                }
                database = try DatabaseQueue(path: path, configuration: configuration)
                // GRDB has set NORMAL, which a crash of the machine may cost the last writes.
                try database.inDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
                guard try database.read(Self.schema.hasBeenSuperseded) == false else {
                    throw OutboxError.storage("it was written by a newer version")
                }
                try Self.schema.migrate(database)
            } catch {
                throw Self.translate(error, path)
            }
        }

        private static var schema: DatabaseMigrator {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("requests") { database in
                try database.execute(
                    sql: """
                        CREATE TABLE request (
                            id INTEGER PRIMARY KEY AUTOINCREMENT,
                            key TEXT NOT NULL UNIQUE,
                            urgency INTEGER NOT NULL,
                            method TEXT NOT NULL,
                            url TEXT NOT NULL,
                            headers TEXT NOT NULL,
                            body BLOB NOT NULL,
                            setAsideStatus INTEGER
                        )
                        """)
            }
            return migrator
        }

        // MARK: Requests

        /// What became of a request that was to be written.
        struct Inserted {
            var id: OutboxID
            /// False where its key is there already: it is not written then.
            var isNew: Bool
            /// The answer after which the known one was set aside.
            var setAsideStatus: Int?
        }

        /// Writes requests, all or none.
        func insert(_ requests: [OutboxRequest]) async throws -> [Inserted] {
            try await write { database in
                try requests.map { request -> Inserted in
                    if let known = try Row.fetchOne(
                        database, sql: "SELECT id, setAsideStatus FROM request WHERE key = ?",
                        arguments: [request.idempotencyKey])
                    {
                        return Inserted(
                            id: OutboxID(known["id"]), isNew: false, setAsideStatus: known["setAsideStatus"])
                    }
                    try database.execute(
                        sql: """
                            INSERT INTO request (key, urgency, method, url, headers, body) VALUES (?, ?, ?, ?, ?, ?)
                            """,
                        arguments: [
                            request.idempotencyKey, request.urgency, request.method, request.url,
                            String(decoding: try JSONEncoder().encode(request.headers), as: UTF8.self),
                            Data(request.body),
                        ])
                    return Inserted(id: OutboxID(database.lastInsertedRowID), isNew: true)
                }
            }
        }

        /// Nothing where there is no such request.
        func delete(_ id: OutboxID) async throws {
            try await write {
                try $0.execute(sql: "DELETE FROM request WHERE id = ?", arguments: [id.number])
            }
        }

        /// - Parameter status: nil where it is to be tried again.
        /// - Returns: whether there is such a request.
        @discardableResult
        func setAside(_ id: OutboxID, status: Int?) async throws -> Bool {
            try await write { database in
                try database.execute(
                    sql: "UPDATE request SET setAsideStatus = ? WHERE id = ?", arguments: [status, id.number])
                return database.changesCount > 0
            }
        }

        func request(_ id: OutboxID) async throws -> OutboxRequest? {
            try await write { database in
                try Row.fetchOne(database, sql: "SELECT * FROM request WHERE id = ?", arguments: [id.number])
                    .map { try Self.entry($0).request }
            }
        }

        /// All of them, in the order in which they were submitted, with their content.
        func entries() async throws -> [OutboxEntry] {
            try await write { database in
                try Row.fetchAll(database, sql: "SELECT * FROM request ORDER BY id").map {
                    try Self.entry($0)
                }
            }
        }

        /// Those that are to be tried, in the order in which they were submitted, without their content.
        func pending() async throws -> [OutboxMachine.Item] {
            try await write { database in
                try Row.fetchAll(
                    database, sql: "SELECT id, urgency FROM request WHERE setAsideStatus IS NULL ORDER BY id"
                ).map { row in
                    OutboxMachine.Item(
                        id: OutboxID(row["id"]), requestClass: .mustArrive, urgency: row["urgency"])
                }
            }
        }

        private static func entry(_ row: Row) throws -> OutboxEntry {
            let headers: String = row["headers"]
            let body: Data = row["body"]
            return OutboxEntry(
                id: OutboxID(row["id"]),
                request: OutboxRequest(
                    .mustArrive, method: row["method"], url: row["url"],
                    headers: try JSONDecoder().decode([OutboxRequest.Header].self, from: Data(headers.utf8)),
                    body: Array(body), urgency: row["urgency"], idempotencyKey: row["key"]),
                setAsideStatus: row["setAsideStatus"])
        }

        /// Not GRDB's own asynchronous calls: those of a cancelled task are rolled back, and what a server has done must be
        /// forgotten all the same.
        private func write<Value: Sendable>(
            _ body: @escaping @Sendable (Database) throws -> Value
        ) async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                database.asyncWrite(body) { _, result in
                    continuation.resume(with: result.mapError { Self.translate($0, "") })
                }
            }
        }

        /// Lets go of the file when what is under way is done. Every later call throws `OutboxError.closed`.
        func close() async {
            await withCheckedContinuation { continuation in
                DispatchQueue(label: "an outbox's end").async { [database] in
                    // Whatever it says, the file is not used any more.
                    try? database.close()
                    continuation.resume()
                }
            }
        }

        private static func translate(_ error: any Error, _ path: String) -> any Error {
            guard let error = error as? DatabaseError else {
                return error is OutboxError ? error : OutboxError.storage("\(error)")
            }
            return switch error.resultCode {
            case .SQLITE_BUSY, .SQLITE_LOCKED: OutboxError.inUse(path)
            // What GRDB says of a connection that was closed.
            case .SQLITE_MISUSE: OutboxError.closed
            default: OutboxError.storage(error.message ?? "\(error)")
            }
        }
    }
#endif
