/// What a segment's first bytes show. A server's page of an error is no media, whatever its status says.
enum MediaFormat: String, Sendable, Hashable {
    case mpegTS = "MPEG-TS"
    case fragmentedMP4 = "fragmented MP4"
    case packedAudio = "packed audio"
    case webVTT = "WebVTT"

    /// How many bytes it takes to see.
    static let prefixLength = 16

    /// - Returns: nil where it is none of these.
    init?(prefix bytes: some Collection<UInt8>) {
        let first = Array(bytes.prefix(Self.prefixLength))
        guard first.count >= 4 else { return nil }
        if first[0] == 0x47 {
            self = .mpegTS
        } else if first.count >= 8, Self.boxes.contains(String(decoding: first[4..<8], as: UTF8.self)) {
            self = .fragmentedMP4
        } else if first.starts(with: "ID3".utf8) || first[0] == 0xFF && first[1] & 0xE0 == 0xE0
            || first[0] == 0x0B && first[1] == 0x77
        {
            // ID3 tags, MPEG audio and ADTS, AC-3.
            self = .packedAudio
        } else if first.starts(with: "WEBVTT".utf8) || first.starts(with: [0xEF, 0xBB, 0xBF] + "WEBVTT".utf8)
        {
            self = .webVTT
        } else {
            return nil
        }
    }

    /// The boxes that a segment or an initialization section may begin with (ISO/IEC 14496-12).
    private static let boxes: Set<String> = [
        "ftyp", "styp", "moov", "moof", "sidx", "ssix", "prft", "emsg", "free", "skip", "mdat", "uuid",
    ]

    /// What such bytes are instead, for an error.
    static func words(_ bytes: some Collection<UInt8>) -> String {
        let first = Array(bytes.prefix(Self.prefixLength))
        let text = String(decoding: first, as: UTF8.self).drop { $0.isWhitespace }
        if first.isEmpty { return "nothing" }
        if text.hasPrefix("<") { return "a page of HTML" }
        if text.hasPrefix("#EXTM3U") { return "a playlist" }
        return "bytes of no known format"
    }
}
