#if Outbox
    import Foundation
    import TestSupport
    import Testing

    @Suite("An outbox whose process is killed", .timeLimit(.minutes(10)))
    struct KilledOutboxTests {
        /// `OUTBOX_REQUESTS` and `OUTBOX_KILLS` have more of them.
        private static func number(_ name: String, _ usual: Int) -> Int {
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
        }

        @Test("has each request done once, none lost, while paths come and go and answers are lost")
        func kills() async throws {
            let (count, kills) = (Self.number("OUTBOX_REQUESTS", 100), Self.number("OUTBOX_KILLS", 4))
            let folder = try TemporaryFolder()
            let server = try await ForgetfulServer(seed: 19, failures: 2)
            var submitted = 0
            var runs = 0
            /// Starts the process again, and ends it when the condition holds, or lets it end by itself.
            func run(until condition: (() -> Bool)?) async throws -> Program.Result? {
                let process = try Running([
                    Program.product("outbox-probe"), folder.file("outbox.sqlite"), "\(server.port)",
                    "\(count)",
                    "\(submitted)", "\(runs)",
                ])
                runs += 1
                defer {
                    let said = process.outputText.split(separator: "\n").filter { $0.hasPrefix("submitted ") }
                    submitted = said.last.flatMap { Int($0.dropFirst("submitted ".count)) } ?? submitted
                }
                guard let condition else { return try await process.result(within: .seconds(300)) }
                try await Program.wait("the moment to kill: \(process.errorText)", within: .seconds(120)) {
                    condition() || !process.isRunning
                }
                #expect(process.isRunning, "\(process.errorText)")
                process.kill()
                _ = try await process.result()
                return nil
            }
            for kill in 1...kills {
                // Some of each part of the work was done, at a moment that the test does not choose more closely.
                let mark = server.ledger.done.count + max(count / (kills + 5), 1)
                // It can't have ended by then.
                server.hold(after: min(mark + 5, count - 1))
                _ = try await run { server.ledger.done.count >= mark }
                #expect(runs == kill)
            }
            server.hold(after: .max)
            let result = try #require(try await run(until: nil))
            #expect(result.status == 0 && result.outputText.hasSuffix("empty\n"), "\(result.errors)")
            let ledger = server.ledger
            #expect(ledger.done.count == count && ledger.done.values.allSatisfy { $0 == 1 })
            for number in 0..<count {
                #expect(ledger.bodies["\"reading-\(number)\""] == "reading \(number)")
            }
            if count > 100 {
                print(
                    "\(count) requests, \(kills) kills: \(ledger.received) came, \(ledger.repeated) repeated")
            }
            await server.close()
        }

        @Test("leaves its file to the next process, and to one at a time")
        func exclusive() async throws {
            let folder = try TemporaryFolder()
            let arguments = [
                Program.product("outbox-probe"), folder.file("outbox.sqlite"), "1", "1", "0", "0",
            ]
            let first = try Running(arguments)
            try await Program.wait("the first") {
                first.outputText.contains("submitted 1") || !first.isRunning
            }
            #expect(first.isRunning, "\(first.errorText)")
            let second = try await Program.run(arguments)
            #expect(second.status != 0 && second.errors.contains("another outbox has"), "\(second.errors)")
            first.kill()
            _ = try await first.result()
            let third = try Running(arguments)
            try await Program.wait("the third") {
                third.outputText.contains("submitted 1") || !third.isRunning
            }
            #expect(third.isRunning, "\(third.errorText)")
            third.kill()
        }
    }
#endif
