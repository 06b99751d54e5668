import FoundationEssentials

/// Which places a playlist may name.
enum MediaURL {
    /// What a URI means in a playlist (RFC 3986 section 5).
    ///
    /// Only http and https are places for media: a playlist from the network may not have this machine's files read, nor lead
    /// from https to http.
    static func resolve(_ text: String, in base: URL, line: Int = 0) throws(PlaylistError) -> URL {
        let shown = text.prefix(80)
        guard text.utf8.count <= 8_192 else {
            throw PlaylistError(line: line, reason: "a URI is longer than 8,192 bytes")
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            let url = URL(string: text, relativeTo: base)?.absoluteURL
        else { throw PlaylistError(line: line, reason: "'\(shown)' is no URI") }
        let scheme = url.scheme?.lowercased() ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw PlaylistError(
                line: line, reason: "'\(shown)': only http and https are places for media")
        }
        guard let host = url.host(), !host.isEmpty, url.user() == nil else {
            throw PlaylistError(line: line, reason: "'\(shown)' names no host, or a user with it")
        }
        if base.scheme?.lowercased() == "https", scheme == "http" {
            throw PlaylistError(line: line, reason: "'\(shown)' leads from https to http")
        }
        return url
    }
}
