/// The first line of an HTTP answer, and where it sends its reader.
struct HTTPHead: Sendable, Hashable {
    /// Such as `302`.
    var status: Int
    /// `HTTP/1.1 302 Found`
    var line: String
    /// The header `Location`.
    var location: String?

    /// Lines of more bytes than this are cut.
    private static let longest = 200

    /// - Returns: nil for what is no HTTP.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: Array("HTTP/".utf8)) else { return nil }
        let head = String(decoding: bytes, as: UTF8.self)
        let lines = head.split(omittingEmptySubsequences: false) { $0.isNewline }
        guard let first = lines.first else { return nil }
        let words = first.split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { return nil }
        self.status = status
        line = String(first.prefix(Self.longest))
        for field in lines.dropFirst().prefix(while: { !$0.isEmpty }) {
            let parts = field.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "location" else { continue }
            location = String(parts[1].drop { $0 == " " }.prefix(Self.longest))
        }
    }

    /// What it says of the path, where no host could answer. RFC 6585 section 6 has 511 for a portal; most redirect.
    var portal: PortalFinding {
        status < 400 || status == 511 ? .page(status: line, location: location) : .proxy(status: line)
    }
}
