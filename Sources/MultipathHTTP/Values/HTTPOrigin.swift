#if HTTP
    import FoundationEssentials
    import HTTPTypes
    import Multipath

    /// Where a request goes: scheme, host and port (RFC 9110 section 4.3).
    package struct HTTPOrigin: Sendable, Hashable, CustomStringConvertible {
        /// Whether it is spoken to by TLS: `https`, `wss`.
        package var isSecure: Bool
        /// A name in lower case, or an address without brackets.
        package var host: String
        /// From 1 to 65535.
        package var port: Int

        /// An origin of these parts.
        package init(isSecure: Bool, host: String, port: Int) {
            self.isSecure = isSecure
            self.host = host
            self.port = port
        }

        /// - Parameters:
        ///   - scheme: `http`, `https`, `ws` or `wss`.
        ///   - authority: `host`, `host:port` or `[address]:port`. A user's name in it is an error (RFC 9110 section 4.2.4).
        /// - Throws: `MultipathHTTPError` with the code `.invalidURL`.
        package init(scheme: String?, authority: String?) throws(MultipathHTTPError) {
            func invalid(_ reason: String) -> MultipathHTTPError {
                MultipathHTTPError(.invalidURL, "\(scheme ?? "")://\(authority ?? ""): \(reason)")
            }
            switch scheme?.lowercased() {
            case "http", "ws": isSecure = false
            case "https", "wss": isSecure = true
            case nil, "": throw invalid("the scheme is missing")
            default: throw invalid("the scheme is neither http nor https")
            }
            guard let authority, !authority.isEmpty else { throw invalid("the host is missing") }
            guard !authority.contains("@") else { throw invalid("a user's name does not belong there") }
            guard let (host, port) = Self.parts(authority, isSecure ? 443 : 80) else {
                throw invalid("this is no host with a port")
            }
            self.host = host.lowercased()
            self.port = port
        }

        private static func parts(_ authority: String, _ standard: Int) -> (host: String, port: Int)? {
            var rest = Substring(authority)
            let host: Substring
            if rest.first == "[" {
                guard let end = rest.firstIndex(of: "]") else { return nil }
                host = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[rest.index(after: end)...]
                guard IPAddress(String(host)) != nil else { return nil }
            } else {
                host = rest.prefix { $0 != ":" }
                rest = rest.dropFirst(host.count)
            }
            guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F }) else {
                return nil
            }
            // An empty port is the scheme's (RFC 3986 section 3.2.3).
            if rest.isEmpty || rest == ":" { return (String(host), standard) }
            guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let port = UInt16(rest.dropFirst()), port != 0
            else { return nil }
            return (String(host), Int(port))
        }

        /// What a request carries as its authority: the port only where it is not the scheme's.
        package var authority: String {
            let name = host.contains(":") ? "[\(host)]" : host
            return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
        }

        /// `https` or `http`.
        package var scheme: String { isSecure ? "https" : "http" }

        package var description: String { "\(scheme)://\(authority)" }
    }

    extension HTTPOrigin {
        /// The origin of a request.
        /// - Throws: `MultipathHTTPError` with the code `.invalidURL`, also for a target that would break its line in HTTP/1.1.
        package init(of request: HTTPRequest) throws(MultipathHTTPError) {
            try self.init(scheme: request.scheme, authority: request.authority)
            guard let path = request.path, !path.isEmpty else {
                throw MultipathHTTPError(.invalidURL, "\(self): the path is missing")
            }
            guard path.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw MultipathHTTPError(
                    .invalidURL,
                    "\(self): a space or a control character in the path has to be percent-encoded")
            }
        }

        /// The URL that a location means in the answer to a request (RFC 3986 section 5); nil where it is of another origin.
        package static func place(_ location: String, of request: HTTPRequest) -> String? {
            guard let place = URL(string: location, relativeTo: request.url)?.absoluteURL,
                let origin = try? HTTPOrigin(of: request),
                (try? HTTPOrigin(of: HTTPRequest(url: place))) == origin
            else { return nil }
            return place.absoluteString
        }
    }
#endif
