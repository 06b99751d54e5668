#if HTTP && Outbox
    import MultipathHTTP
    import NIOCore

    /// What a server does with conditions, parts and names. It is tried, in this program's own folder there: what servers say of
    /// themselves and what they do are two things.
    struct ServerTraits: Codable, Sendable, Hashable {
        /// `Overwrite: F` keeps what is there.
        var honoursOverwrite = false
        /// `If` with an entity tag is heeded (RFC 4918 section 10.4); nil where that was not tried yet. It takes a second on
        /// Apache, and a first run has nothing to replace.
        var honoursTags: Bool?
        /// PUT with Content-Range appends (RFC 9110 section 14.5).
        var appends = false
        /// Names that differ by case, or by the form of Unicode only, are one.
        var foldsNames = false
        /// A file that is moved keeps its entity tag.
        var keepsTags = false
        /// A file gets the time of `Date` in its PUT, as on nginx. Tried only where tags are coarse: an upload of which the server
        /// says that it is older than this second differs by its tag from whatever is written next, without a wait.
        var takesDates = false

        /// - Parameter folder: this program's own.
        static func tried(on client: WebDAVClient, in folder: SyncPath) async throws -> ServerTraits {
            var traits = ServerTraits()
            let (place, one, other) = try await makeProbes(on: client, in: folder)
            let listing = try await client.find(one, isFolder: false)
            var before: RemoteVersion?
            if case .file(let version)? = listing?.item { before = version }
            if let before, before.isCoarse {
                traits.takesDates = try await takesDates(
                    before, listing?.time, on: client, try place.appending("dated"))
            }

            traits.honoursOverwrite = try await isRefused {
                try await client.move(one, to: other, replacesAny: false)
            }
            if !traits.honoursOverwrite { try await client.put(one, .text("one")) }
            try await client.move(one, to: other, replacesAny: true)
            let after = try await client.version(other)
            traits.keepsTags =
                traits.honoursOverwrite && before?.tag != nil && before?.opaqueTag == after?.opaqueTag

            let parts = try place.appending("parts")
            try await client.put(parts, .text("abc"))
            traits.appends =
                try await outcome {
                    try await client.put(parts, .text("def"), range: (first: 3, total: 6))
                } == nil
            if traits.appends {
                let whole = try await client.get(parts) { _, body in try await body.collect(upTo: 64) }
                traits.appends = whole.readableBytesView.elementsEqual("abcdef".utf8)
            }

            try await client.put(try place.appending("Caf\u{E9}"), .text("name"))
            for name in ["cAF\u{E9}", "Cafe\u{301}"] where !traits.foldsNames {
                traits.foldsNames = try await client.version(try place.appending(name)) != nil
            }
            try await client.delete(place, isFolder: true)
            return traits
        }

        /// - Parameters:
        ///   - version: of a file that has just been written.
        ///   - time: the server's, when it said so.
        private static func takesDates(
            _ version: RemoteVersion, _ time: Int64?, on client: WebDAVClient, _ path: SyncPath
        ) async throws -> Bool {
            // Its files may be another machine's, with another clock.
            guard let time, let written = version.modified.flatMap(HTTPTime.seconds), abs(time - written) <= 1
            else { return false }
            let past = time - 60
            _ = try await client.put(.text("dated"), written: past) { path }
            return try await client.version(path)?.modified.flatMap(HTTPTime.seconds) == past
        }

        /// Makes anew what is tried on: a folder with two files.
        private static func makeProbes(
            on client: WebDAVClient, in folder: SyncPath
        ) async throws -> (place: SyncPath, one: SyncPath, other: SyncPath) {
            let place = try folder.appending("probe")
            try? await client.delete(place, isFolder: true)
            try await client.makeFolder(place)
            let (one, other) = (try place.appending("one"), try place.appending("other"))
            try await client.put(one, .text("one"))
            try await client.put(other, .text("other"))
            return (place, one, other)
        }

        /// - Parameter folder: this program's own.
        mutating func tryTags(on client: WebDAVClient, in folder: SyncPath) async throws {
            let (place, one, other) = try await Self.makeProbes(on: client, in: folder)
            var isHonoured = false
            if let tag = try await Self.strongTag(of: other, on: client) {
                let heedsWrong = try await Self.isRefused {
                    try await client.move(one, to: other, replacesAny: true, tag: "\"no such tag\"")
                }
                if heedsWrong {
                    isHonoured =
                        try await Self.outcome {
                            try await client.move(one, to: other, replacesAny: true, tag: tag)
                        } == nil
                }
            }
            try await client.delete(place, isFolder: true)
            honoursTags = isHonoured
        }

        /// Apache's tags are weak until a file is a second old.
        private static func strongTag(of path: SyncPath, on client: WebDAVClient) async throws -> String? {
            for _ in 0..<10 {
                guard let version = try await client.version(path), version.tag != nil else { return nil }
                if let tag = version.strongTag { return tag }
                try await Task.sleep(for: .milliseconds(250))
            }
            return nil
        }

        /// Whether the server refuses a request for its condition: with 412 and nothing else. A fault that may pass ends the
        /// trial.
        private static func isRefused(_ body: () async throws -> Void) async throws -> Bool {
            try await outcome(body) == 412
        }

        /// - Returns: the error's status; nil where it was done.
        private static func outcome(_ body: () async throws -> Void) async throws -> Int? {
            do {
                try await body()
                return nil
            } catch let error as WebDAVError where !error.isFinal && !error.isTransient {
                return error.status
            }
        }
    }
#endif
