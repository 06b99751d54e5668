#if HTTP
    import HTTPTypes

    // Which version of a resource an answer brings, and which part of it.

    /// Names a version of a resource, so that the rest of it can be asked for (RFC 9110 section 8.8.3).
    struct StrongValidator: Sendable, Hashable, Codable {
        /// A strong entity tag, with its quotes.
        let tag: String

        /// - Returns: nil where the answer names its version by no tag, by a weak one, or by one that two versions can have.
        init?(_ response: HTTPResponse, total: Int64?) {
            guard let tag = response.headerFields[.eTag], !tag.hasPrefix("W/") else { return nil }
            self.tag = tag
            // Nginx makes one of time and size (`ngx_http_set_etag`): what is written again in the same second, with the same length,
            // has the same.
            guard let total, let written = response.headerFields[.lastModified].flatMap(HTTPDate.seconds),
                tag == "\"\(String(written, radix: 16))-\(String(total, radix: 16))\"",
                let now = response.headerFields[.date].flatMap(HTTPDate.seconds)
            else { return }
            if now - written < 2 { return nil }
        }

        init(tag: String) { self.tag = tag }

        init(from decoder: any Decoder) throws { tag = try String(from: decoder) }

        func encode(to encoder: any Encoder) throws { try tag.encode(to: encoder) }

        /// Whether a part may be of this version. It has the same strong validator (RFC 9110 section 15.3.7), whatever was made of If-Range
        /// on the way, where some make it a weak one.
        func mayName(_ response: HTTPResponse) -> Bool {
            guard let other = response.headerFields[.eTag] else { return true }
            return other == tag || other == "W/\(tag)"
        }
    }

    /// Which part of a resource an answer has: `bytes 100-199/200`, `bytes */200` (RFC 9110 section 14.4).
    struct ContentRange: Sendable, Hashable {
        /// The first byte; nil where the answer has no part.
        var start: Int64?
        /// The last byte; nil where the answer has no part.
        var last: Int64?
        /// Nil where the server does not say it.
        var total: Int64?

        init?(_ field: String?) {
            guard let field, field.hasPrefix("bytes ") else { return nil }
            let halves = field.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
            guard halves.count == 2 else { return nil }
            if halves[1] != "*" {
                guard let total = Self.number(halves[1]) else { return nil }
                self.total = total
            }
            guard halves[0] != "*" else { return }
            let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
            guard ends.count == 2, let start = ends[0], let last = ends[1], last >= start,
                total.map({ last < $0 }) ?? true
            else { return nil }
            (self.start, self.last) = (start, last)
        }

        /// Digits and nothing else, and no more than fit.
        private static func number(_ text: Substring) -> Int64? {
            guard text.utf8.count <= 18, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            return Int64(text)
        }
    }

    extension HTTPRequest {
        /// Asks for the bytes from one on, up to a last one or to the end, of this version alone: another comes whole (RFC 9110 section
        /// 13.1.5).
        mutating func ask(from start: Int64, to last: Int64? = nil, of version: StrongValidator) {
            headerFields[.range] = "bytes=\(start)-\(last.map(String.init) ?? "")"
            headerFields[.ifRange] = version.tag
        }
    }
#endif
