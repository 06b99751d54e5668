#if HTTP
    import HTTPTypes
    import RawStructuredFieldValues

    // Where an upload goes on (draft-ietf-httpbis-resumable-upload, interoperability version 6).
    //
    // Rules:
    //  1. The first request carries the whole body. A server that can go on with it says so while the body is on its way: 104
    //     with the place (section 4.1).
    //  2. After a break the server is asked how much it has (HEAD, section 4.3), and gets the rest (PATCH, section 4.4).
    //  3. A server that forgot the upload (404, 410) gets it anew: by a method that is not idempotent only where it can't have had
    //     all of it, for what is complete may be gone from its place too. One that never named a place gets it anew only where
    //     that is safe: by a method that is idempotent.
    //  4. A break costs a try only where the server has no more than before.
    //  5. A place is one of the upload's own origin: elsewhere the file would go to another server than the caller named.

    /// Decides about one upload. It reads and sends nothing.
    struct UploadMachine: Sendable {
        /// What a resumed upload must know.
        struct Note: Codable, Sendable, Hashable {
            var url: String
            /// Where the server keeps what it has.
            var resource: String
            /// Of the file; another one is uploaded anew.
            var length: Int64
            var modified: Int64
        }

        enum Request: Sendable, Equatable {
            /// All of it.
            case create
            /// How much does the server have?
            case askOffset(at: String)
            /// The rest.
            case append(to: String, from: Int64)
        }

        enum Step: Sendable, Equatable {
            /// The server has all; its answer is the upload's.
            case done
            case next
        }

        /// Tries in a row that may bring no byte.
        static let mostFruitlessTries = 8

        let length: Int64
        private(set) var resource: String?
        private(set) var next: Request
        private(set) var fruitlessTries = 0
        /// How much the server had at best.
        private(set) var confirmed: Int64 = 0
        /// Whether all of it has been written, and no answer said since that the server has less.
        private var mayBeComplete = false
        private let isIdempotent: Bool

        /// - Parameter resource: where the server keeps what an earlier run sent; nil for nothing.
        init(length: Int64, resource: String? = nil, isIdempotent: Bool) {
            self.length = length
            self.resource = resource
            self.isIdempotent = isIdempotent
            next = resource.map { .askOffset(at: $0) } ?? .create
            // An earlier run may have been killed after the last byte.
            mayBeComplete = resource != nil || length == 0
        }

        /// The fields of the next request, beside the caller's.
        var fields: HTTPFields {
            var fields: HTTPFields = [.uploadDraftInteropVersion: "6"]
            switch next {
            case .create: fields[.uploadComplete] = "?1"
            case .askOffset: break
            case .append(_, let offset):
                fields[.uploadComplete] = "?1"
                fields[.uploadOffset] = "\(offset)"
                fields[.contentType] = "application/partial-upload"
            }
            return fields
        }

        /// The server said on the way where it keeps the upload.
        mutating func named(_ resource: String) { self.resource = resource }

        /// The last byte of the file has been written to a connection.
        mutating func wroteAll() { mayBeComplete = true }

        mutating func ingest(_ response: HTTPResponse) throws(MultipathHTTPError) -> Step {
            switch next {
            case .create, .append:
                if response.status.kind == .successful { return .done }
                if [404, 410].contains(response.status.code), case .append(_, let offset) = next {
                    // It had all but for the last word, and may have done what it was asked to since.
                    guard isIdempotent || offset < length else { throw unexpected(response) }
                    return startAnew()
                }
                if response.status == .conflict, case .append(let place, _) = next {
                    fruitlessTries += 1
                    guard fruitlessTries < Self.mostFruitlessTries else { throw unexpected(response) }
                    next = .askOffset(at: place)
                    return .next
                }
                throw unexpected(response)
            case .askOffset(let place):
                if [404, 410].contains(response.status.code) {
                    guard isIdempotent || !mayBeComplete else { throw unexpected(response) }
                    return startAnew()
                }
                guard response.status.kind == .successful, let offset = Self.integer(response, .uploadOffset),
                    offset <= length
                else { throw unexpected(response) }
                if Self.isTrue(response, .uploadComplete) { return .done }
                mayBeComplete = offset == length
                if offset > confirmed { (confirmed, fruitlessTries) = (offset, 0) }
                next = .append(to: place, from: offset)
                return .next
            }
        }

        private mutating func startAnew() -> Step {
            (resource, confirmed, mayBeComplete, next) = (nil, 0, false, .create)
            fruitlessTries += 1
            return .next
        }

        /// Whether what the server has is of no use to a later run: it has refused the upload, and that for good.
        static func isRefusal(_ error: MultipathHTTPError) -> Bool {
            guard error.code == .unexpectedStatus, let status = error.status, 400..<500 ~= status else {
                return false
            }
            // Another user or another time may do better (RFC 9110 section 15.5; RFC 6585, RFC 8470).
            return ![401, 403, 407, 408, 423, 425, 429].contains(status)
        }

        private func unexpected(_ response: HTTPResponse) -> MultipathHTTPError {
            var error = MultipathHTTPError(
                .unexpectedStatus, "the server answered the upload with \(response.status)")
            error.status = response.status.code
            return error
        }

        /// - Parameter isSent: whether anything of the request may have reached the server.
        /// - Returns: whether to go on after an error.
        mutating func goesOn(after error: MultipathHTTPError, isSent: Bool) -> Bool {
            guard error.isTransient else { return false }
            fruitlessTries += 1
            guard fruitlessTries < Self.mostFruitlessTries else { return false }
            if let resource {
                next = .askOffset(at: resource)
                return true
            }
            next = .create
            return isIdempotent || !isSent || error.code == .refused || error.code == .notConnected
        }

        private static func integer(_ response: HTTPResponse, _ name: HTTPField.Name) -> Int64? {
            guard let field = response.headerFields[name] else { return nil }
            var parser = StructuredFieldValueParser(Array(field.utf8))
            guard case .integer(let value)? = try? parser.parseItemFieldValue().rfc9651BareItem, value >= 0
            else {
                return nil
            }
            return value
        }

        private static func isTrue(_ response: HTTPResponse, _ name: HTTPField.Name) -> Bool {
            guard let field = response.headerFields[name] else { return false }
            var parser = StructuredFieldValueParser(Array(field.utf8))
            guard case .bool(true)? = try? parser.parseItemFieldValue().rfc9651BareItem else { return false }
            return true
        }
    }

    extension HTTPField.Name {
        static let uploadDraftInteropVersion = HTTPField.Name(known: "Upload-Draft-Interop-Version")
        static let uploadComplete = HTTPField.Name(known: "Upload-Complete")
        static let uploadOffset = HTTPField.Name(known: "Upload-Offset")
    }
#endif
