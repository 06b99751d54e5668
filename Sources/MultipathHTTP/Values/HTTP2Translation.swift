#if HTTP
    import HTTPTypes

    // Callers need not know which protocol their request takes. What HTTP/2 does not allow would end the connection, and with it the
    // requests of others.

    extension HTTPRequest {
        /// Takes out what is about one connection of HTTP/1.1, and names the scheme as servers expect it.
        mutating func translateToHTTP2() {
            headerFields.removeConnectionFields()
            // By ALPN it is spoken over TLS alone.
            scheme = "https"
            extendedConnectProtocol = nil
        }
    }

    extension HTTPFields {
        /// RFC 9113 section 8.2.2.
        mutating func removeConnectionFields() {
            let listed = self[values: .connection].flatMap { $0.split(separator: ",") }
            let names = listed.compactMap { HTTPField.Name($0.filter { $0 != " " && $0 != "\t" }) }
            for name in names { self[name] = nil }
            for name in Self.connectionFields { self[name] = nil }
            // The only value that is allowed.
            if self[.te]?.lowercased() != "trailers" { self[.te] = nil }
        }

        private static let connectionFields =
            [.connection, .transferEncoding, .upgrade]
            + ["Keep-Alive", "Proxy-Connection"].compactMap { HTTPField.Name($0) }
    }
#endif
