#if Outbox
    import Foundation
    import MultipathOutbox
    import MultipathTesting
    import NIOConcurrencyHelpers
    import TestSupport
    import Testing

    /// Answers as the test says, and keeps what was sent.
    private final class FakeTransport: OutboxTransport {
        private let sentBox = NIOLockedValueBox([OutboxRequest]())
        private let answer: @Sendable (OutboxRequest, Int) async throws -> OutboxAnswer

        var sent: [OutboxRequest] { sentBox.withLockedValue { $0 } }

        /// - Parameter answer: gets the request, and how many were sent before it.
        init(_ answer: @escaping @Sendable (OutboxRequest, Int) async throws -> OutboxAnswer) {
            self.answer = answer
        }

        func send(_ request: OutboxRequest) async throws -> OutboxAnswer {
            let number = sentBox.withLockedValue { sent in
                sent.append(request)
                return sent.count - 1
            }
            return try await answer(request, number)
        }
    }

    @Suite("An outbox", .timeLimit(.minutes(1)))
    struct OutboxTests {
        private let folder: TemporaryFolder
        private var file: String { folder.file("outbox.sqlite") }

        init() throws { folder = try TemporaryFolder() }

        /// Runs an outbox as long as the body runs.
        private func run<Value: Sendable>(
            _ outbox: Outbox, _ body: @escaping @Sendable () async throws -> Value
        ) async throws -> Value {
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask {
                    try await outbox.run()
                    return nil
                }
                group.addTask { try await body() }
                defer { group.cancelAll() }
                for try await value in group { if let value { return value } }
                throw CancellationError()
            }
        }

        /// Opens the file again: the outbox before lets go of it when its last task has ended.
        private func reopen(_ transport: FakeTransport, _ paths: ScriptedPaths) async throws -> Outbox {
            let deadline = ContinuousClock.now + .seconds(10)
            while true {
                do {
                    return try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
                } catch OutboxError.inUse where ContinuousClock.now < deadline {
                    await Task.yield()
                }
            }
        }

        @Test("has what must arrive on the disk before it is sent, and no more when it has arrived")
        func disk() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 200) }
            let request = OutboxRequest(
                .mustArrive, method: "PUT", url: "https://meter.example/1", headers: [.init("X", "ä")],
                body: [0, 1, 255], urgency: 1, idempotencyKey: "one")
            do {
                let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
                let id = try await outbox.submit(request)
                #expect(try await outbox.submit(request) == id)
                #expect(try await outbox.entries().map(\.request) == [request])
                #expect(transport.sent == [])
            }
            let outbox = try await reopen(transport, paths)
            #expect(try await outbox.entries().map(\.request) == [request])
            let events = await outbox.events()
            try await run(outbox) {
                for await event in events {
                    if case .ended(_, let result) = event {
                        #expect(result == .delivered(status: 200))
                        break
                    }
                }
            }
            #expect(try await outbox.entries() == [] && transport.sent == [request])
            #expect(transport.sent[0].headersWithKey.last == .init("Idempotency-Key", "\"one\""))
        }

        @Test("keeps its file for its owner alone")
        func rights() async throws {
            let paths = ScriptedPaths([])
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 200) }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            try await outbox.submit(OutboxRequest(.mustArrive, url: "x"))
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
        }

        @Test("sends nothing without a path, and all as soon as there is one")
        func paths() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            paths.lose("wlan0")
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 204) }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            try await run(outbox) {
                #expect(try await outbox.send(OutboxRequest(.bestEffort, url: "best")) == .noPath)
                try await outbox.submit([
                    OutboxRequest(.mustArrive, url: "later", urgency: 5),
                    OutboxRequest(.important, url: "soon"),
                ])
                #expect(transport.sent == [])
                async let last = outbox.send(OutboxRequest(.mustArrive, url: "last", urgency: 7))
                try await Program.wait("the last to be stored") { try await outbox.entries().count == 2 }
                paths.restore("wlan0")
                #expect(try await last == .delivered(status: 204))
            }
            #expect(Set(transport.sent.map(\.url)) == ["soon", "later", "last"])
        }

        @Test(
            "counts an attempt that takes too long as a time-out, and lets an important request be tried again"
        )
        func timeout() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { request, _ in
                if request.url == "slow" { try await Task.sleep(for: .seconds(60)) }
                if request.url == "none" { throw OutboxTimeout() }
                return OutboxAnswer(status: 200)
            }
            var options = OutboxOptions()
            options.attemptTimeout = .milliseconds(50)
            let outbox = try await Outbox.open(
                at: file, transport: transport, monitor: paths.monitor, options: options)
            let events = await outbox.events()
            try await run(outbox) {
                #expect(try await outbox.send(OutboxRequest(.bestEffort, url: "slow")) == .failed(.timedOut))
                #expect(try await outbox.send(OutboxRequest(.bestEffort, url: "none")) == .failed(.timedOut))
                let id = try await outbox.submit(OutboxRequest(.important, url: "slow"))
                for await event in events where event == .attempted(id, number: 1, .timedOut) {
                    break
                }
            }
        }

        @Test(
            "sets a request aside that the server calls wrong, also for the next process, until it is retried"
        )
        func setAside() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, number in OutboxAnswer(status: number == 0 ? 422 : 200) }
            do {
                let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
                try await run(outbox) {
                    let result = try await outbox.send(
                        OutboxRequest(.mustArrive, url: "x", idempotencyKey: "x"))
                    #expect(result == .setAside(status: 422))
                }
            }
            let outbox = try await reopen(transport, paths)
            try await run(outbox) {
                let entry = try #require(try await outbox.entries().first)
                #expect(entry.setAsideStatus == 422)
                #expect(try await outbox.send(OutboxRequest(.important, url: "y")) == .delivered(status: 200))
                #expect(transport.sent.map(\.url) == ["x", "y"])
                try await outbox.retry(entry.id)
                try await Program.wait("the retried one") { try await outbox.entries().isEmpty }
                await #expect(throws: OutboxError.unknownRequest(entry.id)) {
                    try await outbox.retry(entry.id)
                }
            }
        }

        @Test("forgets a request that is removed, one that was set aside, too")
        func removal() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 400) }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            let waiting = try await outbox.submit(OutboxRequest(.mustArrive, url: "waiting"))
            try await outbox.remove(waiting)
            #expect(try await outbox.entries() == [])
            try await run(outbox) {
                _ = try await outbox.send(OutboxRequest(.mustArrive, url: "wrong"))
                let entry = try #require(try await outbox.entries().first)
                try await outbox.remove(entry.id)
                #expect(try await outbox.entries() == [])
            }
            #expect(transport.sent.map(\.url) == ["wrong"])
        }

        @Test("tells at once of a request that was set aside when it is sent again with its key")
        func knownKey() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 422) }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            let request = OutboxRequest(.mustArrive, url: "wrong", idempotencyKey: "k")
            try await run(outbox) {
                for _ in 0..<2 {
                    let result = try await outbox.send(request)
                    #expect(result == .setAside(status: 422))
                }
            }
            #expect(transport.sent.count == 1)
        }

        @Test("tells each of its senders of the end, however many end in one moment")
        func manySenders() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, _ in
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            let count = 1500
            let results = try await run(outbox) {
                try await withThrowingTaskGroup(of: OutboxResult.self) { group in
                    for _ in 0..<count {
                        group.addTask { try await outbox.send(OutboxRequest(.bestEffort, url: "x")) }
                    }
                    try await Program.wait("four to be sent", within: .seconds(30)) {
                        transport.sent.count == 4
                    }
                    paths.lose("wlan0")
                    // Those that are being sent go on.
                    var results: [OutboxResult] = []
                    while results.count < count - 4, let result = try await group.next() {
                        results.append(result)
                    }
                    group.cancelAll()
                    return results
                }
            }
            #expect(results == Array(repeating: .noPath, count: count - 4))
        }

        @Test("goes on where it was when it is stopped and run again; it runs once at a time")
        func again() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let isHeld = NIOLockedValueBox(true)
            let transport = FakeTransport { _, _ in
                if isHeld.withLockedValue({ $0 }) { try await Task.sleep(for: .seconds(60)) }
                return OutboxAnswer(status: 200)
            }
            let outbox = try await reopen(transport, paths)
            try await run(outbox) {
                try await outbox.submit((0..<6).map { OutboxRequest(.mustArrive, url: "\($0)") })
                try await Program.wait("four attempts") { transport.sent.count == 4 }
                await #expect(throws: OutboxError.alreadyRunning) { try await outbox.run() }
            }
            isHeld.withLockedValue { $0 = false }
            try await run(outbox) {
                try await Program.wait("all six") { try await outbox.entries().isEmpty }
            }
            #expect(transport.sent.count == 10 && Set(transport.sent.map(\.url)).count == 6)
        }

        @Test("that is closed ends its work, lets go of its file at once, and does nothing any more")
        func close() async throws {
            let paths = ScriptedPaths([.wifi("wlan0")])
            let transport = FakeTransport { _, number in
                if number == 0 { try await Task.sleep(for: .seconds(60)) }
                return OutboxAnswer(status: 200)
            }
            let outbox = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            let events = await outbox.events()
            let running = Task { try await outbox.run() }
            let waiting = Task { try await outbox.send(OutboxRequest(.mustArrive, url: "1")) }
            try await Program.wait("the attempt") { transport.sent.count == 1 }
            await outbox.close()
            try await running.value
            await #expect(throws: OutboxError.closed) { _ = try await waiting.value }
            for await _ in events {}
            await #expect(throws: OutboxError.closed) { try await outbox.run() }
            await #expect(throws: OutboxError.closed) {
                try await outbox.submit(OutboxRequest(.mustArrive, url: "2"))
            }
            await #expect(throws: OutboxError.closed) { try await outbox.entries() }
            await outbox.close()
            // While the one before is still referred to.
            let next = try await Outbox.open(at: file, transport: transport, monitor: paths.monitor)
            try await run(next) {
                try await Program.wait("it to arrive") { try await next.entries().isEmpty }
            }
            #expect(transport.sent.map(\.url) == ["1", "1"])
            await next.close()
        }

        @Test("says so where its file is no outbox's, or can't be made")
        func badFiles() async throws {
            let transport = FakeTransport { _, _ in OutboxAnswer(status: 200) }
            try folder.write(String(repeating: "no database ", count: 1000), to: "outbox.sqlite")
            for path in [file, folder.file("missing/outbox.sqlite")] {
                let error = await #expect(throws: OutboxError.self) {
                    try await Outbox.open(at: path, transport: transport, monitor: ScriptedPaths([]).monitor)
                }
                guard case .storage? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
    }
#endif
