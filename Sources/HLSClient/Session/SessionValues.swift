import FoundationEssentials

/// How a stream is to be played.
public struct StreamOptions: Sendable, Hashable {
    /// The highest rate to use, in bits per second; nil for any.
    public var maximumRate: Double?
    /// The highest rate to use on paths that cost money, in bits per second; nil for any.
    public var expensiveRate: Double?
    /// How much to have ahead of the player. 30 s unless set. On a path where data is to be saved it is two segments.
    public var bufferTarget = Duration.seconds(30)
    /// Where the path carries a low variant only, as much of it is ahead as takes the bytes of `bufferTarget` in the highest one
    /// that is allowed, but no more than this. 90 s unless set; `bufferTarget`, where that is longer.
    public var longestBuffer = Duration.seconds(90)
    /// Whether everything is fetched as fast as it goes, in the highest variant that is allowed, instead of as much as a player
    /// needs: for a recording. A live stream is still adapted to what the path carries.
    public var isRecording = false
    /// How long to go on trying while nothing comes. 2 min unless set.
    public var patience = Duration.seconds(120)
    /// How long a segment may be, in bytes. 128 MiB unless set.
    public var maximumSegmentSize = 128 << 20

    /// The defaults.
    public init() {}
}

/// One variant of a stream.
public struct StreamVariant: Sendable, Hashable {
    /// In bits per second, as its playlist says it; 0 where it does not.
    public var rate: Double
    /// Such as `1280x720`; nil where the playlist does not say it.
    public var resolution: String?

    /// A variant.
    public init(rate: Double, resolution: String? = nil) {
        self.rate = rate
        self.resolution = resolution
    }
}

/// What happened to a stream.
public enum StreamEvent: Sendable, Hashable {
    /// The playlist is there, with these variants in rising order.
    case loaded(variants: [StreamVariant], isLive: Bool)
    /// The first segment is there: a player can begin.
    case started(after: Duration)
    /// A segment is there, whole and decrypted.
    case segment(
        number: Int64, variant: Int, bytes: Int64, duration: Duration, path: StreamPath?,
        throughput: Double?)
    /// The next segments come from another variant.
    case switched(from: Int, to: Int, buffer: Duration)
    /// A player would have nothing left.
    case stalled
    /// It can go on after so long.
    case resumed(after: Duration)
    /// Another path carries the stream, or its tags are others; nil while none does.
    case pathChanged(StreamPath?)
    /// A segment goes on where it was when its connection broke or fell silent: behind so many bytes.
    case continued(number: Int64, at: Int64)
    /// A segment was given up for its lower variant, so that the player does not run dry.
    case abandoned(number: Int64, variant: Int, received: Int64)
    /// A segment is missing from what the output gets.
    case skipped(number: Int64, reason: String)
    /// Something did not work, and is tried again.
    case trouble(String)
    /// Something that the user should know.
    case warning(String)
}

/// How a stream is doing now.
public struct StreamStatus: Sendable, Hashable {
    /// What a player is doing.
    public enum State: String, Sendable, Hashable {
        case starting, playing, stalled, ended
    }

    public var state = State.starting
    /// Seconds of media ahead of the player.
    public var buffer = 0.0
    /// Seconds of media that were played.
    public var played = 0.0
    /// The variant of the segment that is being fetched; nil before the first.
    public var variant: StreamVariant?
    /// The path that carries it.
    public var path: StreamPath?
    /// What that path carries, in bits per second; nil where nothing is known.
    public var throughput: Double?
    public var stalls = 0
    /// Seconds of all stalls.
    public var stalled = 0.0
    public var bytes: Int64 = 0
    public var isLive = false
}

/// What became of a stream.
public struct StreamReport: Sendable, Hashable {
    /// How it ended.
    public enum Outcome: Sendable, Hashable {
        /// With its last segment.
        case ended
        /// The caller cancelled it.
        case cancelled
        /// The output's reader has gone.
        case outputClosed
        /// For a reason.
        case failed(StreamFailure)
    }

    public var outcome: Outcome
    /// Until the first segment was there; nil where none was.
    public var startup: Duration?
    /// How often a player would have had nothing left.
    public var stalls: Int
    /// How long that was, together.
    public var stalled: Duration
    /// How long media were played.
    public var played: Duration
    /// How long media were fetched.
    public var fetched: Duration
    /// How often the variant was changed.
    public var switches: Int
    /// Bits of media for each second of media.
    public var meanRate: Double
    /// Bytes of all answers, by the path that carried the stream as they came, and its tags.
    public var bytes: [StreamPath: Int64]
    public var segments: Int
    /// Segments that are missing from what the output got.
    public var skipped: Int
    /// How often a segment was gone on with by a range of bytes.
    public var continued: Int
    /// From the call until the end.
    public var duration: Duration
}

/// Why a stream can't be played, or not to its end.
public struct StreamFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of reason.
    public enum Code: String, Sendable, Hashable {
        /// The URL or the playlist can't be used.
        case playlist
        /// The server has not got it, or something else in its place.
        case server
        /// The connection, or nothing came for too long.
        case network
        /// No path is allowed, or there is none.
        case noPath = "no_path"
        /// The output can't be written.
        case output
    }

    public var code: Code
    public var reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { reason }
}
