#if HTTP
    import Crypto
    import Foundation
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOHTTPTypes
    import NIOHTTPTypesHTTP1
    import NIOPosix
    import NIOResumableUpload

    /// Takes uploads that go on after a break, and answers each with the SHA-256 of all of it.
    enum UploadServer {
        static func run(port: Int) async throws {
            let context = HTTPResumableUploadContext(origin: "http://server:\(port)")
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                        try pipeline.addHandler(
                            HTTPResumableUploadHandler(context: context, handlers: [Digest()]))
                    }
                }.bind(host: "::", port: port).get()
            try await channel.closeFuture.get()
        }

        private final class Digest: ChannelInboundHandler {
            typealias InboundIn = HTTPRequestPart
            typealias OutboundOut = HTTPResponsePart

            private var hash = SHA256()

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                switch unwrapInboundIn(data) {
                case .head: hash = SHA256()
                case .body(let bytes): bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                case .end:
                    let text = hash.finalize().map { String(format: "%02x", $0) }.joined()
                    context.write(wrapOutboundOut(.head(HTTPResponse(status: .created))), promise: nil)
                    context.write(wrapOutboundOut(.body(ByteBuffer(string: text))), promise: nil)
                    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                }
            }
        }
    }
#endif
