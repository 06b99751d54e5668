#if Outbox
    import Foundation
    import MultipathOutbox
    import MultipathTesting

    struct Probe: Sendable {
        private let file: String
        private let port: Int
        private let count: Int
        private let first: Int
        private let seed: UInt64

        init(_ arguments: [String]) {
            guard arguments.count == 6, let port = Int(arguments[2]), let count = Int(arguments[3]),
                let first = Int(arguments[4]), let seed = UInt64(arguments[5])
            else {
                FileHandle.standardError.write(Data("usage: outbox-probe FILE PORT COUNT FROM SEED\n".utf8))
                exit(2)
            }
            (file, self.port, self.count, self.first, self.seed) = (arguments[1], port, count, first, seed)
        }

        func run() async throws {
            let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
            let outbox = try await Outbox.open(
                at: file, transport: LoopbackTransport(port: port, paths: paths), monitor: paths.monitor)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await outbox.run() }
                group.addTask { try await PathStorm(seed: seed).run(paths) }
                try await submit(to: outbox)
                while try await !outbox.entries().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
                say("empty")
                group.cancelAll()
                do { try await group.waitForAll() } catch is CancellationError {}
            }
        }

        private func submit(to outbox: Outbox) async throws {
            var next = first
            while next < count {
                let few = next..<min(next + Int.random(in: 1...20), count)
                try await outbox.submit(
                    few.map { number in
                        OutboxRequest(
                            .mustArrive, url: "/readings/\(number)", body: Array("reading \(number)".utf8),
                            urgency: number % 8, idempotencyKey: "reading-\(number)")
                    })
                next = few.upperBound
                say("submitted \(next)")
            }
        }

        private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
#endif
