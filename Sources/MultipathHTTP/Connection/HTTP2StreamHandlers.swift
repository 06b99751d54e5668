#if HTTP
    import NIOCore
    import NIOHTTP2
    import NIOHTTPCompression
    import NIOHTTPTypesHTTP1
    import NIOHTTPTypesHTTP2

    /// The first handler of a stream: sends END_STREAM with a request's last frame, and not with an empty one of its own
    /// (RFC 9113 section 8.1), where both are written at once. A server that has answered before it sees that one may reset the
    /// stream; nginx does, and SwiftNIO closes a connection on which many are reset.
    final class EndStreamMerger: ChannelOutboundHandler {
        typealias OutboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        /// May be the last: until the next, or a flush.
        private var held: (frame: OutboundIn, promise: EventLoopPromise<Void>?)?

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            let frame = unwrapOutboundIn(data)
            guard case .data(let data) = frame, data.endStream, data.data.readableBytes == 0,
                let ending = held?.frame.endingStream
            else {
                writeHeld(context)
                held = (frame, promise)
                return
            }
            var written = held.take()?.promise
            written.setOrCascade(to: promise)
            context.write(wrapOutboundOut(ending), promise: written)
        }

        func flush(context: ChannelHandlerContext) {
            writeHeld(context)
            context.flush()
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            writeHeld(context)
            context.close(mode: mode, promise: promise)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            held.take()?.promise?.fail(ChannelError.ioOnClosedChannel)
        }

        private func writeHeld(_ context: ChannelHandlerContext) {
            guard let (frame, promise) = held.take() else { return }
            context.write(wrapOutboundOut(frame), promise: promise)
        }
    }

    extension HTTP2Frame.FramePayload {
        /// The same with END_STREAM; nil for a kind of frame that has no such flag.
        fileprivate var endingStream: HTTP2Frame.FramePayload? {
            switch self {
            case .headers(var headers):
                headers.endStream = true
                return .headers(headers)
            case .data(var data):
                data.endStream = true
                return .data(data)
            default: return nil
            }
        }
    }

    /// Stands before a stream's codec, and looks at the answers' heads. It lets no status through that is not three digits (RFC 9110
    /// section 15), for the codec behind it traps on some of those. And it has a compression undone where a head tells of one: few do,
    /// and the decompressor speaks SwiftNIO's own HTTP values, into which all would have to be translated.
    final class AnswerHeadCheck: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload

        /// Nil where no compression is undone, or one is already.
        private var limit: NIOHTTPDecompression.DecompressionLimit?
        private let codec: HTTP2FramePayloadToHTTPClientCodec

        init(
            _ limit: NIOHTTPDecompression.DecompressionLimit?,
            before codec: HTTP2FramePayloadToHTTPClientCodec
        ) {
            self.limit = limit
            self.codec = codec
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            do {
                if case .headers(let head) = unwrapInboundIn(data) { try ingest(head, context) }
                context.fireChannelRead(data)
            } catch {
                context.fireErrorCaught(error)
            }
        }

        private func ingest(_ head: InboundIn.Headers, _ context: ChannelHandlerContext) throws {
            if let status = head.headers.first(name: ":status"), !Self.isStatus(status) {
                throw MultipathHTTPError(.malformedAnswer, "the answer's status is no number of three digits")
            }
            guard let limit, head.headers.contains(name: "content-encoding") else { return }
            self.limit = nil
            try context.pipeline.syncOperations.addHandlers(
                HTTPToHTTP1ClientCodec(secure: true), NIOHTTPResponseDecompressor(limit: limit),
                HTTP1ToHTTPClientCodec(), position: .after(codec))
        }

        private static func isStatus(_ text: String) -> Bool {
            let digits = text.utf8
            return digits.count == 3 && digits.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
                && digits.first != UInt8(ascii: "0")
        }
    }
#endif
