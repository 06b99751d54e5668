#if HTTP
    import HTTPTypes
    import RawStructuredFieldValues

    // Where a download goes on, and whether an answer fits what is there.
    //
    // Rules:
    //  1. What is there is gone on with only where the server named it by a strong validator (RFC 9110 section 8.8.3): the request
    //     asks for the rest with If-Range (section 13.1.5), so that a changed resource comes whole.
    //  2. 206 must begin where the file ends, and name the same total and the same version, where it names any; 200 begins anew; 416 with the file's own length means that
    //     all is there (section 15.5.17).
    //  3. A break costs a try only where it brought no byte. After so many of those in a row the download fails.
    //  4. The end is checked: by the length that the server named, and by its digest where there is one (RFC 9530).

    /// Decides about one download. It reads and writes nothing.
    struct DownloadMachine: Sendable {
        /// What a resumed download must know of what is there.
        struct Note: Codable, Sendable, Hashable {
            var url: String
            var validator: StrongValidator
            var total: Int64?
        }

        enum Step: Sendable, Equatable {
            /// The body goes behind what is there.
            case append
            /// The body is the whole resource: what is there is dropped, and this is noted where it can be gone on with.
            case startOver(Note?)
            /// Everything is there.
            case complete
            /// Ask again, for the whole.
            case again
        }

        /// Tries in a row that may bring no byte.
        static let mostFruitlessTries = 8

        let url: String
        private(set) var received: Int64
        private(set) var total: Int64?
        private(set) var validator: StrongValidator?
        /// SHA-256 of the whole in Base64, where the server said it.
        private(set) var digest: String?
        private(set) var fruitlessTries = 0
        /// How much was there at best: what is fetched again is no progress.
        private var farthest: Int64 = 0
        private var hasProgressed = false

        /// - Parameters:
        ///   - note: what is known of what is there; nil for nothing.
        ///   - received: how many bytes are there.
        init(url: String, note: Note?, received: Int64) {
            self.url = url
            let isUsable = note?.url == url && received > 0
            self.received = isUsable ? received : 0
            farthest = self.received
            total = isUsable ? note?.total : nil
            validator = isUsable ? note?.validator : nil
        }

        /// The request for what is missing.
        func request(_ base: HTTPRequest) -> HTTPRequest {
            var request = base
            request.headerFields[.wantReprDigest] = "sha-256=10"
            if received > 0, let validator { request.ask(from: received, of: validator) }
            return request
        }

        mutating func ingest(_ response: HTTPResponse) throws(MultipathHTTPError) -> Step {
            hasProgressed = false
            switch response.status.code {
            case 206:
                guard let range = ContentRange(response.headerFields[.contentRange]), range.start == received,
                    range.total == nil || total == nil || range.total == total
                else { return try startAgain("the server sent another part than was asked for") }
                if received > 0, validator?.mayName(response) == false {
                    return try startAgain("the server sent a part of another version")
                }
                total = range.total ?? total
                digest = Self.digest(response) ?? digest
                return .append
            case 200:
                received = 0
                total = response.headerFields[.contentLength].flatMap { Int64($0) }
                validator = StrongValidator(response, total: total)
                digest = Self.digest(response)
                return .startOver(validator.map { Note(url: url, validator: $0, total: total) })
            case 416:
                let whole = ContentRange(response.headerFields[.contentRange])?.total
                if received > 0, whole == received {
                    total = whole
                    return .complete
                }
                return try startAgain("the server has no such part")
            default:
                var error = MultipathHTTPError(.unexpectedStatus, "\(url): \(response.status)")
                error.status = response.status.code
                throw error
            }
        }

        private mutating func startAgain(_ reason: String) throws(MultipathHTTPError) -> Step {
            guard received > 0 else { throw MultipathHTTPError(.resumptionMismatch, reason) }
            (received, validator, total, digest) = (0, nil, nil, nil)
            return .again
        }

        mutating func ingest(bytes count: Int) {
            received += Int64(count)
            if received > farthest { (farthest, hasProgressed) = (received, true) }
        }

        /// The body has ended without an error.
        func checkLength() throws(MultipathHTTPError) {
            guard let total, received != total else { return }
            throw MultipathHTTPError(
                .bodyCutShort, "\(received) bytes arrived where the server named \(total)")
        }

        /// - Returns: whether to go on after an error.
        mutating func goesOn(after error: MultipathHTTPError) -> Bool {
            guard error.isTransient else { return false }
            // What can't be named can't be gone on with.
            if validator == nil { received = 0 }
            if hasProgressed { fruitlessTries = 0 } else { fruitlessTries += 1 }
            hasProgressed = false
            return fruitlessTries < Self.mostFruitlessTries
        }

        private static func digest(_ response: HTTPResponse) -> String? {
            guard let field = response.headerFields[.reprDigest] else { return nil }
            var parser = StructuredFieldValueParser(Array(field.utf8))
            guard let digests = try? parser.parseDictionaryFieldValue(),
                case .item(let item)? = digests["sha-256"],
                case .undecodedByteSequence(let digest) = item.rfc9651BareItem
            else { return nil }
            return digest
        }
    }

    extension HTTPField.Name {
        static let wantReprDigest = HTTPField.Name(known: "Want-Repr-Digest")
        static let reprDigest = HTTPField.Name(known: "Repr-Digest")

        /// A name that is known to be one.
        init(known text: String) {
            guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no field's name") }
            self = name
        }
    }
#endif
