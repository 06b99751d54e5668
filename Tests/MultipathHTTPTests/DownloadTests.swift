#if HTTP
    import Foundation
    import HTTPTypes
    import LinuxNet
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("A download", .timeLimit(.minutes(1)))
    struct DownloadTests {
        /// A server with one resource, of which each connection brings so many bytes and then breaks.
        private func server(
            _ data: Data, piece: Int, answers: Int = .max,
            tag: @escaping @Sendable (Int) -> String? = { _ in "\"one\"" }, more: String = ""
        ) async throws -> RawServer {
            try await RawServer { connection, request in
                guard connection <= answers else { return nil }
                let tag = tag(connection)
                var start = 0
                if let range = request.firstMatch(
                    of: #/(?i)\nrange: bytes=(\d+)-\r/#.matchingSemantics(.unicodeScalar)),
                    request.firstMatch(of: #/(?i)if-range: ([^\r]*)\r/#.matchingSemantics(.unicodeScalar))
                        .map({ String($0.1) }) == tag
                {
                    start = Int(range.1) ?? 0
                }
                guard start < data.count else {
                    return .init(
                        "HTTP/1.1 416 X\r\nContent-Range: bytes */\(data.count)\r\nContent-Length: 0\r\n\r\n")
                }
                var head =
                    start > 0
                    ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(start)-\(data.count - 1)/\(data.count)\r\n"
                    : "HTTP/1.1 200 OK\r\n"
                if let tag { head += "ETag: \(tag)\r\n" }
                head += more + "Content-Length: \(data.count - start)\r\n\r\n"
                let part = data[start..<min(start + piece, data.count)]
                return .init(bytes: Array(head.utf8) + part, .closes)
            }
        }

        private let data = Data((0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

        /// A folder of the test's own, and the file in it.
        private func inFolder(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "download-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try await body(folder.appendingPathComponent("film").path)
        }

        private func content(_ path: String) -> Data? { try? Data(contentsOf: URL(fileURLWithPath: path)) }

        @Test("goes on after each break where it was, and gets no byte twice")
        func breaks() async throws {
            let server = try await server(data, piece: 60_000)
            try await inFolder { file in
                let last = Locked(TransferProgress(completed: 0, resumed: 0, transferred: 0))
                try await MultipathHTTPClient.withClient { client in
                    try await client.download(server.url(), to: file) { progress in
                        last.withLock { $0 = progress }
                    }
                }
                #expect(content(file) == data)
                let progress = last.withLock { $0 }
                #expect(progress.completed == 500_000 && progress.total == 500_000)
                #expect(progress.transferred == 500_000 && progress.resumed == 0)
                #expect(server.connections == 9)
                #expect(content(file + ".part") == nil && content(file + ".part.json") == nil)
            }
            await server.close()
        }

        @Test("goes on in another process's file, and begins anew where the resource has changed")
        func resumes() async throws {
            let short = try await server(data, piece: 200_000, answers: 1)
            try await inFolder { file in
                try await MultipathHTTPClient.withClient { client in
                    let task = Task { try await client.download(short.url(), to: file) }
                    while (content(file + ".part")?.count ?? 0) < 200_000 {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    task.cancel()
                    _ = try? await task.value
                }
                await short.close()
                let note = TransferNote<DownloadMachine.Note>(path: file + ".part.json")
                let known = try #require(note.read())
                #expect(known.validator.tag == "\"one\"" && known.total == 500_000)
                // The same resource elsewhere, as far as the note knows.
                let same = try await server(data, piece: 1_000_000)
                try note.write(
                    .init(url: same.url(), validator: StrongValidator(tag: "\"one\""), total: 500_000))
                try await MultipathHTTPClient.withClient { client in
                    let last = Locked(TransferProgress(completed: 0, resumed: 0, transferred: 0))
                    try await client.download(same.url(), to: file) { progress in
                        last.withLock { $0 = progress }
                    }
                    #expect(last.withLock { $0.resumed } == 200_000)
                    #expect(last.withLock { $0.transferred } == 300_000)
                }
                #expect(content(file) == data)
                await same.close()
            }
            let changed = try await server(data, piece: 1_000_000, tag: { _ in "\"two\"" })
            try await inFolder { file in
                try Data(repeating: 0, count: 100_000).write(to: URL(fileURLWithPath: file + ".part"))
                try TransferNote<DownloadMachine.Note>(path: file + ".part.json").write(
                    .init(url: changed.url(), validator: StrongValidator(tag: "\"one\""), total: 500_000))
                try await MultipathHTTPClient.withClient { try await $0.download(changed.url(), to: file) }
                #expect(content(file) == data)
            }
            await changed.close()
        }

        @Test("keeps what was written where the disk is full, and goes on from there")
        func full() async throws {
            let long = (0..<12).reduce(into: Data()) { long, _ in long += data }
            let server = try await server(long, piece: long.count)
            try await inFolder { file in
                // A limit on the size of files stands for the disk; the signal that comes with it is ignored.
                let result = try await Program.run([
                    "/bin/bash", "-c", "trap '' XFSZ; ulimit -f 2500; exec \"$@\"", "bash",
                    Program.product("httpprobe"), "download", server.url(), file,
                ])
                #expect(result.status == 1, "\(result.errors)")
                #expect(content(file + ".part") == long.prefix(2_560_000))
                let resumed = Locked<Int64>(0)
                try await MultipathHTTPClient.withClient { client in
                    try await client.download(server.url(), to: file) { progress in
                        resumed.withLock { $0 = progress.resumed }
                    }
                }
                #expect(resumed.withLock { $0 } == 2_560_000)
                #expect(content(file) == long)
            }
            await server.close()
        }

        @Test("finds that all is there already")
        func complete() async throws {
            let server = try await server(data, piece: 1_000_000)
            try await inFolder { file in
                try data.write(to: URL(fileURLWithPath: file + ".part"))
                try TransferNote<DownloadMachine.Note>(path: file + ".part.json").write(
                    .init(url: server.url(), validator: StrongValidator(tag: "\"one\""), total: 500_000))
                try await MultipathHTTPClient.withClient { try await $0.download(server.url(), to: file) }
                #expect(content(file) == data)
            }
            await server.close()
        }

        @Test("trusts no weak tag: it begins anew")
        func weak() async throws {
            let server = try await server(data, piece: 1_000_000, tag: { _ in "W/\"one\"" })
            try await inFolder { file in
                try Data(repeating: 0, count: 100_000).write(to: URL(fileURLWithPath: file + ".part"))
                try await MultipathHTTPClient.withClient { try await $0.download(server.url(), to: file) }
                #expect(content(file) == data)
            }
            #expect(server.requests.allSatisfy { !$0.lowercased().contains("\r\nrange:") })
            await server.close()
        }

        @Test("checks the server's digest, and keeps nothing of what is wrong")
        func digests() async throws {
            let good = try await Program.run(
                ["bash", "-c", "openssl dgst -sha256 -binary | base64"], input: data)
            let digest = good.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
            for (value, isRight) in [(digest, true), ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", false)]
            {
                let server = try await server(
                    data, piece: 300_000, more: "Repr-Digest: sha-256=:\(value):\r\n")
                try await inFolder { file in
                    try await MultipathHTTPClient.withClient { client in
                        if isRight {
                            try await client.download(server.url(), to: file)
                            #expect(content(file) == data)
                        } else {
                            let error = await #expect(throws: MultipathHTTPError.self) {
                                try await client.download(server.url(), to: file)
                            }
                            #expect(error?.code == .digestMismatch)
                            #expect(content(file) == nil && content(file + ".part")?.isEmpty == true)
                        }
                    }
                }
                await server.close()
            }
        }

        @Test("fails where the server has nothing, or breaks again and again without a byte")
        func failures() async throws {
            let missing = try await RawServer(
                always: .init("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
            try await inFolder { file in
                await MultipathHTTPClient.withClient { client in
                    let error = await #expect(throws: MultipathHTTPError.self) {
                        try await client.download(missing.url(), to: file)
                    }
                    #expect(error?.code == .unexpectedStatus && error?.status == 404)
                    let bad = await #expect(throws: MultipathHTTPError.self) {
                        try await client.download(missing.url(), to: "/nowhere/at/all")
                    }
                    #expect(bad?.code == .file && bad?.errno == ENOENT)
                }
            }
            await missing.close()
        }
    }

    @Suite("What a download asks for")
    struct DownloadMachineTests {
        @Test(
            "reads which part came",
            arguments: [
                ("bytes 0-9/10", Int64(0), Int64(10)), ("bytes 5-9/*", 5, nil), ("bytes */10", nil, 10),
            ] as [(String, Int64?, Int64?)])
        func ranges(_ text: String, _ start: Int64?, _ total: Int64?) {
            let range = ContentRange(text)
            #expect(range?.start == start && range?.total == total && range != nil)
        }

        @Test(
            "takes nothing for a part that is none",
            arguments: [
                "bytes 9-5/10", "bytes 0-10/10", "x", "bytes -1-2/3", "bytes 0-/5", "bytes 0-9", "bytes */",
                "bytes 0-9/", "bytes 0-9/10/11", "bytes 0-9-9/10", "bytes +0-9/10", "bytes 0-9/ 10",
                "octets 0-9/10",
                "bytes ٠-٩/10", "bytes 0-1234567890123456789/*",
            ])
        func badRanges(_ text: String) { #expect(ContentRange(text) == nil) }

        @Test(
            "goes on with nothing under a tag of time and size while that time may be had again",
            arguments: [
                ("\"2ebc98a1-64\"", "38", false), ("\"2ebc98a1-64\"", "39", true), ("\"x\"", "37", true),
            ])
        func youngTag(_ tag: String, _ second: String, _ goesOn: Bool) throws {
            var machine = DownloadMachine(url: "u", note: nil, received: 0)
            _ = try machine.ingest(
                HTTPResponse(
                    status: .ok,
                    headerFields: [
                        .eTag: tag, .contentLength: "100", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
                        .date: "Sun, 06 Nov 1994 08:49:\(second) GMT",
                    ]))
            machine.ingest(bytes: 40)
            let isTriedAgain = machine.goesOn(after: MultipathHTTPError(.connectionLost, ""))
            #expect(isTriedAgain && machine.received == (goesOn ? 40 : 0))
        }

        @Test("begins anew where another part came than was asked for, and fails where that comes again")
        func mismatch() throws {
            var machine = DownloadMachine(
                url: "u", note: .init(url: "u", validator: StrongValidator(tag: "\"a\""), total: 100),
                received: 40)
            let wrong = HTTPResponse(
                status: .partialContent, headerFields: [.contentRange: "bytes 50-99/100"])
            do {
                let step = try machine.ingest(wrong)
                #expect(step == .again)
            }
            #expect(machine.received == 0)
            #expect(throws: MultipathHTTPError.self) { try machine.ingest(wrong) }
        }

        @Test(
            "puts no part of one version behind another, whatever is said of the place",
            arguments: [("\"a\"", true), ("W/\"a\"", true), ("\"b\"", false)])
        func otherVersion(_ tag: String, _ isSame: Bool) throws {
            var machine = DownloadMachine(
                url: "u", note: .init(url: "u", validator: StrongValidator(tag: "\"a\""), total: 100),
                received: 40)
            let step = try machine.ingest(
                HTTPResponse(
                    status: .partialContent,
                    headerFields: [.contentRange: "bytes 40-99/100", .eTag: tag]))
            #expect(step == (isSame ? .append : .again) && machine.received == (isSame ? 40 : 0))
        }

        @Test("gives up after eight tries in a row that bring no byte")
        func fruitless() {
            var machine = DownloadMachine(url: "u", note: nil, received: 0)
            let lost = MultipathHTTPError(.connectionLost, "")
            for _ in 0..<7 { #expect(machine.goesOn(after: lost) == true) }
            machine.ingest(bytes: 1)
            #expect(machine.goesOn(after: lost) == true)
            for _ in 0..<7 { #expect(machine.goesOn(after: lost) == true) }
            #expect(machine.goesOn(after: lost) == false)
        }
    }
#endif
