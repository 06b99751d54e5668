#if HTTP
    import HTTPTypes
    import LinuxNet
    import Multipath

    /// Keeps the cookies of servers, in memory, and sends each to the host that set it (RFC 6265).
    ///
    /// A client has none unless it is given one (`MultipathHTTPClient.Configuration.cookies`): most programs that are no browser
    /// want none. A cookie goes back to exactly the host that set it, whatever domain it names: without a list of public suffixes
    /// anything else would leak.
    public final class HTTPCookieJar: Sendable {
        private struct Cookie: Sendable {
            var name: String
            var value: String
            var path: String
            var isSecure: Bool
            /// Nil for as long as the jar lives.
            var expiry: MonotonicTime?
        }

        /// For each host.
        private static let mostCookies = 64
        /// Of a cookie's name and value together, in bytes (RFC 6265 section 6.1).
        private static let longestCookie = 4_096

        private let cookies = Locked<[String: [Cookie]]>([:])

        /// An empty jar.
        public init() {}

        /// Forgets all.
        public func removeAll() { cookies.withLock { $0 = [:] } }

        /// What a request carries: `a=1; b=2`, the longest path first; nil for none.
        func field(for origin: HTTPOrigin, path: String) -> String? {
            let now = MonotonicTime.now
            let matching = cookies.withLock { cookies in
                (cookies[origin.host] ?? []).filter { cookie in
                    (cookie.expiry.map { now < $0 } ?? true) && (origin.isSecure || !cookie.isSecure)
                        && Self.covers(cookie.path, path)
                }
            }
            guard !matching.isEmpty else { return nil }
            // Swift's sort keeps the order of equals.
            return matching.sorted { $0.path.utf8.count > $1.path.utf8.count }
                .map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        }

        /// Keeps what an answer sets.
        func ingest(_ response: HTTPResponse, from origin: HTTPOrigin, path: String) {
            for field in response.headerFields[values: .setCookie] {
                guard let (cookie, isGone) = Self.parse(field, origin, path) else { continue }
                cookies.withLock { cookies in
                    var own = cookies[origin.host] ?? []
                    let now = MonotonicTime.now
                    own.removeAll {
                        $0.name == cookie.name && $0.path == cookie.path
                            || ($0.expiry.map { $0 <= now } ?? false)
                    }
                    if !isGone {
                        // The oldest makes room (RFC 6265 section 5.3).
                        if own.count >= Self.mostCookies { own.removeFirst() }
                        own.append(cookie)
                    }
                    cookies[origin.host] = own.isEmpty ? nil : own
                }
            }
        }

        /// RFC 6265 section 5.1.4.
        private static func covers(_ cookiePath: String, _ path: String) -> Bool {
            let path = path.prefix { $0 != "?" }
            guard path.hasPrefix(cookiePath) else { return false }
            return path.count == cookiePath.count || cookiePath.hasSuffix("/")
                || path.dropFirst(cookiePath.count).first == "/"
        }

        /// RFC 6265 section 5.2.
        private static func parse(
            _ field: String, _ origin: HTTPOrigin, _ path: String
        ) -> (cookie: Cookie, isGone: Bool)? {
            var parts = field.split(separator: ";", omittingEmptySubsequences: false).map { trimmed($0) }
            let pair = parts.removeFirst()
            guard let equals = pair.firstIndex(of: "="), equals > pair.startIndex,
                pair.utf8.count <= longestCookie
            else { return nil }
            var cookie = Cookie(
                name: String(trimmed(pair[..<equals])),
                value: String(trimmed(pair[pair.index(after: equals)...])),
                path: standardPath(path), isSecure: false)
            var (isGone, hasAge) = (false, false)
            for part in parts {
                let name = trimmed(part.prefix { $0 != "=" }).lowercased()
                let value = trimmed(part.dropFirst(name.count).drop { $0 == "=" || $0 == " " })
                switch name {
                case "path" where value.hasPrefix("/"): cookie.path = String(value)
                case "secure": cookie.isSecure = true
                case "max-age":
                    guard let seconds = Int64(value) else { continue }
                    hasAge = true
                    isGone = seconds <= 0
                    cookie.expiry = .now.advanced(by: .seconds(min(seconds, 400 * 86_400)))
                case "expires" where !hasAge:
                    guard let date = HTTPDate.seconds(String(value)) else { continue }
                    let left = date - Int64(WallClock.secondsSince1970)
                    isGone = left <= 0
                    cookie.expiry = .now.advanced(by: .seconds(min(left, 400 * 86_400)))
                default: break
                }
            }
            if cookie.isSecure, !origin.isSecure { return nil }
            return (cookie, isGone)
        }

        /// The request's folder (RFC 6265 section 5.1.4).
        private static func standardPath(_ path: String) -> String {
            let path = path.prefix { $0 != "?" }
            guard path.hasPrefix("/"), let last = path.lastIndex(of: "/"), last > path.startIndex else {
                return "/"
            }
            return String(path[..<last])
        }

        private static func trimmed(_ text: Substring) -> Substring {
            var text = text
            while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
            while let last = text.last, last == " " || last == "\t" { text.removeLast() }
            return text
        }
    }
#endif
