#if HTTP
    public import HTTPTypes
    public import NIOCore

    /// The head of an answer: `response.status`, `response.headerFields`, with what became of the request.
    @dynamicMemberLookup
    public struct MultipathHTTPResponse: Sendable {
        /// The answer's head.
        public let head: HTTPResponse
        /// The request that this is the answer to: after redirects another than the caller's.
        public let request: HTTPRequest

        let record: MetricsRecord

        /// The path, the protocol and the times of the request as they are now: once the body has been read, of all of it.
        public var metrics: HTTPRequestMetrics { record.metrics }

        /// What the head says: `status`, `headerFields`.
        public subscript<Value>(dynamicMember member: KeyPath<HTTPResponse, Value>) -> Value {
            head[keyPath: member]
        }
    }

    /// An answer's body: its bytes as they arrive. What is not read is not fetched, beyond a few buffers.
    ///
    /// It is read once. It ends without an error only where the body is complete. Where its connection breaks, or there is a better one
    /// while much is still to come, the rest is asked for on another one, if the server has named this version of the resource by
    /// a strong entity tag (RFC 9110 section 14).
    public struct HTTPResponseBody: AsyncSequence, Sendable {
        /// A part of the body, of any size.
        public typealias Element = ByteBuffer

        let source: ResponseBodySource
        let parts: Exchange.Parts

        /// The body's parts, from the first one on. Asked for once.
        public func makeAsyncIterator() -> Iterator {
            Iterator(source, parts)
        }

        /// Reads the rest.
        public struct Iterator: AsyncIteratorProtocol {
            private let source: ResponseBodySource
            private var exchange: Exchange
            private var parts: Exchange.Parts.AsyncIterator
            /// The last copy of the iterator is the body's last reader.
            private let reader: Reader
            /// How many bytes of the body are read.
            private var received: Int64 = 0
            /// Where in the body the next part begins: earlier where another connection brings the rest, and both have brought some.
            private var position: Int64 = 0
            /// How long the body is, as its first answer has said; nil while that brings it, of which the protocol says the same.
            private var length: Int64?

            init(_ source: ResponseBodySource, _ parts: Exchange.Parts) {
                self.source = source
                exchange = source.carrier.exchange
                self.parts = parts.makeAsyncIterator()
                reader = Reader(source)
            }

            /// The next part; nil after the last.
            /// - Throws: `MultipathHTTPError` where the body is not complete; `CancellationError`.
            public mutating func next() async throws -> ByteBuffer? {
                while true {
                    do {
                        guard let part = try await parts.next() else {
                            try exchange.ensureComplete()
                            try checkLength(isWhole: true)
                            // The rest may have been asked for, and is here.
                            source.end()
                            return nil
                        }
                        if let new = try unread(part) { return new }
                    } catch {
                        guard let rest = await source.continuation(after: error) else {
                            throw source.reason(after: error)
                        }
                        (exchange, parts) = (rest.carrier.exchange, rest.parts.makeAsyncIterator())
                        (position, length) = (rest.carrier.start, rest.length)
                    }
                }
            }

            private func checkLength(isWhole: Bool) throws(MultipathHTTPError) {
                guard let length else { return }
                guard position <= length else {
                    throw MultipathHTTPError(
                        .malformedAnswer, "more bytes arrived than the \(length) that the server named")
                }
                guard !isWhole || received == length else {
                    throw MultipathHTTPError(
                        .bodyCutShort, "\(received) bytes arrived where the server named \(length)")
                }
            }

            /// What of a part has not been read yet.
            private mutating func unread(_ part: ByteBuffer) throws -> ByteBuffer? {
                var part = part
                let known = Swift.min(Int(received - position), part.readableBytes)
                position += Int64(part.readableBytes)
                try checkLength(isWhole: false)
                received = Swift.max(received, position)
                part.moveReaderIndex(forwardBy: known)
                return part.readableBytes > 0 ? part : nil
            }
        }

        /// Who reads the body: where it is gone, no rest is asked for, and none is left waiting.
        private final class Reader: Sendable {
            private let source: ResponseBodySource

            init(_ source: ResponseBodySource) { self.source = source }

            deinit { source.end() }
        }

        /// The whole body.
        ///
        /// - Parameter limit: in bytes.
        /// - Throws: `MultipathHTTPError`, with the code `.bodyTooLarge` beyond the limit.
        public func collect(upTo limit: Int) async throws -> ByteBuffer {
            var whole = ByteBuffer()
            for try await var part in self {
                guard whole.readableBytes + part.readableBytes <= limit else {
                    throw MultipathHTTPError(.bodyTooLarge, "the body is longer than \(limit) bytes")
                }
                if whole.readableBytes == 0 { whole = part } else { whole.writeBuffer(&part) }
            }
            return whole
        }

        /// The fields that followed the body (RFC 9110 section 6.5), once that has been read; nil where there are none.
        public var trailers: HTTPFields? { source.carrier.exchange.trailers }
    }
#endif
