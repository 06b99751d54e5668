#if HTTP
    import HTTPTypes

    // How the rest of an answer's body is asked for on another connection, and which answer to that has it.
    //
    // Rules:
    //  1. It can be asked for where the answer is all or one part of a resource, names its version by a strong validator, says how
    //     long it is, and is not compressed: a range counts the bytes that are sent (RFC 9110 section 14.1.2). The request for it
    //     has no content.
    //  2. The rest is asked for as the answer was, but for the conditions, which were met, and of the same version alone.
    //  3. What has the rest is a 206 that begins with the byte asked for, ends where the answer would have, and is of the same
    //     version. Whatever else comes is not used.
    //  4. A rest that another connection would bring no sooner is left where it comes.

    /// Decides about the rest of one answer. It asks for nothing.
    struct RestOfBody: Sendable {
        /// How long a rest has to be, in bytes, to be asked for while it still comes: a new connection begins slowly (RFC 6928), and has
        /// brought as much after some five round trips.
        static let leastMoved: Int64 = 256 * 1024

        private let request: HTTPRequest
        private let version: StrongValidator
        /// Where the body begins in the resource.
        private let start: Int64
        private let total: Int64?
        /// In bytes.
        let length: Int64

        /// - Returns: nil where the rest can't be asked for.
        init?(of response: HTTPResponse, after exchange: Exchange) {
            // The content of a GET is a part of what it asks for, if of anything.
            guard case .none = exchange.outgoing else { return nil }
            self.init(of: response, to: exchange.request)
        }

        /// - Parameter request: as it went out.
        /// - Returns: nil where the rest can't be asked for.
        init?(of response: HTTPResponse, to request: HTTPRequest) {
            guard request.method == .get,
                (response.headerFields[.contentEncoding] ?? "identity") == "identity"
            else { return nil }
            switch response.status.code {
            case 200:
                guard let length = response.headerFields[.contentLength].flatMap({ Int64($0) }),
                    response.headerFields[.acceptRanges] != "none"
                else { return nil }
                (start, total, self.length) = (0, length, length)
            case 206:
                guard let range = ContentRange(response.headerFields[.contentRange]), let first = range.start,
                    let last = range.last
                else { return nil }
                (start, total, length) = (first, range.total, last - first + 1)
            default: return nil
            }
            guard let version = StrongValidator(response, total: total),
                Self.agrees(response.headerFields[.contentLength], length)
            else { return nil }
            self.request = request
            self.version = version
        }

        /// The request for what is missing.
        ///
        /// - Parameter received: how many bytes of the body are there.
        func request(after received: Int64) -> HTTPRequest {
            var rest = request
            for name in [
                HTTPField.Name.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
            ] {
                rest.headerFields[name] = nil
            }
            // Compressed, it would be of other bytes.
            rest.headerFields[.acceptEncoding] = "identity"
            rest.ask(from: start + received, to: start + length - 1, of: version)
            return rest
        }

        /// Whether an answer to that request has what is missing.
        func isContinued(by response: HTTPResponse, after received: Int64) -> Bool {
            guard response.status.code == 206, let range = ContentRange(response.headerFields[.contentRange]),
                (response.headerFields[.contentEncoding] ?? "identity") == "identity"
            else { return false }
            return Self.agrees(response.headerFields[.contentLength], length - received)
                && range.start == start + received && range.last == start + length - 1
                && (range.total == nil || total == nil || range.total == total) && version.mayName(response)
        }

        /// What an answer says of its own length has to agree with its range, where it says it.
        private static func agrees(_ contentLength: String?, _ length: Int64) -> Bool {
            contentLength.map { Int64($0) == length } ?? true
        }
    }
#endif
