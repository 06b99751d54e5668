#if HTTP
    import Foundation
    import LinuxNet
    import NIOCore
    import NIOHTTP1
    import NIOHTTP2
    import NIOPosix
    import NIOSSL
    import TestSupport

    /// A server of names over HTTPS (RFC 8484), HTTP/2 and HTTP/1.1, on loopback. It is of the tests' own: it reads the question, and
    /// answers as the test says.
    final class HTTPSNameServer: Sendable {
        /// How a server serves.
        enum Manner: Sendable {
            case honest
            /// Every name is at this address.
            case lying([UInt8])
            /// It takes requests, and says nothing.
            case silent
            case status(Int)
            case wrongType
            /// Another question's answer.
            case otherQuestion
            case garbage
            case tooLong
            case serverFailure
        }

        /// What the names are, by what is asked: the type's number and the name.
        typealias Zone = @Sendable (_ type: UInt16, _ name: String) -> [[UInt8]]?

        private let channel: any Channel
        private let asked = Locked([String]())
        let port: Int

        /// The paths of all requests.
        var requests: [String] { asked.withLock { $0 } }

        init(
            _ certificates: TestCertificates, _ manner: Manner = .honest, _ zone: @escaping Zone
        ) async throws {
            var configuration = try TLSConfiguration.makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(certificates.chain("good")).map {
                    .certificate($0)
                },
                privateKey: .privateKey(NIOSSLPrivateKey(file: certificates.key, format: .pem)))
            configuration.applicationProtocols = ["h2", "http/1.1"]
            let context = try NIOSSLContext(configuration: configuration)
            let asked = asked
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }.flatMap {
                        channel.configureCommonHTTPServerPipeline { stream in
                            stream.pipeline.addHandler(Answering(manner, zone, asked))
                        }
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            port = channel.localAddress?.port ?? 0
        }

        func close() async { try? await channel.close() }

        private final class Answering: ChannelInboundHandler, Sendable {
            typealias InboundIn = HTTPServerRequestPart
            typealias OutboundOut = HTTPServerResponsePart

            private let manner: Manner
            private let zone: Zone
            private let asked: Locked<[String]>

            init(_ manner: Manner, _ zone: @escaping Zone, _ asked: Locked<[String]>) {
                (self.manner, self.zone, self.asked) = (manner, zone, asked)
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                guard case .head(let head) = unwrapInboundIn(data) else { return }
                asked.withLock { $0.append(head.uri) }
                var (status, type) = (200, "application/dns-message")
                var message = Self.question(head.uri) ?? []
                switch manner {
                case .silent: return
                case .status(let number): status = number
                case .wrongType: type = "text/html"
                case .garbage: message = Array("nonsense".utf8)
                case .tooLong: message = [UInt8](repeating: 0, count: 100_000)
                case .serverFailure: message = Self.reply(to: message, code: 2, type: 1, [])
                case .otherQuestion:
                    message[13] ^= 1
                    message = zoneAnswer(message)
                case .honest, .lying: message = zoneAnswer(message)
                }
                let fields: HTTPHeaders = [
                    "Content-Type": type, "Content-Length": "\(message.count)", "Age": "10",
                ]
                let reply = HTTPResponseHead(
                    version: head.version, status: HTTPResponseStatus(statusCode: status), headers: fields)
                context.write(wrapOutboundOut(.head(reply)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: message)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }

            private func zoneAnswer(_ question: [UInt8]) -> [UInt8] {
                let (name, type) = Self.read(question)
                if case .lying(let address) = manner {
                    return Self.reply(to: question, code: 0, type: type, type == 1 ? [address] : [])
                }
                guard let records = zone(type, name) else {
                    return Self.reply(to: question, code: 3, type: type, [])
                }
                return Self.reply(to: question, code: 0, type: type, records)
            }

            /// The parameter `dns`, in Base64 for URLs.
            private static func question(_ uri: String) -> [UInt8]? {
                guard let place = uri.range(of: "?dns=") else { return nil }
                var text = String(uri[place.upperBound...]).replacing("-", with: "+")
                    .replacing("_", with: "/")
                while text.count % 4 != 0 { text += "=" }
                return Data(base64Encoded: text).map { Array($0) }
            }

            private static func read(_ question: [UInt8]) -> (name: String, type: UInt16) {
                var (place, labels) = (12, [String]())
                while question[place] != 0 {
                    let end = place + 1 + Int(question[place])
                    labels.append(String(decoding: question[(place + 1)..<end], as: UTF8.self))
                    place = end
                }
                return (
                    labels.joined(separator: "."),
                    UInt16(question[place + 1]) << 8 | UInt16(question[place + 2])
                )
            }

            /// Each record's name is the question's, and its time to live 300 s.
            private static func reply(
                to question: [UInt8], code: UInt8, type: UInt16, _ records: [[UInt8]]
            ) -> [UInt8] {
                var message = question
                message[2] |= 0x80
                message[3] = 0x80 | code
                (message[6], message[7]) = (UInt8(records.count >> 8), UInt8(records.count & 255))
                for data in records {
                    message += [0xC0, 12, UInt8(type >> 8), UInt8(type & 255), 0, 1, 0, 0, 1, 44]
                    message += [UInt8(data.count >> 8), UInt8(data.count & 255)] + data
                }
                return message
            }
        }
    }
#endif
