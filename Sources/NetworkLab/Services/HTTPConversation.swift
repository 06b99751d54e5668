import PathCore

/// Port 80: as much of HTTP/1.1 (RFC 9110, RFC 9112) as downloading and seeking needs.
///
///     GET /N           N bytes of the source's stream, in ranges if asked; ?seed=S for another stream
///     GET /sha256/N    their SHA-256
///     GET /            this list
struct HTTPConversation: Conversation {
    private var head: [UInt8] = []
    private var body: (sent: UInt64, end: UInt64, seed: UInt64)?
    private var text: [UInt8] = []
    private(set) var isDone = false
    private var hasEnded = false

    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
        head.append(contentsOf: bytes)
        answerNext()
    }

    mutating func receiveEnd(at now: MonotonicTime) {
        hasEnded = true
        if body == nil, text.isEmpty { isDone = true }
    }

    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime) {
        output += text
        text.removeAll(keepingCapacity: true)
        if let current = body {
            let count = min(UInt64(room), current.end - current.sent)
            output.appendSource(Int(count), from: current.sent, seed: current.seed)
            body?.sent += count
            if current.sent + count == current.end {
                body = nil
                answerNext()
            }
        }
        if hasEnded, body == nil, text.isEmpty { isDone = true }
    }

    /// Answers one request, once the one before it is answered.
    private mutating func answerNext() {
        guard body == nil, !isDone else { return }
        guard let end = Self.headEnd(head) else {
            if head.count > 16_384 { fail("431 Request Header Fields Too Large") }
            return
        }
        let lines = String(decoding: head[..<end], as: UTF8.self).split(separator: "\r\n")
        head.removeFirst(end + 4)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return fail("400 Bad Request") }
        guard ["GET", "HEAD"].contains(words[0]) else { return fail("405 Method Not Allowed") }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = String(
                line[line.index(after: colon)...].drop { $0 == " " })
        }
        let closes = headers["connection"]?.lowercased() == "close" || words[2] == "HTTP/1.0"
        respond(String(words[1]), isHead: words[0] == "HEAD", range: headers["range"], closes: closes)
        if closes { hasEnded = true }
    }

    private mutating func respond(_ target: String, isHead: Bool, range: String?, closes: Bool) {
        let parts = target.split(separator: "?", maxSplits: 1)
        let path = (parts.first ?? "").split(separator: "/").map(String.init)
        var seed = SourceData.defaultSeed
        if parts.count == 2, parts[1].hasPrefix("seed="), let number = UInt64(parts[1].dropFirst(5)) {
            seed = number
        }
        let connection = closes ? "Connection: close\r\n" : ""
        if path.isEmpty {
            send("/N: N bytes; /sha256/N: their SHA-256; ?seed=S for others\n", isHead, connection)
        } else if path.count == 2, path[0] == "sha256", let count = Int(path[1]), count <= 1 << 31 {
            send(SourceData.digest(count: count, seed: seed) + "\n", isHead, connection)
        } else if path.count == 1, let length = UInt64(path[0]), length <= 1 << 50 {
            let wanted = range.map { Self.range($0, length) } ?? .whole
            if case .unsatisfiable = wanted {
                text += Array(
                    """
                    HTTP/1.1 416 Range Not Satisfiable\r
                    Content-Range: bytes */\(length)\r
                    Content-Length: 0\r
                    \(connection)\r

                    """.utf8)
                return
            }
            var (status, extra, bounds) = ("200 OK", "", 0..<length)
            if case .part(let part) = wanted {
                (status, bounds) = ("206 Partial Content", part)
                extra = "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)\r\n"
            }
            text += Array(
                """
                HTTP/1.1 \(status)\r
                Content-Length: \(bounds.count)\r
                Content-Type: application/octet-stream\r
                Accept-Ranges: bytes\r
                ETag: "\(length)-\(seed)"\r
                \(extra)\(connection)\r

                """.utf8)
            if !isHead, !bounds.isEmpty { body = (bounds.lowerBound, bounds.upperBound, seed) }
        } else {
            fail("404 Not Found")
        }
    }

    private mutating func send(_ content: String, _ isHead: Bool, _ connection: String) {
        text += Array(
            """
            HTTP/1.1 200 OK\r
            Content-Length: \(content.utf8.count)\r
            Content-Type: text/plain\r
            \(connection)\r
            \(isHead ? "" : content)
            """.utf8)
    }

    private mutating func fail(_ status: String) {
        text += Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        hasEnded = true
        head = []
    }

    private enum Wanted {
        case whole
        case part(Range<UInt64>)
        case unsatisfiable
    }

    /// One range of RFC 9110 section 14.1.2; what is malformed, or more than one, is ignored as it allows.
    private static func range(_ text: String, _ length: UInt64) -> Wanted {
        guard text.hasPrefix("bytes="), !text.contains(",") else { return .whole }
        let parts = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return .whole }
        if parts[0].isEmpty {
            guard let suffix = UInt64(parts[1]) else { return .whole }
            return suffix == 0 || length == 0 ? .unsatisfiable : .part(length - min(suffix, length)..<length)
        }
        guard let first = UInt64(parts[0]) else { return .whole }
        guard first < length else { return .unsatisfiable }
        if parts[1].isEmpty { return .part(first..<length) }
        guard let last = UInt64(parts[1]), last >= first else { return .whole }
        return .part(first..<min(last, length - 1) + 1)
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (0...bytes.count - 4).first {
            bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
        }
    }
}
