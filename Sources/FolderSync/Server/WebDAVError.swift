/// An answer of the server that is not what was asked for.
struct WebDAVError: Error, Sendable, Hashable, CustomStringConvertible {
    var method: String
    var path: String
    var status: Int
    var detail: String?
    /// In seconds (RFC 9110 section 10.2.3).
    var retryAfter: Int?

    init(_ method: String, _ path: String, _ status: Int, detail: String? = nil) {
        self.method = method
        self.path = path
        self.status = status
        self.detail = detail
    }

    var description: String { "the server answered \(method) \(path) with \(status): \(words)" }

    private var words: String {
        if let detail { return detail }
        return switch status {
        case 401: "it wants to know the user; say --user NAME, with the password in MPSYNC_PASSWORD or a file"
        case 403: "it is forbidden; look at the rights there"
        case 404: "there is no such thing; look at the URL"
        case 405, 501: "it can't do that; is there a WebDAV server at this URL?"
        case 409: "a folder on the way is missing"
        case 412: "it has changed meanwhile"
        case 413: "the file is too large for it"
        case 423: "it is locked by another client; run it again later"
        case 429: "too many requests; run it again later"
        case 507: "it has no room left"
        case 300..<400: "it has moved"
        case 500..<600: "it has a fault of its own"
        default: "unexpected"
        }
    }

    /// Something has changed since it was looked at.
    var isOutdated: Bool { status == 412 || status == 409 || status == 404 }

    /// A later try may do.
    var isTransient: Bool { [408, 423, 425, 429, 500, 502, 503, 504].contains(status) }

    /// No other file will fare better.
    var isFinal: Bool { status == 401 || status == 507 }
}
