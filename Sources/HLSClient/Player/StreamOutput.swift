#if HTTP
    public import NIOCore

    /// Takes a stream's media, in their order.
    public protocol StreamOutput: Sendable {
        /// Takes a piece, and returns when there is room for the next: a player that is paused keeps the network quiet so.
        ///
        /// - Throws: `StreamOutputClosed` where the reader has gone; any other error ends the stream with it.
        func write(_ piece: StreamPiece) async throws
    }

    /// A part of a stream, whole and decrypted.
    public struct StreamPiece: Sendable {
        /// What has to stand before this segment's bytes where it is not the one before any more: its initialization section.
        public var initialization: ByteBuffer?
        /// The segment.
        public var media: ByteBuffer
        /// From 0, one for each piece.
        public var index: Int
        /// How long it plays.
        public var duration: Duration
        /// Whether it does not follow the piece before: its times or codecs may be others.
        public var isDiscontinuous: Bool
        /// Where its variant stands among those that `StreamEvent.loaded` named.
        public var variant: Int
    }

    /// The output's reader has gone: it wants no more.
    public struct StreamOutputClosed: Error, Sendable {
        /// The error.
        public init() {}
    }
#endif
