#if HTTP
    import Foundation
    import LinuxNet
    import NIOCore
    import NIOPosix

    /// A proxy on loopback: it opens ways by CONNECT, and sends other requests on to where their first line says.
    final class TestProxy: Sendable {
        private let channel: any Channel
        private let state = Locked([String]())
        let port: Int

        /// The heads of the requests that came to the proxy itself.
        var requests: [String] { state.withLock { $0 } }

        /// - Parameter authorization: without this value of `Proxy-Authorization` it says 407; nil to serve all.
        init(authorization: String? = nil) async throws {
            let state = state
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Door(authorization, state))
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            port = channel.localAddress?.port ?? 0
        }

        func close() async { try? await channel.close() }

        /// Reads the first head, then passes on all there is.
        private final class Door: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            private let authorization: String?
            private let state: Locked<[String]>
            private var pending = ""
            private var peer: (any Channel)?

            init(_ authorization: String?, _ state: Locked<[String]>) {
                self.authorization = authorization
                self.state = state
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let bytes = unwrapInboundIn(data)
                if let peer { return peer.writeAndFlush(bytes, promise: nil) }
                pending += String(buffer: bytes)
                guard pending.contains("\r\n\r\n") else { return }
                let request = pending
                state.withLock { $0.append(request) }
                if let authorization, !request.contains("Proxy-Authorization: \(authorization)\r\n") {
                    pending = ""
                    return answer("407 Proxy Authentication Required", context)
                }
                let words = request.split(separator: " ")
                let isTunnel = words[0] == "CONNECT"
                let authority = isTunnel ? String(words[1]) : URL(string: String(words[1]))?.authority
                guard let authority, let colon = authority.lastIndex(of: ":"),
                    let port = Int(authority[authority.index(after: colon)...])
                else { return answer("400 Bad Request", context) }
                let channel = context.channel
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                // Every name is this machine's.
                ClientBootstrap(group: context.eventLoop)
                    .channelInitializer { $0.pipeline.addHandler(Back(channel)) }
                    .connect(host: "127.0.0.1", port: port).whenComplete { result in
                        let (door, context) = bound.value
                        guard case .success(let peer) = result else {
                            return door.answer("502 Bad Gateway", context)
                        }
                        door.peer = peer
                        if isTunnel {
                            context.writeAndFlush(
                                NIOAny(ByteBuffer(string: "HTTP/1.1 200 Connected\r\n\r\n")), promise: nil)
                        } else {
                            peer.writeAndFlush(ByteBuffer(string: request), promise: nil)
                        }
                    }
            }

            private func answer(_ status: String, _ context: ChannelHandlerContext) {
                let head = "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"
                context.writeAndFlush(NIOAny(ByteBuffer(string: head)), promise: nil)
            }

            func channelInactive(context: ChannelHandlerContext) { peer?.close(promise: nil) }
        }

        private final class Back: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer

            private let client: any Channel

            init(_ client: any Channel) { self.client = client }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                client.writeAndFlush(unwrapInboundIn(data), promise: nil)
            }

            func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
        }
    }

    extension URL {
        fileprivate var authority: String? { host().map { "\($0):\(port ?? 80)" } }
    }
#endif
