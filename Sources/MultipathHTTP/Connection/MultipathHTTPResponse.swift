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
    /// It is read once. It ends without an error only where the body is complete.
    public struct HTTPResponseBody: AsyncSequence, Sendable {
        /// A part of the body, of any size.
        public typealias Element = ByteBuffer

        let exchange: Exchange
        let parts: Exchange.Parts

        /// The body's parts, from the first one on. Asked for once.
        public func makeAsyncIterator() -> Iterator {
            Iterator(exchange: exchange, parts: parts.makeAsyncIterator())
        }

        /// Reads the rest.
        public struct Iterator: AsyncIteratorProtocol {
            let exchange: Exchange
            var parts: Exchange.Parts.AsyncIterator

            /// The next part; nil after the last.
            /// - Throws: `MultipathHTTPError` where the body is not complete; `CancellationError`.
            public mutating func next() async throws -> ByteBuffer? {
                if let part = try await parts.next() { return part }
                try exchange.ensureComplete()
                return nil
            }
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
        public var trailers: HTTPFields? { exchange.trailers }
    }
#endif
