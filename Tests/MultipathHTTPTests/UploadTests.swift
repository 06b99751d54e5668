#if HTTP
    import Foundation
    import HTTPTypes
    import LinuxNet
    import NIOCore
    import NIOHTTP1
    import NIOHTTPTypes
    import NIOHTTPTypesHTTP1
    import NIOPosix
    import NIOResumableUpload
    import Testing

    @testable import MultipathHTTP

    /// A server of NIOResumableUpload, whose connections each break after so many bytes.
    private final class UploadServer: Sendable {
        private let channel: any Channel
        let port: Int
        let uploads = Locked([Data]())
        let connections = Locked(0)

        init(breakAfter limit: Int) async throws {
            let port = Locked(0)
            // The context needs the port before there is one.
            let probe = try await RawServer { _, _ in nil }
            port.withLock { $0 = probe.port }
            await probe.close()
            let number = port.withLock { $0 }
            let context = HTTPResumableUploadContext(origin: "http://127.0.0.1:\(number)")
            let (uploads, connections) = (uploads, connections)
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        connections.withLock { $0 += 1 }
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(Breaker(limit))
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                        try pipeline.addHandler(
                            HTTPResumableUploadHandler(context: context, handlers: [Collector(uploads)]))
                    }
                }.bind(host: "127.0.0.1", port: number).get()
            self.port = number
        }

        func close() async { try? await channel.close() }

        /// Closes after so many bytes.
        private final class Breaker: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            private var left: Int

            init(_ limit: Int) { left = limit }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                left -= unwrapInboundIn(data).readableBytes
                context.fireChannelRead(data)
                if left < 0 { context.close(promise: nil) }
            }
        }

        /// Gets each upload as if it had come over one connection.
        private final class Collector: ChannelInboundHandler {
            typealias InboundIn = HTTPRequestPart
            typealias OutboundOut = HTTPResponsePart

            private let uploads: Locked<[Data]>
            private var content = Data()

            init(_ uploads: Locked<[Data]>) { self.uploads = uploads }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                switch unwrapInboundIn(data) {
                case .head: content = Data()
                case .body(let bytes): content += Data(bytes.readableBytesView)
                case .end:
                    uploads.withLock { $0.append(content) }
                    context.write(wrapOutboundOut(.head(HTTPResponse(status: .created))), promise: nil)
                    context.write(wrapOutboundOut(.body(ByteBuffer(string: "thanks"))), promise: nil)
                    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                }
            }
        }
    }

    @Suite("An upload", .timeLimit(.minutes(1)))
    struct UploadTests {
        private let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

        private func inFolder(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "upload-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appendingPathComponent("film")
            try data.write(to: file)
            try await body(file.path)
        }

        @Test("goes on after each break where the server is")
        func breaks() async throws {
            let server = try await UploadServer(breakAfter: 700_000)
            try await inFolder { file in
                let last = Locked(TransferProgress(completed: 0, resumed: 0, transferred: 0))
                try await MultipathHTTPClient.withClient { client in
                    let (response, body) = try await client.upload(
                        file, to: "http://127.0.0.1:\(server.port)/film"
                    ) {
                        progress in last.withLock { $0 = progress }
                    }
                    #expect(response.status == .created)
                    #expect(String(buffer: body) == "thanks")
                }
                #expect(server.uploads.withLock { $0 } == [data])
                #expect(server.connections.withLock { $0 } >= 5)
                #expect(last.withLock { $0.completed } == 3_000_000)
                #expect(!FileManager.default.fileExists(atPath: file + ".upload"))
            }
            await server.close()
        }

        @Test(
            "leaves no note of a place where the server has refused it, and one where it may be had later",
            arguments: [(413, false), (503, true)])
        func refused(_ status: Int, _ isKept: Bool) async throws {
            let server = try await RawServer { _, _ in
                RawServer.Answer(
                    "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /1\r\n\r\n"
                        + "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n", .closes)
            }
            let file = FileManager.default.temporaryDirectory.path + "/refused-\(status)"
            try Data("film".utf8).write(to: URL(fileURLWithPath: file))
            defer { try? FileManager.default.removeItem(atPath: file) }
            await MultipathHTTPClient.withClient { client in
                await #expect(throws: MultipathHTTPError.self) {
                    try await client.upload(file, to: server.url())
                }
            }
            #expect(FileManager.default.fileExists(atPath: file + ".upload") == isKept)
            try? FileManager.default.removeItem(atPath: file + ".upload")
            await server.close()
        }

        @Test("leaves the note of an upload to another place alone, however it ends", arguments: [200, 413])
        func otherNote(_ status: Int) async throws {
            let server = try await RawServer(
                always: .init("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n", .closes))
            try await inFolder { file in
                let known = UploadMachine.Note(
                    url: "http://192.0.2.1/film", resource: "http://192.0.2.1/1", length: 3_000_000,
                    modified: 1)
                let note = TransferNote<UploadMachine.Note>(path: file + ".upload")
                try note.write(known)
                await MultipathHTTPClient.withClient { client in
                    _ = try? await client.upload(file, to: server.url())
                }
                #expect(note.read() == known)
            }
            await server.close()
        }

        @Test("is one request where nothing breaks")
        func whole() async throws {
            let server = try await UploadServer(breakAfter: .max)
            try await inFolder { file in
                try await MultipathHTTPClient.withClient { client in
                    _ = try await client.upload(file, to: "http://127.0.0.1:\(server.port)/film")
                }
                #expect(server.uploads.withLock { $0 } == [data])
                #expect(server.connections.withLock { $0 } == 1)
            }
            await server.close()
        }

        @Test("is not sent twice to a server that can't go on with it, unless that is safe")
        func unsafe() async throws {
            let server = try await RawServer(always: .init("", .closes))
            try await inFolder { file in
                await MultipathHTTPClient.withClient { client in
                    let error = await #expect(throws: MultipathHTTPError.self) {
                        try await client.upload(file, to: server.url())
                    }
                    #expect(error?.code == .connectionLost)
                    #expect(server.connections == 1)
                }
            }
            await server.close()
        }
    }

    @Suite("What an upload sends next")
    struct UploadMachineTests {
        private func answer(_ status: Int, _ fields: HTTPFields = [:]) -> HTTPResponse {
            HTTPResponse(status: .init(code: status), headerFields: fields)
        }
        private let lost = MultipathHTTPError(.connectionLost, "")

        @Test("asks after a break how much is there, and sends the rest")
        func resumes() throws {
            var machine = UploadMachine(length: 100, isIdempotent: false)
            #expect(machine.next == .create)
            #expect(machine.fields[.uploadComplete] == "?1")
            machine.named("http://x/1")
            #expect(machine.goesOn(after: lost, isSent: true) == true)
            #expect(machine.next == .askOffset(at: "http://x/1"))
            do {
                let step = try machine.ingest(answer(204, [.uploadOffset: "40", .uploadComplete: "?0"]))
                #expect(step == .next)
            }
            #expect(machine.next == .append(to: "http://x/1", from: 40))
            #expect(machine.fields[.uploadOffset] == "40")
            #expect(machine.fields[.contentType] == "application/partial-upload")
            do {
                let step = try machine.ingest(answer(200))
                #expect(step == .done)
            }
        }

        @Test("is done where the server has all")
        func done() throws {
            var machine = UploadMachine(length: 100, resource: "http://x/1", isIdempotent: false)
            do {
                let step = try machine.ingest(answer(204, [.uploadOffset: "100", .uploadComplete: "?1"]))
                #expect(step == .done)
            }
        }

        @Test("sends all anew where the server forgot it", arguments: [404, 410])
        func forgotten(_ status: Int) throws {
            var machine = UploadMachine(length: 100, isIdempotent: false)
            machine.named("http://x/1")
            #expect(machine.goesOn(after: lost, isSent: true) == true)
            do {
                let step = try machine.ingest(answer(status))
                #expect(step == .next)
            }
            #expect(machine.next == .create)
        }

        @Test("is not sent anew by POST where the server may have had all of it", arguments: [false, true])
        func complete(_ isIdempotent: Bool) throws {
            var machine = UploadMachine(length: 100, isIdempotent: isIdempotent)
            machine.named("http://x/1")
            machine.wroteAll()
            #expect(machine.goesOn(after: lost, isSent: true) == true)
            if isIdempotent {
                let step = try machine.ingest(answer(404))
                #expect(step == .next && machine.next == .create)
            } else {
                let error = #expect(throws: MultipathHTTPError.self) { try machine.ingest(answer(404)) }
                #expect(error?.status == 404)
            }
        }

        @Test("is not sent anew by POST where the server had all of it, and only its answer is missing")
        func completeButForTheAnswer() throws {
            var machine = UploadMachine(length: 100, isIdempotent: false)
            machine.named("http://x/1")
            machine.wroteAll()
            #expect(machine.goesOn(after: lost, isSent: true) == true)
            let step = try machine.ingest(answer(204, [.uploadOffset: "100", .uploadComplete: "?0"]))
            #expect(step == .next && machine.next == .append(to: "http://x/1", from: 100))
            let error = #expect(throws: MultipathHTTPError.self) { try machine.ingest(answer(410)) }
            #expect(error?.status == 410)
        }

        @Test("leaves it to the caller to POST anew what an earlier run may have sent whole")
        func killed() throws {
            var machine = UploadMachine(length: 100, resource: "http://x/1", isIdempotent: false)
            let error = #expect(throws: MultipathHTTPError.self) { try machine.ingest(answer(404)) }
            #expect(error.map(UploadMachine.isRefusal) == true)
        }

        @Test("goes to no place of another origin")
        func places() throws {
            let request = try MultipathHTTPClient.request(.post, "https://x.example/film")
            let places = [
                "/1", "2?a", "https://x.example:443/3", "http://x.example/4", "https://y.example/5",
            ]
            #expect(
                places.map { HTTPOrigin.place($0, of: request) } == [
                    "https://x.example/1", "https://x.example/2?a", "https://x.example:443/3", nil, nil,
                ])
        }

        @Test("gives up on a server that takes nothing, and says by turns that it has more and less")
        func swaying() throws {
            var machine = UploadMachine(length: 100, resource: "http://x/1", isIdempotent: true)
            let error = #expect(throws: MultipathHTTPError.self) {
                for round in 0..<100 {
                    _ = try machine.ingest(answer(204, [.uploadOffset: "\(1 + round % 2)"]))
                    _ = try machine.ingest(answer(409))
                }
            }
            #expect(error?.status == 409)
        }

        @Test(
            "believes no server that says that it has more than there is", arguments: ["101", "-1", "x", ""])
        func nonsense(_ offset: String) {
            var machine = UploadMachine(length: 100, resource: "http://x/1", isIdempotent: false)
            #expect(throws: MultipathHTTPError.self) {
                try machine.ingest(answer(204, [.uploadOffset: offset]))
            }
        }

        @Test("gives up after eight tries in a row that bring no byte")
        func fruitless() {
            var machine = UploadMachine(length: 100, isIdempotent: true)
            for _ in 0..<7 { #expect(machine.goesOn(after: lost, isSent: true) == true) }
            #expect(machine.goesOn(after: lost, isSent: true) == false)
        }
    }
#endif
