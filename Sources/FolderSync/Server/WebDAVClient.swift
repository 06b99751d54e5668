#if HTTP && Outbox
    import Foundation
    import HTTPTypes
    import MultipathHTTP
    import NIOCore
    import Synchronization

    /// Speaks WebDAV (RFC 4918) with one server, by `MultipathHTTP`. What breaks is tried again where that is safe.
    final class WebDAVClient: Sendable {
        let location: ServerLocation
        let http: MultipathHTTPClient
        private let options: HTTPRequestOptions
        private let authorization: String?
        /// Counts requests, for the report.
        let counter = RequestCounter()

        /// Tries of one request that a connection or the server failed.
        private static let mostTries = 8
        private let firstPause: Double
        private static let longestPauses = 40.0
        /// What the server calls itself (RFC 9110 section 10.2.4), in its last answer to PROPFIND.
        private let name = Mutex("")
        var serverName: String { name.withLock { $0 } }
        /// The time that it gave in its last answer to PROPFIND, in seconds since 1970, and when that came.
        private let time = Mutex<(seconds: Int64, received: ContinuousClock.Instant)?>(nil)
        /// What the server's clock shows now at least, in seconds since 1970; nil where it does not tell its time.
        var serverTime: Int64? {
            time.withLock { $0 }.map { $0.seconds + (ContinuousClock.now - $0.received).components.seconds }
        }
        /// Of an error's page, in bytes, which is read so that its connection can be used again.
        private static let longestErrorPage = 64 << 10

        init(
            _ location: ServerLocation, _ http: MultipathHTTPClient, _ options: HTTPRequestOptions,
            authorization: String?, firstPause: Duration = .milliseconds(250)
        ) {
            self.firstPause = max(firstPause / .seconds(1), 0.001)
            self.location = location
            self.http = http
            self.authorization = authorization
            var options = options
            options.decompression = .disabled
            options.maximumRedirects = 0
            options.waitsForConnectivity = true
            self.options = options
        }

        /// Fields and options for `MultipathHTTPClient.download`.
        var downloadFields: HTTPFields {
            var fields = HTTPFields()
            fields[.authorization] = authorization
            return fields
        }
        var downloadOptions: HTTPRequestOptions { options }

        // MARK: Listing

        /// What a server said of a path. Nothing that a listing lacks is gone unless the listing is whole.
        struct Listing: Sendable {
            /// The path itself; nil where the server did not say what it is.
            var item: RemoteItem?
            /// What is in it; nil for what the server did not tell of.
            var children: [(path: SyncPath, item: RemoteItem?)] = []
            /// Why some of it can't have a name here, where nothing else can be missing because of it.
            var unusable: [String] = []
            /// The server's clock when it answered, in seconds since 1970; nil where it does not tell its time.
            var time: Int64?
            /// Why the listing can't be relied on: what it lacks may be there all the same.
            var doubt: String?

            /// Whether it is a folder with nothing in it, for certain.
            var isEmptyFolder: Bool {
                item?.isFolder == true && children.isEmpty && unusable.isEmpty && doubt == nil
            }
        }

        private static let question = Array(
            """
            <?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/>\
            <D:getcontentlength/><D:getetag/><D:getlastmodified/></D:prop></D:propfind>
            """.utf8)

        /// What is at a path, and in it.
        ///
        /// - Throws: also where the answer says nothing of the path itself.
        func list(_ path: SyncPath?, isFolder: Bool = true, depth: Int = 1) async throws -> Listing {
            var fields = HTTPFields()
            fields[Self.name("Depth")] = "\(depth)"
            fields[.contentType] = "application/xml; charset=utf-8"
            let place = location.encoded(path, isFolder: isFolder)
            let request = request("PROPFIND", place, fields)
            return try await trying {
                try await self.http.perform(
                    request: request, body: .bytes(Self.question), options: self.options
                ) { response, body in
                    self.name.withLock { $0 = response.headerFields[.server] ?? "" }
                    let time = (response.headerFields[.date] ?? nil).flatMap(HTTPTime.seconds)
                    self.time.withLock { $0 = time.map { ($0, .now) } }
                    guard response.status.code == 207 else {
                        throw try await self.error(
                            "PROPFIND", place, response, body,
                            detail: response.status.code == 200
                                ? "not with 207, as a WebDAV server does; look at the URL" : nil)
                    }
                    let bytes: ByteBuffer
                    do {
                        bytes = try await body.collect(upTo: Multistatus.longest)
                    } catch let error as MultipathHTTPError where error.code == .bodyTooLarge {
                        throw FolderSyncError.server(
                            "the listing of \(place) is longer than \(Multistatus.longest >> 20) MiB")
                    }
                    do {
                        var listing = try Self.listing(
                            Multistatus(Data(bytes.readableBytesView)).responses, of: path, at: self.location)
                        listing.time = time
                        return listing
                    } catch let error as Multistatus.Malformed {
                        throw FolderSyncError.server("\(place): \(error)")
                    }
                }
            }
        }

        /// Reads a listing.
        ///
        /// - Throws: `Multistatus.Malformed` where it says nothing of the path itself.
        static func listing(
            _ responses: [Multistatus.Response], of path: SyncPath?, at location: ServerLocation
        ) throws(Multistatus.Malformed) -> Listing {
            var (listing, hasSelf) = (Listing(), false)
            let asked = path.map { SyncSession.folded($0.text) }
            for response in responses {
                let version = RemoteVersion(
                    tag: response.tag, size: response.size, modified: response.modified)
                let isKnown = response.hasType && (200..<300).contains(response.status ?? 200)
                let item: RemoteItem? = isKnown ? response.isFolder ? .folder : .file(version) : nil
                switch location.reference(response.href) {
                case .root where path == nil: (listing.item, hasSelf) = (item, true)
                case .root: listing.doubt = "the server lists the top in it"
                // A server that folds names may answer in another form than it was asked in.
                case .path(let found) where asked == SyncSession.folded(found.text):
                    (listing.item, hasSelf) = (item, true)
                case .path(let found):
                    guard found.parent.map({ SyncSession.folded($0.text) }) == asked,
                        let child = path == nil ? found : try? path?.appending(found.name)
                    else {
                        listing.doubt = "the server lists '\(found)' in it, which is in another folder"
                        continue
                    }
                    listing.children.append((child, item))
                case .elsewhere(let reason):
                    listing.doubt = "the server lists something that can't be here: \(reason)"
                case .unusable(let reason): listing.unusable.append(reason)
                }
            }
            guard hasSelf else {
                let name = path.map { "'\($0)'" } ?? "the folder"
                throw Multistatus.Malformed(
                    description: listing.doubt
                        ?? "the listing of \(name) does not name it, so it is not whole")
            }
            return listing
        }

        /// A file's version; nil where there is none.
        ///
        /// - Throws: `WebDAVError` with 403 where the server does not say what it is.
        func version(_ path: SyncPath) async throws -> RemoteVersion? {
            guard let listing = try await find(path, isFolder: false) else { return nil }
            guard let item = listing.item else {
                throw WebDAVError(
                    "PROPFIND", path.text, 403, detail: "the server does not say what it is")
            }
            if case .file(let version) = item { return version }
            return nil
        }

        /// What is at a path; nil where the server says that nothing is.
        func find(_ path: SyncPath, isFolder: Bool) async throws -> Listing? {
            do {
                return try await list(path, isFolder: isFolder, depth: 0)
            } catch let error as WebDAVError where error.status == 404 || error.status == 410 {
                return nil
            }
        }

        // MARK: Changing

        /// Writes a file under a name that is this program's own, or a part of one: that may be sent twice.
        ///
        /// - Parameter range: where the body stands in the whole (RFC 9110 section 14.5); nil for all of it.
        func put(
            _ path: SyncPath, _ body: HTTPRequestBody, range: (first: Int64, total: Int64)? = nil
        ) async throws {
            let request = putRequest(path, body, range)
            try await trying { try await self.perform(request, "PUT", body, maximumRetries: 0) }
        }

        /// Writes a file under a name that it has in this try only. What a server still does with a try before, of which
        /// the connection broke, is then done to another file: it may cut that one short, or delete it.
        ///
        /// - Parameters:
        ///   - written: when the file was written, in seconds since 1970, for a server that heeds that; nil for now.
        ///   - name: a new one for each try.
        /// - Returns: the last of them, under which the file is whole.
        func put(
            _ body: HTTPRequestBody, written: Int64? = nil, under name: () async throws -> SyncPath
        ) async throws -> SyncPath {
            try await trying {
                let path = try await name()
                var request = self.putRequest(path, body, nil)
                request.headerFields[.date] = written.map(HTTPTime.text)
                try await self.perform(request, "PUT", body, maximumRetries: 0)
                return path
            }
        }

        private func putRequest(
            _ path: SyncPath, _ body: HTTPRequestBody, _ range: (first: Int64, total: Int64)?
        ) -> HTTPRequest {
            var fields = HTTPFields()
            fields[.contentType] = "application/octet-stream"
            if let range, let length = body.length {
                fields[.contentRange] = "bytes \(range.first)-\(range.first + length - 1)/\(range.total)"
            }
            return request("PUT", location.encoded(path, isFolder: false), fields)
        }

        func makeFolder(_ path: SyncPath) async throws {
            do {
                try await change("MKCOL", location.encoded(path, isFolder: true))
            } catch let error as WebDAVError where error.status == 405 {
                // RFC 4918 section 9.3.1: something is there already. The next listing says what.
            }
        }

        /// - Parameters:
        ///   - replacesAny: what is there goes; otherwise nothing may be there.
        ///   - tag: what is there must have this entity tag (section 10.4).
        /// - Returns: whether the answer to a try was lost, so that what is there now has to be looked at.
        @discardableResult
        func move(
            _ path: SyncPath, to other: SyncPath, isFolder: Bool = false, replacesAny: Bool,
            tag: String? = nil
        ) async throws -> Bool {
            let target = location.url(other, isFolder: isFolder)
            var fields = HTTPFields()
            fields[Self.name("Destination")] = target
            fields[Self.name("Overwrite")] = replacesAny ? "T" : "F"
            if let tag { fields[Self.name("If")] = "<\(target)> ([\(tag)])" }
            var tries = 0
            let request = request("MOVE", location.encoded(path, isFolder: isFolder), fields)
            try await trying {
                tries += 1
                do {
                    try await self.perform(request, "MOVE")
                } catch let error as WebDAVError where error.status == 404 && tries > 1 {
                    // The try before was done, and its answer was lost: where the old name is gone the new one is there.
                    guard try await self.exists(other, isFolder: isFolder) else { throw error }
                }
            }
            return tries > 1
        }

        func exists(_ path: SyncPath, isFolder: Bool) async throws -> Bool {
            try await find(path, isFolder: isFolder) != nil
        }

        /// - Parameter tag: it must have this entity tag.
        func delete(_ path: SyncPath, isFolder: Bool, tag: String? = nil) async throws {
            var fields = HTTPFields()
            // Without the URL Apache asks it of the folder, too.
            if let tag {
                fields[Self.name("If")] = "<\(location.url(path, isFolder: isFolder))> ([\(tag)])"
            }
            do {
                try await change("DELETE", location.encoded(path, isFolder: isFolder), fields)
            } catch let error as WebDAVError where error.status == 404 {
                // It is gone, and so it should.
            }
        }

        // MARK: Reading

        /// Reads a file as it arrives.
        func get<Value>(
            _ path: SyncPath, _ body: (MultipathHTTPResponse, HTTPResponseBody) async throws -> Value
        ) async throws -> Value {
            let place = location.encoded(path, isFolder: false)
            let request = request("GET", place)
            return try await trying {
                try await self.http.perform(request: request, options: self.options) { response, bytes in
                    guard response.status.code == 200 else {
                        throw try await self.error("GET", place, response, bytes)
                    }
                    return try await body(response, bytes)
                }
            }
        }

        // MARK: Requests

        private static func name(_ text: String) -> HTTPField.Name {
            guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a name") }
            return name
        }

        private func request(_ method: String, _ path: String, _ fields: HTTPFields = [:]) -> HTTPRequest {
            guard let method = HTTPRequest.Method(method) else {
                preconditionFailure("\(method) is a method")
            }
            var fields = fields
            fields[.authorization] = authorization
            return HTTPRequest(
                method: method, scheme: location.scheme, authority: location.authority, path: path,
                headerFields: fields)
        }

        private func change(
            _ method: String, _ path: String, _ fields: HTTPFields = [:]
        ) async throws {
            let request = request(method, path, fields)
            try await trying { try await self.perform(request, method) }
        }

        /// - Parameter maximumRetries: how often the HTTP client sends it again by itself.
        private func perform(
            _ request: HTTPRequest, _ method: String, _ body: HTTPRequestBody? = nil,
            maximumRetries: Int? = nil
        ) async throws {
            var options = options
            if let maximumRetries { options.maximumRetries = maximumRetries }
            try await http.perform(request: request, body: body, options: options) { response, body in
                // 207 has the errors of single members (RFC 4918 section 9.6.1).
                guard response.status.kind == .successful, response.status.code != 207 else {
                    throw try await self.error(method, request.path ?? "", response, body)
                }
                // What is read to its end leaves the connection to the next request.
                for try await _ in body {}
            }
        }

        private func error(
            _ method: String, _ path: String, _ response: MultipathHTTPResponse, _ body: HTTPResponseBody,
            detail: String? = nil
        ) async throws -> WebDAVError {
            var error = WebDAVError(method, path, response.status.code, detail: detail)
            if response.status.kind == .redirection, let place = response.headerFields[.location] {
                error.detail = "it has moved to \(place); give that URL"
            }
            error.retryAfter = response.headerFields[.retryAfter].flatMap { Int($0) }
            _ = try? await body.collect(upTo: Self.longestErrorPage)
            return error
        }

        /// Every request here may be sent twice: PUT writes a new file each time, or the same bytes in the same place, and the
        /// others say what they expect.
        private func trying<Value>(_ body: () async throws -> Value) async throws -> Value {
            var pause = firstPause
            for number in 1... {
                counter.add()
                do {
                    return try await body()
                } catch let error as MultipathHTTPError where number < Self.mostTries && error.isTransient {
                    counter.addRetry()
                } catch let error as WebDAVError where number < Self.mostTries && error.isTransient {
                    // A lock is held for long, a fault of the server's own is seldom over soon.
                    if error.status == 423 || error.status == 500, number >= 3 { throw error }
                    if let wait = error.retryAfter { pause = max(pause, Double(min(max(wait, 0), 60))) }
                }
                try await Task.sleep(for: .seconds(pause * Double.random(in: 0.75..<1.25)))
                pause = min(pause * 2, firstPause * Self.longestPauses)
            }
            preconditionFailure("the last try returns or throws")
        }
    }

    /// How many requests went out.
    final class RequestCounter: Sendable {
        private let state = Mutex((requests: 0, retries: 0))

        func add() { state.withLock { $0.requests += 1 } }
        func addRetry() { state.withLock { $0.retries += 1 } }
        var value: (requests: Int, retries: Int) { state.withLock { $0 } }
    }
#endif
