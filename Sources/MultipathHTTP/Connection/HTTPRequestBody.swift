#if HTTP
    public import HTTPTypes
    public import NIOCore

    /// What a request carries.
    public struct HTTPRequestBody: Sendable {
        enum Content: Sendable {
            case bytes(ByteBuffer)
            case restartable(@Sendable (HTTPBodyWriter) async throws -> Void)
            case once(@Sendable (HTTPBodyWriter) async throws -> Void)
        }

        let content: Content
        /// In bytes; nil where it is not known before the end, and the body goes out in chunks.
        public let length: Int64?

        /// These bytes.
        public static func bytes(_ bytes: ByteBuffer) -> HTTPRequestBody {
            HTTPRequestBody(content: .bytes(bytes), length: Int64(bytes.readableBytes))
        }

        /// These bytes.
        public static func bytes(_ bytes: some Sequence<UInt8>) -> HTTPRequestBody {
            .bytes(ByteBuffer(bytes: bytes))
        }

        /// This text, in UTF-8.
        public static func text(_ text: String) -> HTTPRequestBody { .bytes(ByteBuffer(string: text)) }

        /// A body that is written while it is sent, and that can be written again: where a request is repeated or redirected,
        /// the closure is called once more.
        ///
        /// - Parameters:
        ///   - length: in bytes, where it is known. A body of another length is an error.
        ///   - body: writes the whole body. Its task is cancelled where the request ends before it does.
        public static func restartable(
            length: Int64? = nil, _ body: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
        ) -> HTTPRequestBody {
            HTTPRequestBody(content: .restartable(body), length: length)
        }

        /// A body that is written while it is sent, once: a request that has begun to send it is neither repeated nor
        /// redirected.
        ///
        /// - Parameters:
        ///   - length: in bytes, where it is known. A body of another length is an error.
        ///   - body: writes the whole body. Its task is cancelled where the request ends before it does.
        public static func once(
            length: Int64? = nil, _ body: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
        ) -> HTTPRequestBody {
            HTTPRequestBody(content: .once(body), length: length)
        }

        /// Whether it can be sent once more.
        var canBeRepeated: Bool { if case .once = content { false } else { true } }
    }

    /// Writes a request's body, no faster than the connection takes it.
    public struct HTTPBodyWriter: Sendable {
        let exchange: Exchange

        /// Sends bytes; returns when the connection has room for more.
        ///
        /// - Throws: `MultipathHTTPError` where the request has ended, `CancellationError`.
        public func write(_ bytes: ByteBuffer) async throws { try await exchange.write(bytes) }

        /// Sends bytes; returns when the connection has room for more.
        ///
        /// - Throws: `MultipathHTTPError` where the request has ended, `CancellationError`.
        public func write(_ bytes: some Sequence<UInt8>) async throws {
            try await write(ByteBuffer(bytes: bytes))
        }

        /// Fields that follow the body (RFC 9110 section 6.5). They are sent when the body's closure has returned.
        public func setTrailers(_ trailers: HTTPFields) { exchange.setTrailers(trailers) }
    }
#endif
