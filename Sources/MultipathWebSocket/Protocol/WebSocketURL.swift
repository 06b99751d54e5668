#if HTTP
    /// The address of a WebSocket (RFC 6455 section 3; its syntax is RFC 3986's).
    struct WebSocketURL: Sendable, Hashable {
        /// `wss`, and so TLS.
        var isSecure: Bool
        /// A name or an address, without brackets.
        var host: String
        var port: Int
        /// The path and query, as they stand in the request's first line.
        var resource: String

        /// - Throws: `WebSocketError.invalidURL` for another scheme, no host, a user, a fragment, a port out of range, or a
        ///   character that has to be percent-encoded.
        init(_ text: String) throws(WebSocketError) {
            let invalid = WebSocketError.invalidURL(text)
            // Nothing that would end the request's first line, nor any other sign that no address has.
            guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), !text.contains("#") else { throw invalid }
            let lowercased = text.lowercased()
            let scheme: String
            if lowercased.hasPrefix("wss://") {
                (isSecure, scheme) = (true, "wss://")
            } else if lowercased.hasPrefix("ws://") {
                (isSecure, scheme) = (false, "ws://")
            } else {
                throw invalid
            }
            let rest = text.dropFirst(scheme.count)
            let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            let authority = rest[..<end]
            guard !authority.contains("@") else { throw invalid }
            let path = rest[end...]
            resource = path.hasPrefix("/") ? String(path) : "/" + path

            let portText: Substring?
            if authority.hasPrefix("[") {
                guard let bracket = authority.firstIndex(of: "]") else { throw invalid }
                host = String(authority[authority.index(after: authority.startIndex)..<bracket])
                let after = authority[authority.index(after: bracket)...]
                guard after.isEmpty || after.hasPrefix(":"), host.contains(":") else { throw invalid }
                portText = after.isEmpty ? nil : after.dropFirst()
            } else {
                let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                host = String(parts[0])
                portText = parts.count > 1 ? parts[1] : nil
            }
            guard !host.isEmpty else { throw invalid }
            guard let portText, !portText.isEmpty else {
                port = isSecure ? 443 : 80
                return
            }
            guard portText.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(portText),
                1...65_535 ~= number
            else { throw invalid }
            port = number
        }

        /// The `Host` header: the port only where it is not the scheme's own (RFC 6455 section 4.1).
        var hostHeader: String {
            let name = host.contains(":") ? "[\(host)]" : host
            return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
        }
    }
#endif
