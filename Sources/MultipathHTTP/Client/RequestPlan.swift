#if HTTP
    import FoundationEssentials
    import HTTPTypes

    // What is sent next: the request itself, the same once more where its connection broke, or where a redirect leads.
    //
    // Rules:
    //  1. A request is sent again without asking where that is safe (RFC 9110 section 9.2.2): nothing of it has left; the
    //     server says that it did not process it (REFUSED_STREAM, GOAWAY, 421); or its method is idempotent and not a byte of the
    //     answer has arrived. At most so many times, and only with a body that can be made again.
    //  2. A redirect is followed where it names a place (RFC 9110 section 15.4): 303 makes a GET of all but HEAD, 301 and 302 make
    //     one of a POST, 307 and 308 leave the request as it is.
    //  3. What authorizes at one origin is not sent to another, nor to one that another led back to. From https a redirect does not
    //     lead to http.

    /// Decides what is sent next. It sends nothing.
    struct RequestPlan: Sendable {
        /// What to do with an answer.
        enum Step: Sendable {
            /// It is the caller's.
            case deliver
            /// The plan's request is another one now.
            case follow
            case fail(MultipathHTTPError)
        }

        private(set) var request: HTTPRequest
        private(set) var hasBody: Bool
        private let canRepeatBody: Bool
        private let maximumRetries: Int
        private let maximumRedirects: Int
        /// What authorizes at one origin.
        private let credentials: Set<HTTPField.Name>
        private(set) var retryCount = 0
        private(set) var redirectCount = 0
        private var visited: Set<String> = []
        /// Whether a redirect led to another origin.
        private var hasLeftOrigin = false

        init(_ request: HTTPRequest, _ body: HTTPRequestBody?, _ options: HTTPRequestOptions) {
            self.request = request
            hasBody = body != nil
            canRepeatBody = body?.canBeRepeated ?? true
            maximumRetries = options.maximumRetries
            maximumRedirects = options.maximumRedirects
            credentials = options.credentialFields.union([.authorization, .cookie, .proxyAuthorization])
        }

        // MARK: Repetition

        /// Whether to send it again after it broke. It counts as sent again then.
        mutating func retries(after error: any Error, _ progress: Exchange.Progress) -> Bool {
            guard retryCount < maximumRetries, let error = error as? MultipathHTTPError else { return false }
            guard Self.isBroken(error.code) else { return false }
            let isUntouched = !progress.isSent || error.code == .refused
            let isSafe = isUntouched || request.method.isIdempotent && !progress.isAnswered
            guard isSafe, !hasBody || canRepeatBody || !progress.isSent else { return false }
            retryCount += 1
            return true
        }

        /// What a connection does that says nothing about the request.
        private static func isBroken(_ code: MultipathHTTPError.Code) -> Bool {
            [.connectionLost, .refused, .pathNotAllowed].contains(code)
        }

        /// Whether to send it again because the server says that this connection was the wrong one (RFC 9110 section 15.5.20).
        mutating func retriesMisdirected() -> Bool {
            guard retryCount < maximumRetries, !hasBody || canRepeatBody else { return false }
            retryCount += 1
            return true
        }

        // MARK: Redirects

        mutating func ingest(_ response: HTTPResponse) -> Step {
            guard maximumRedirects > 0, [301, 302, 303, 307, 308].contains(response.status.code),
                let location = response.headerFields[.location]
            else { return .deliver }
            let changesMethod =
                switch response.status.code {
                case 303: request.method != .head
                case 301, 302: request.method == .post
                default: false
                }
            if hasBody, !changesMethod, !canRepeatBody {
                return .fail(
                    MultipathHTTPError(
                        .invalidRedirect,
                        "\(response.status.code): the body can't be made again for \(location)"))
            }
            do throws(MultipathHTTPError) {
                let target = try target(location)
                guard redirectCount < maximumRedirects else {
                    throw MultipathHTTPError(
                        .tooManyRedirects,
                        "more than \(maximumRedirects) redirects; the last one leads to \(location)")
                }
                visited.insert(Self.mark(request))
                let (next, isElsewhere) = redirected(to: target, asGet: changesMethod)
                request = next
                hasLeftOrigin = hasLeftOrigin || isElsewhere
                if changesMethod { hasBody = false }
                guard !visited.contains(Self.mark(request)) else {
                    throw MultipathHTTPError(.redirectLoop, "redirects lead back to \(location)")
                }
                redirectCount += 1
                return .follow
            } catch {
                return .fail(error)
            }
        }

        private static func mark(_ request: HTTPRequest) -> String {
            "\(request.method) \(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")"
        }

        /// The URL that a location means here (RFC 3986 section 5).
        private func target(_ location: String) throws(MultipathHTTPError) -> URL {
            guard let base = request.url, let url = URL(string: location, relativeTo: base)?.absoluteURL,
                let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
                url.host()?.isEmpty == false, url.user() == nil
            else {
                throw MultipathHTTPError(.invalidRedirect, "'\(location)' is no place to go to")
            }
            if request.scheme?.lowercased() == "https", scheme == "http" {
                throw MultipathHTTPError(.invalidRedirect, "\(location) leads from https to http")
            }
            return url
        }

        /// Whether a field of the client's own may go where the request goes now.
        func maySend(_ name: HTTPField.Name) -> Bool { !hasLeftOrigin || !credentials.contains(name) }

        private func redirected(to target: URL, asGet: Bool) -> (HTTPRequest, isElsewhere: Bool) {
            let place = HTTPRequest(url: target)
            var next = request
            (next.scheme, next.authority, next.path) = (place.scheme, place.authority, place.path)
            if asGet {
                next.method = .get
                for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding, .contentLanguage] {
                    next.headerFields[name] = nil
                }
            }
            let isElsewhere = (try? HTTPOrigin(of: next)) != (try? HTTPOrigin(of: request))
            if isElsewhere { for name in credentials { next.headerFields[name] = nil } }
            return (next, isElsewhere)
        }
    }

    extension HTTPRequest.Method {
        /// Whether a second time changes nothing more (RFC 9110 section 9.2.2).
        var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(self) }
    }
#endif
