import FoundationEssentials

// Reads playlists (RFC 8216 section 4, and its successor draft-pantos-hls-rfc8216bis).
//
// Rules:
//  1. Strict about syntax: what a known tag says must be well-formed, or the playlist is none.
//  2. Lenient about the unknown: tags and attributes that this does not know are skipped (RFC 8216 section 6.3.1).
//  3. Each count has a limit, so that a hostile playlist costs no more than its bytes.

/// Reads one playlist.
struct PlaylistParser {
    /// How much of a playlist is read.
    struct Limits: Sendable {
        /// A day of segments of 2 s takes 5 MB.
        var bytes = 16 << 20
        var segments = 200_000
        var variants = 1_000
    }

    private let url: URL
    private let limits: Limits
    private var variables: [String: String] = [:]
    private var line = 0
    /// Bytes that variables have brought.
    private var expanded = 0

    private var multivariant = MultivariantPlaylist()
    private var media = MediaPlaylist(targetDuration: 0)
    private var hasTargetDuration = false
    private var hasSegmentTag = false

    /// What is said of the next URI.
    private var pendingVariant: MultivariantPlaylist.Variant?
    private var pendingDuration: Double?
    private var pendingRange: (length: Int64, start: Int64?)?
    private var isDiscontinuous = false
    private var isGap = false
    private var pendingDate: Double?

    /// What is said of all that follow.
    private var key: (url: URL, vector: [UInt8]?)?
    /// The formats of the keys that stand directly one after the other.
    private var isKeyUnusable: String?
    private var hasKeyBeenUsed = false
    private var initialization: MediaPlaylist.Resource?
    private var lastRange: (url: URL, end: Int64)?
    private var lastDate: Double?

    private init(_ url: URL, _ limits: Limits) {
        self.url = url
        self.limits = limits
    }

    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - url: where it came from, after redirects: what its URIs are relative to.
    static func parse(
        _ bytes: some Collection<UInt8>, from url: URL, limits: Limits = Limits()
    ) throws(PlaylistError) -> Playlist {
        guard bytes.count <= limits.bytes else {
            throw PlaylistError(line: 0, reason: "the playlist is longer than \(limits.bytes) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PlaylistError(line: 0, reason: "the playlist is not UTF-8")
        }
        var parser = PlaylistParser(url, limits)
        return try parser.parse(text)
    }

    private mutating func parse(_ text: String) throws(PlaylistError) -> Playlist {
        // Line by line, for millions of empty ones would take more than their bytes. Compared as bytes, since "\r\n" is one
        // character.
        var rest: Substring.UTF8View? = text[...].utf8
        while let left = rest {
            let end = left.firstIndex(of: UInt8(ascii: "\n"))
            rest = end.map { left[left.index(after: $0)...] }
            line += 1
            let text = Self.trimmed(left[..<(end ?? left.endIndex)])
            if line == 1, text != "#EXTM3U" {
                throw PlaylistError(line: 1, reason: "this is no playlist: it does not begin with #EXTM3U")
            }
            if text.isEmpty { continue }
            if text.hasPrefix("#EXT") {
                let colon = text.firstIndex(of: ":")
                try ingest(
                    tag: text[..<(colon ?? text.endIndex)], colon.map { text[text.index(after: $0)...] } ?? ""
                )
            } else if text.first != "#" {
                try ingest(uri: try substituted(text))
            }
        }
        return try finish()
    }

    private static func trimmed(_ bytes: Substring.UTF8View.SubSequence) -> Substring {
        var bytes = bytes
        while let last = bytes.last, last == 0x0D || last == 0x20 || last == 0x09 { bytes.removeLast() }
        return Substring(bytes)
    }

    private func fail(_ reason: String) -> PlaylistError { PlaylistError(line: line, reason: reason) }

    // MARK: Tags

    private mutating func ingest(tag: Substring, _ value: Substring) throws(PlaylistError) {
        switch tag {
        // RFC 8216 section 4.3.3.2 and 4.3.3.3.
        case "#EXT-X-MEDIA-SEQUENCE" where !media.segments.isEmpty,
            "#EXT-X-DISCONTINUITY-SEQUENCE" where !media.segments.isEmpty:
            throw fail("\(tag.dropFirst()) has to stand before the first segment")
        case "#EXTINF": try ingest(duration: value)
        case "#EXT-X-TARGETDURATION":
            guard let seconds = PlaylistNumber.count(value), seconds <= 86_400 else {
                throw fail("EXT-X-TARGETDURATION is no number of seconds")
            }
            (media.targetDuration, hasTargetDuration) = (Double(max(seconds, 1)), true)
        case "#EXT-X-MEDIA-SEQUENCE":
            guard let number = PlaylistNumber.count(value) else {
                throw fail("EXT-X-MEDIA-SEQUENCE is no number")
            }
            media.mediaSequence = number
        case "#EXT-X-DISCONTINUITY-SEQUENCE":
            guard let number = PlaylistNumber.count(value) else {
                throw fail("EXT-X-DISCONTINUITY-SEQUENCE is no number")
            }
            media.discontinuitySequence = number
        case "#EXT-X-BYTERANGE":
            guard let range = PlaylistNumber.range(value) else { throw fail("EXT-X-BYTERANGE is no range") }
            (pendingRange, hasSegmentTag) = (range, true)
        case "#EXT-X-DISCONTINUITY": (isDiscontinuous, hasSegmentTag) = (true, true)
        case "#EXT-X-GAP": isGap = true
        case "#EXT-X-ENDLIST": media.isEnded = true
        case "#EXT-X-PROGRAM-DATE-TIME":
            // A date that can't be read is no reason not to play.
            pendingDate = PlaylistNumber.date(value)
        case "#EXT-X-I-FRAMES-ONLY": throw fail("a playlist of I-frames only can't be played")
        case "#EXT-X-SKIP": throw fail("the server sent a part of the playlist (EXT-X-SKIP) unasked")
        case "#EXT-X-KEY": try ingest(key: try attributes(value))
        case "#EXT-X-MAP": try ingest(map: try attributes(value))
        case "#EXT-X-DEFINE": try define(try attributes(value))
        case "#EXT-X-START": media.startOffset = try attributes(value).seconds("TIME-OFFSET")
        case "#EXT-X-SERVER-CONTROL": media.holdBack = try attributes(value).seconds("HOLD-BACK")
        case "#EXT-X-STREAM-INF": try ingest(variant: try attributes(value))
        case "#EXT-X-MEDIA": try ingest(rendition: try attributes(value))
        default: break
        }
    }

    private mutating func attributes(_ value: Substring) throws(PlaylistError) -> AttributeList {
        try AttributeList(substituted(value)[...], line: line)
    }

    private mutating func ingest(duration value: Substring) throws(PlaylistError) {
        let text = value.prefix { $0 != "," }
        guard let seconds = PlaylistNumber.seconds(text), seconds >= 0 else {
            throw fail("EXTINF is no duration: '\(value.prefix(40))'")
        }
        guard pendingDuration == nil else { throw fail("EXTINF stands there twice before a URI") }
        (pendingDuration, hasSegmentTag) = (seconds, true)
    }

    private mutating func ingest(key attributes: AttributeList) throws(PlaylistError) {
        let method = try attributes.required("METHOD", of: "EXT-X-KEY")
        let format = attributes["KEYFORMAT"] ?? "identity"
        // The same key may stand there in several formats, one after the other, of which one will do. Behind a segment comes
        // another.
        if hasKeyBeenUsed { (key, isKeyUnusable, hasKeyBeenUsed) = (nil, nil, false) }
        switch method {
        case "NONE": (key, isKeyUnusable) = (nil, nil)
        case "AES-128" where format == "identity":
            let keyURL = try MediaURL.resolve(
                try attributes.required("URI", of: "EXT-X-KEY"), in: url, line: line)
            var vector: [UInt8]?
            if let text = attributes["IV"] {
                guard let bytes = PlaylistNumber.vector(text) else { throw fail("IV is no 128 bits") }
                vector = bytes
            }
            (key, isKeyUnusable) = ((keyURL, vector), nil)
        default:
            if key == nil { isKeyUnusable = format == "identity" ? method : "\(method) (\(format))" }
        }
    }

    private mutating func ingest(map attributes: AttributeList) throws(PlaylistError) {
        let place = try MediaURL.resolve(
            try attributes.required("URI", of: "EXT-X-MAP"), in: url, line: line)
        var range: MediaPlaylist.ByteRange?
        if let text = attributes["BYTERANGE"] {
            guard let (length, start) = PlaylistNumber.range(text[...]) else {
                throw fail("BYTERANGE is no range")
            }
            guard (start ?? 0) + length <= PlaylistNumber.limit else {
                throw fail("BYTERANGE ends beyond any file")
            }
            range = MediaPlaylist.ByteRange(start: start ?? 0, length: length)
        }
        var encryption: MediaPlaylist.Encryption?
        if let key {
            guard let vector = key.vector else { throw fail("an encrypted EXT-X-MAP needs a key with an IV") }
            encryption = MediaPlaylist.Encryption(keyURL: key.url, initializationVector: vector)
        }
        initialization = MediaPlaylist.Resource(url: place, range: range, encryption: encryption)
    }

    private mutating func ingest(variant attributes: AttributeList) throws(PlaylistError) {
        guard let bandwidth = try attributes.count("BANDWIDTH") else {
            throw fail("EXT-X-STREAM-INF has no BANDWIDTH")
        }
        pendingVariant = MultivariantPlaylist.Variant(
            url: url, bandwidth: Double(max(bandwidth, 1)),
            averageBandwidth: try attributes.count("AVERAGE-BANDWIDTH").map { Double(max($0, 1)) },
            resolution: attributes["RESOLUTION"], codecs: attributes["CODECS"],
            audioGroup: attributes["AUDIO"])
    }

    private mutating func ingest(rendition attributes: AttributeList) throws(PlaylistError) {
        guard multivariant.renditions.count < limits.variants else {
            throw fail("there are more than \(limits.variants) renditions")
        }
        var place: URL?
        if let text = attributes["URI"] { place = try MediaURL.resolve(text, in: url, line: line) }
        multivariant.renditions.append(
            MultivariantPlaylist.Rendition(
                type: try attributes.required("TYPE", of: "EXT-X-MEDIA"),
                group: try attributes.required("GROUP-ID", of: "EXT-X-MEDIA"),
                name: attributes["NAME"] ?? "", url: place, isDefault: attributes["DEFAULT"] == "YES"))
    }

    // MARK: Variables (RFC 8216bis section 4.3)

    private mutating func define(_ attributes: AttributeList) throws(PlaylistError) {
        guard variables.count < 1_000 else { throw fail("there are more than 1,000 variables") }
        if let name = attributes["NAME"] {
            variables[name] = try attributes.required("VALUE", of: "EXT-X-DEFINE")
        } else if let name = attributes["QUERYPARAM"] {
            let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            guard let value = items.first(where: { $0.name == name })?.value else {
                throw fail("the playlist's URL has no parameter \(name.prefix(40))")
            }
            variables[name] = value
        } else if attributes["IMPORT"] != nil {
            throw fail("variables of another playlist (IMPORT) are not supported")
        } else {
            throw fail("EXT-X-DEFINE defines nothing")
        }
    }

    private mutating func substituted(_ text: Substring) throws(PlaylistError) -> String {
        guard !variables.isEmpty, text.contains("{$") else { return String(text) }
        var (result, rest) = ("", text)
        while let open = rest.firstRange(of: "{$") {
            result += rest[..<open.lowerBound]
            guard let close = rest[open.upperBound...].firstIndex(of: "}") else {
                throw fail("the name of a variable is not closed")
            }
            let name = rest[open.upperBound..<close]
            guard let value = variables[String(name)] else {
                throw fail("the variable \(name.prefix(40)) is not defined")
            }
            result += value
            expanded += value.utf8.count
            guard expanded <= limits.bytes else { throw fail("variables make the playlist too long") }
            guard result.utf8.count <= 65_536 else { throw fail("a line's variables make it too long") }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    // MARK: URIs

    private mutating func ingest(uri text: String) throws(PlaylistError) {
        let place = try MediaURL.resolve(text, in: url, line: line)
        if var variant = pendingVariant {
            pendingVariant = nil
            guard multivariant.variants.count < limits.variants else {
                throw fail("there are more than \(limits.variants) variants")
            }
            variant.url = place
            multivariant.variants.append(variant)
            return
        }
        guard let duration = pendingDuration else {
            throw fail("a URI has neither EXTINF nor EXT-X-STREAM-INF")
        }
        guard media.segments.count < limits.segments else {
            throw fail("there are more than \(limits.segments) segments")
        }
        if let method = isKeyUnusable, key == nil {
            throw fail("the encryption \(method.prefix(60)) is not supported, only AES-128 is")
        }
        let number = media.mediaSequence + Int64(media.segments.count)
        hasKeyBeenUsed = true
        let resource = MediaPlaylist.Resource(
            url: place, range: try range(of: place), encryption: key.map { encryption($0, number) })
        let date = pendingDate ?? lastDate
        media.segments.append(
            MediaPlaylist.Segment(
                number: number, resource: resource, duration: duration, isDiscontinuous: isDiscontinuous,
                isGap: isGap, date: date, initialization: initialization))
        lastDate = date.map { $0 + duration }
        (pendingDuration, pendingRange, pendingDate) = (nil, nil, nil)
        (isDiscontinuous, isGap) = (false, false)
    }

    private func encryption(_ key: (url: URL, vector: [UInt8]?), _ number: Int64) -> MediaPlaylist.Encryption
    {
        let counted = (0..<16).map { $0 < 8 ? 0 : UInt8(truncatingIfNeeded: number >> (8 * (15 - $0))) }
        return MediaPlaylist.Encryption(keyURL: key.url, initializationVector: key.vector ?? counted)
    }

    private mutating func range(of place: URL) throws(PlaylistError) -> MediaPlaylist.ByteRange? {
        guard let (length, start) = pendingRange else {
            lastRange = nil
            return nil
        }
        guard let start = start ?? (lastRange?.url == place ? lastRange?.end : nil) else {
            throw fail("EXT-X-BYTERANGE does not say where it begins")
        }
        // Both are 2^53 at most, so that the sum can't overflow.
        guard start + length <= PlaylistNumber.limit else {
            throw fail("EXT-X-BYTERANGE ends beyond any file")
        }
        let range = MediaPlaylist.ByteRange(start: start, length: length)
        lastRange = (place, range.end)
        return range
    }

    // MARK: The end

    private func finish() throws(PlaylistError) -> Playlist {
        if pendingVariant != nil || pendingDuration != nil {
            throw PlaylistError(
                line: line, reason: "the playlist is cut: behind its last tag a URI is missing")
        }
        let isMedia = hasTargetDuration || hasSegmentTag || !media.segments.isEmpty
        if !multivariant.variants.isEmpty {
            guard !isMedia else {
                throw PlaylistError(line: 0, reason: "the playlist names both variants and segments")
            }
            return .multivariant(multivariant)
        }
        guard isMedia else { throw PlaylistError(line: 0, reason: "the playlist names nothing to play") }
        guard hasTargetDuration else {
            throw PlaylistError(line: 0, reason: "the playlist has no EXT-X-TARGETDURATION")
        }
        return .media(media)
    }
}
