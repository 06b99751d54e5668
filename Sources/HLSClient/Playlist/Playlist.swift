import FoundationEssentials

/// What a playlist says (RFC 8216 and draft-pantos-hls-rfc8216bis). Durations are in seconds, rates in bits per second.
enum Playlist: Sendable, Equatable {
    /// The same content in several variants.
    case multivariant(MultivariantPlaylist)
    /// The segments of one variant.
    case media(MediaPlaylist)
}

/// The variants of a stream (RFC 8216 section 4.3.4).
struct MultivariantPlaylist: Sendable, Equatable {
    /// In the playlist's order; at least one.
    var variants: [Variant] = []
    /// The renditions that a variant's groups name.
    var renditions: [Rendition] = []

    /// One variant (`EXT-X-STREAM-INF`).
    struct Variant: Sendable, Hashable {
        var url: URL
        /// The highest rate of its segments.
        var bandwidth: Double
        /// The rate of all of it, where the playlist says it.
        var averageBandwidth: Double?
        /// Such as `1280x720`; nil where the playlist does not say it.
        var resolution: String?
        var codecs: String?
        /// The group of renditions that its sound is in; nil where it is in the variant's own segments.
        var audioGroup: String?

        /// The rate that adaptation counts with.
        var rate: Double { averageBandwidth ?? bandwidth }
    }

    /// One rendition (`EXT-X-MEDIA`).
    struct Rendition: Sendable, Hashable {
        var type: String
        var group: String
        var name: String
        /// Nil where its media are in the variant's own segments.
        var url: URL?
        var isDefault: Bool
    }
}

/// The segments of a variant (RFC 8216 section 4.3.3).
struct MediaPlaylist: Sendable, Equatable {
    /// The longest that a segment may be.
    var targetDuration: Double
    /// The number of its first segment.
    var mediaSequence: Int64 = 0
    /// The number of discontinuities before its first segment.
    var discontinuitySequence: Int64 = 0
    var segments: [Segment] = []
    /// Whether no segment will follow.
    var isEnded = false
    /// How far from its end a live stream is to be joined, where the server says it (`HOLD-BACK`).
    var holdBack: Double?
    /// Where to begin, from the start; from the end where it is negative.
    var startOffset: Double?

    /// One segment.
    struct Segment: Sendable, Hashable {
        var number: Int64
        var resource: Resource
        var duration: Double
        /// Whether what it holds does not follow what came before (`EXT-X-DISCONTINUITY`).
        var isDiscontinuous = false
        /// Whether the server says that it is missing (`EXT-X-GAP`).
        var isGap = false
        /// Seconds since 1970 of its first sample, where the playlist says it.
        var date: Double?
        /// What has to stand before it; nil where nothing has to.
        var initialization: Resource?
    }

    /// A part of what a URL names, and how to read it.
    struct Resource: Sendable, Hashable {
        var url: URL
        /// Nil for all of it.
        var range: ByteRange?
        /// Nil where it is not encrypted.
        var encryption: Encryption?
    }

    /// A range of bytes (RFC 8216 section 4.3.2.2).
    struct ByteRange: Sendable, Hashable {
        var start: Int64
        var length: Int64
        /// Behind its last byte.
        var end: Int64 { start + length }
    }

    /// How AES-128 is to be undone (RFC 8216 section 4.3.2.4).
    struct Encryption: Sendable, Hashable {
        var keyURL: URL
        /// 16 bytes.
        var initializationVector: [UInt8]
    }

    /// Of all its segments, in seconds.
    var duration: Double { segments.reduce(0) { $0 + $1.duration } }
    /// The number behind its last segment's.
    var endSequence: Int64 { mediaSequence + Int64(segments.count) }

    func segment(_ number: Int64) -> Segment? {
        guard number >= mediaSequence, number < endSequence else { return nil }
        return segments[Int(number - mediaSequence)]
    }
}

/// Why a text is no playlist that can be played.
struct PlaylistError: Error, Sendable, Hashable, CustomStringConvertible {
    /// From 1; 0 where it is about the whole.
    var line: Int
    var reason: String

    var description: String { line > 0 ? "line \(line): \(reason)" : reason }
}
