#if HTTP
    import FoundationEssentials
    import HTTPTypes

    /// A proxy: it opens ways to origins with TLS by CONNECT (RFC 9110 section 9.3.6), and sends requests to others on.
    public struct HTTPProxy: Sendable, Hashable, CustomStringConvertible {
        /// A name or an address.
        public var host: String
        /// From 1 to 65535.
        public var port: Int
        /// The value of `Proxy-Authorization`; nil for none.
        public var authorization: String?

        /// - Parameters:
        ///   - host: a name, or an address without brackets.
        ///   - port: from 1 to 65535.
        ///   - authorization: the value of `Proxy-Authorization`, such as `Basic dXNlcjpwYXNz`.
        public init(host: String, port: Int, authorization: String? = nil) {
            self.host = host
            self.port = port
            self.authorization = authorization
        }

        /// `proxy.example:3128`, without what authorizes.
        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    extension HTTPProxy {
        /// A request as the proxy takes it that is to send it on: with the whole URL in its first line (RFC 9112 section 3.2.2).
        func forwarded(_ request: HTTPRequest) -> HTTPRequest {
            var request = request
            request.path = "http://\(request.authority ?? "")\(request.path ?? "/")"
            request.headerFields[.proxyAuthorization] = authorization
            return request
        }
    }

    /// Which requests go through a proxy.
    public struct HTTPProxies: Sendable, Hashable {
        /// For origins without TLS.
        public var http: HTTPProxy?
        /// For origins with TLS.
        public var https: HTTPProxy?
        /// Hosts that are asked without a proxy: a name, which means its subdomains too; an address; `*` for all.
        public var exceptions: [String] = []

        /// None.
        public init() {}

        /// What the environment says: `http_proxy`, `https_proxy` (or in capitals), `all_proxy` and `no_proxy`, as curl reads
        /// them: `HTTP_PROXY` does not count, because a web server may set it by a request's field.
        ///
        /// - Parameter environment: the variables.
        /// - Throws: `MultipathHTTPError` with the code `.invalidURL` for what is no proxy's URL.
        public init(environment: [String: String]) throws {
            func value(_ names: String...) -> String? {
                names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
            }
            let all = value("all_proxy", "ALL_PROXY")
            http = try (value("http_proxy") ?? all).map(Self.parse)
            https = try (value("https_proxy", "HTTPS_PROXY") ?? all).map(Self.parse)
            exceptions = (value("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0 == " " }.map(
                String.init)
        }

        private static func parse(_ text: String) throws -> HTTPProxy {
            var rest = Substring(text)
            if let scheme = rest.firstRange(of: "://") {
                guard rest[..<scheme.lowerBound].lowercased() == "http" else {
                    throw MultipathHTTPError(
                        .invalidURL, "only proxies spoken to by http are known, not \(text)")
                }
                rest = rest[scheme.upperBound...]
            }
            rest = rest.prefix { $0 != "/" }
            var authorization: String?
            if let at = rest.lastIndex(of: "@") {
                authorization = "Basic " + Data(credentials(rest[..<at]).utf8).base64EncodedString()
                rest = rest[rest.index(after: at)...]
            }
            let hasPort = rest.last != "]" && rest.split(separator: "]").last?.contains(":") == true
            let origin = try HTTPOrigin(scheme: "http", authority: String(rest))
            return HTTPProxy(
                host: origin.host, port: hasPort ? origin.port : 1080, authorization: authorization)
        }

        /// The user and the password as RFC 7617 has them: with a colon in between, and nothing escaped.
        private static func credentials(_ text: Substring) -> String {
            guard text.contains("%"), let url = URL(string: "http://\(text)@proxy.invalid"),
                let user = url.user(percentEncoded: false)
            else { return text.contains(":") ? String(text) : text + ":" }
            return user + ":" + (url.password(percentEncoded: false) ?? "")
        }

        func proxy(for origin: HTTPOrigin) -> HTTPProxy? {
            guard let proxy = origin.isSecure ? https : http else { return nil }
            let isException = exceptions.contains { exception in
                let name = exception.lowercased().drop { $0 == "." }
                return exception == "*" || origin.host == name || origin.host.hasSuffix("." + name)
            }
            return isException ? nil : proxy
        }
    }
#endif
