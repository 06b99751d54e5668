#if HTTP && Outbox
    import Foundation
    import TestSupport
    import Testing

    @testable import FolderSync

    /// What users and servers do that no program should fall over.
    @Suite("What no user and no server should make mpsync do", .serialized) struct BadInputTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            for name in ["one", "other"] { try folder.makeFolder(name) }
        }

        @Test(
            "odd names come over and back as they are, in a conflict, too",
            .needs("nginx", "apache2", "curl"),
            arguments: [TestServer.Kind.nginx, .apache])
        func names(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            let long = String(repeating: "n", count: 255)
            let names = [
                "\u{E9}", "e\u{301}", "new\nline", "back\\slash", "a:b*?\"<>|", "-rf", " blank ", "...",
                "%2e%2e",
                "#1", "\u{301}mark", String(repeating: "\u{E4}", count: 127), long,
            ]
            for name in names { try folder.write("of \(name)", to: "one/\(name)") }
            for name in ["one", "other"] {
                let result = try await server.sync(folder.file(name))
                #expect(result.status == 0, "\(result.errors)")
            }
            // nginx lists no name that begins with a dot: it keeps what was sent, and no other computer hears of it.
            let listed = names.filter { kind != .nginx || !$0.hasPrefix(".") }
            // As a dictionary's keys Unicode's two forms of a letter are one.
            #expect(try entries("other").count == listed.count)
            for name in listed { #expect(try folder.text("other/\(name)") == "of \(name)") }

            for (side, text) in [("one", "here"), ("other", "elsewhere")] {
                try folder.remove("\(side)/\(long)")
                try folder.write(text, to: "\(side)/\(long)")
            }
            for name in ["one", "other", "one"] {
                let result = try await server.sync(folder.file(name))
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try entries("one").count == names.count + 1)
            #expect(try entries("other").count == listed.count + 1)
            #expect(try Set(entries("other")).isSubset(of: Set(entries("one"))))
            #expect(try folder.text("one/\(long)") == "here" && folder.text("other/\(long)") == "here")
        }

        /// By their bytes.
        private func entries(_ side: String) throws -> [[UInt8]] {
            try FileManager.default.contentsOfDirectory(atPath: folder.file(side)).map { Array($0.utf8) }
                .filter { $0 != Array(".mpsync".utf8) }
        }

        @Test(
            "a file that changes while it is sent is sent whole when it rests", .needs("python3", "curl"))
        func changing() async throws {
            let server = try await TestServer(.faulty)
            try folder.write("0", to: "one/file")
            let running = try Running([
                Program.product("mpsync"), "--json", folder.file("one"), server.url + "slow/",
            ])
            // The server takes half a second for it.
            var number = 0
            while running.isRunning {
                number += 1
                try folder.write(String(repeating: "\(number) ", count: number), to: "one/file")
                try await Task.sleep(for: .milliseconds(50))
                try #require(number < 1_000)
            }
            #expect(running.outputText.contains("changed_while_sent"), "\(running.outputText)")
            #expect(running.outputText.contains("it changes all the time"), "\(running.outputText)")
            #expect(try await server.sync(folder.file("one"), [], "slow/").status == 0)
            #expect(try await server.sync(folder.file("other"), [], "slow/").status == 0)
            #expect(try folder.text("other/file") == folder.text("one/file"))
        }

        @Test("a clock that jumps, and times that can't be, change nothing", .needs("nginx", "curl"))
        func clocks() async throws {
            let server = try await TestServer(.nginx)
            let times: [Double] = [-1, 0, 1, 4_102_444_800, 9_000_000_000]
            for (number, time) in times.enumerated() {
                try folder.write("\(number)", to: "one/f\(number)")
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: time)],
                    ofItemAtPath: folder.file("one/f\(number)"))
            }
            #expect(try await server.sync(folder.file("one")).status == 0)
            for now in [Int64.max / 2, 0, -1] {
                // What a run noted when the clock stood elsewhere.
                let store = try SyncStore(folder.file("one/.mpsync/state.sqlite"))
                try await store.setValue("\(now)", for: "traitsTime")
                try await store.setValue("\(now) 99", for: "deletions")
                let result = try await server.sync(folder.file("one"))
                #expect(result.status == 0 && result.errors.contains("nothing to do"), "\(result.errors)")
            }
            #expect(try folder.files("one") == server.folder.files("root"))
        }
    }
#endif
