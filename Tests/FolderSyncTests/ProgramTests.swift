#if HTTP && Outbox
    import Foundation
    import TestSupport
    import Testing

    /// `mpsync` as a user runs it, against three servers.
    @Suite("mpsync, as a user runs it", .serialized) struct ProgramTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            for name in ["one/sub/deep", "other"] { try folder.makeFolder(name) }
        }

        @Test(
            "two folders and a server come to be the same, with renames, deletions and a conflict",
            .needs("nginx", "apache2", "rclone", "curl"),
            arguments: [TestServer.Kind.nginx, .apache, .rclone])
        func both(_ kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            for number in 0..<40 { try folder.write("file \(number)", to: "one/f\(number)") }
            try folder.write("odd", to: "one/sub/deep/ä %41 #?\n.txt")
            try Data((0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }).write(
                to: URL(fileURLWithPath: folder.file("one/sub/large")))
            for name in ["one", "other", "one"] {
                let result = try await server.sync(folder.file(name))
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try folder.files("one") == folder.files("other"))
            // rclone writes an end of line in a name in a way of its own.
            if kind != .rclone { #expect(try folder.files("one") == server.folder.files("root")) }

            try folder.move("one/f1", to: "one/sub/moved")
            try folder.remove("one/f2")
            try folder.replace("one/f3", with: "here")
            try folder.replace("other/f3", with: "elsewhere")
            try folder.remove("other/sub/deep")
            for name in ["one", "other", "one", "other"] {
                let result = try await server.sync(folder.file(name))
                #expect(result.status == 0, "\(result.errors)")
            }
            let files = try folder.files("one")
            #expect(try files == folder.files("other"))
            if kind != .rclone { #expect(try files == server.folder.files("root")) }
            #expect(files["sub/moved"] == Data("file 1".utf8) && files["f1"] == nil && files["f2"] == nil)
            #expect(files["f3"] == Data("here".utf8))
            let losers = files.filter { $0.key.hasPrefix("f3 (conflict of ") }
            #expect(losers.values.map { String(decoding: $0, as: UTF8.self) } == ["elsewhere"])
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: server.root).allSatisfy {
                    !$0.hasPrefix(".mpsync")
                })
        }

        @Test(
            "killed at any moment, the next run completes and leaves nothing behind", .needs("nginx", "curl"))
        func killed() async throws {
            let server = try await TestServer(.nginx)
            for round in 0..<6 {
                for number in 0..<20 {
                    try folder.replace("one/f\(number)", with: "round \(round) \(number)")
                }
                try folder.write(String(repeating: "large \(round)", count: 300_000), to: "one/large\(round)")
                let running = try Running([Program.product("mpsync"), folder.file("one"), server.url])
                try await Task.sleep(for: .milliseconds(40 + 60 * round))
                running.kill()
                try await Program.wait("its end") { !running.isRunning }
                let result = try await server.sync(folder.file("one"))
                #expect(result.status == 0, "\(result.errors)")
                #expect(try folder.files("one") == server.folder.files("root"))
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: server.root).allSatisfy {
                        !$0.hasPrefix(".mpsync")
                    })
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: folder.file("one/.mpsync/part"))
                        .isEmpty)
            }
        }

        @Test(
            "a server's faults are told, nothing hangs and nothing here is lost", .needs("python3", "curl"),
            arguments: [
                ("html", "answered PROPFIND"), ("html207", "no XML"), ("wants", "--user"),
                ("full", "no room left"),
                ("locked", "locked"), ("broken", "a fault of its own"), ("cut", "bytes after the upload"),
                ("refuses", "it changes all the time"), ("endless", "128 folders"), ("lies", "can't be here"),
            ])
        func faults(_ mode: String, _ words: String) async throws {
            let server = try await TestServer(.faulty)
            try folder.write("content", to: "one/file")
            let before = try folder.files("one")
            let result = try await server.sync(folder.file("one"), [], "\(mode)/")
            #expect(result.status == 1)
            #expect(result.errors.contains(words), "\(result.errors)")
            #expect(try folder.files("one") == before)
        }

        @Test(
            "weak tags and none at all do, too", .needs("python3", "curl"),
            arguments: ["weak", "tagless", "plain"])
        func tags(_ mode: String) async throws {
            let server = try await TestServer(.faulty)
            try folder.write("content", to: "one/file")
            for (name, content) in [
                ("one", "content"), ("other", "content"), ("one", "longer content"), ("other", ""),
            ] {
                if !content.isEmpty, name == "one" { try folder.replace("one/file", with: content) }
                let result = try await server.sync(folder.file(name), [], "\(mode)/")
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try folder.text("other/file") == "longer content")
        }

        @Test("a file shorter than the server lists it is left alone", .needs("python3", "curl"))
        func short() async throws {
            let server = try await TestServer(.faulty)
            try folder.write("content", to: "one/file")
            #expect(try await server.sync(folder.file("one"), [], "short/").status == 0)
            let result = try await server.sync(folder.file("other"), [], "short/")
            #expect(
                result.status == 1 && result.errors.contains("lists 7 bytes, and sent 6"), "\(result.errors)")
            #expect(try folder.files("other").isEmpty)
        }

        @Test("names that the server does not tell apart are told", .needs("python3", "curl"))
        func folding() async throws {
            let server = try await TestServer(.faulty)
            try folder.write("small", to: "one/name")
            try folder.write("large", to: "one/NAME")
            let result = try await server.sync(folder.file("one"), [], "fold/")
            #expect(
                result.status == 1 && result.errors.contains("does not tell it from NAME"), "\(result.errors)"
            )
            #expect(try folder.text("one/name") == "small")
        }

        @Test(
            "links are not followed, deletions have a limit, and a folder has one mpsync",
            .needs("nginx", "curl"))
        func guards() async throws {
            let server = try await TestServer(.nginx)
            try folder.write("secret", to: "outside")
            try folder.link("one/link", to: folder.file("outside"))
            for number in 0..<12 { try folder.write("\(number)", to: "one/f\(number)") }
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try server.folder.files("root")["link"] == nil)

            for number in 0..<6 { try folder.remove("one/f\(number)") }
            let limited = try await server.sync(folder.file("one"), ["--max-delete", "5"])
            #expect(limited.status == 1 && limited.errors.contains("--max-delete 6"), "\(limited.errors)")
            #expect(try server.folder.files("root").count == 12)
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try server.folder.files("root").count == 6)

            let watching = try Running([
                Program.product("mpsync"), "--watch", "--json", folder.file("one"), server.url,
            ])
            try await Program.wait("the first run") { watching.outputText.contains("\"summary\"") }
            let second = try await server.sync(folder.file("one"))
            #expect(second.status == 1 && second.errors.contains("another mpsync"), "\(second.errors)")
            try folder.write("new", to: "one/new")
            try await Program.wait("the new file") { try server.folder.files("root")["new"] != nil }
            watching.kill()
        }

        @Test("a full disk is told, and what was there stays", .needs("nginx", "curl"))
        func full() async throws {
            let server = try await TestServer(.nginx)
            try folder.write("here", to: "other/here")
            try server.folder.write(String(repeating: "large ", count: 500_000), to: "root/large")
            // A limit on the size of files stands for the disk; the signal that comes with it is ignored.
            let result = try await Program.run([
                "/bin/bash", "-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "bash",
                Program.product("mpsync"),
                folder.file("other"), server.url,
            ])
            #expect(result.status == 1 && result.errors.contains("large"), "\(result.errors)")
            #expect(try folder.files("other").keys.sorted() == ["here"])
            #expect(try await server.sync(folder.file("other")).status == 0)
            #expect(try folder.files("other").count == 2)
        }

        @Test(
            "what can't be meant is an error of usage",
            arguments: [
                ["--push", "--pull", "x", "http://localhost/"], ["x", "localhost"],
                ["x", "http://a@localhost/"],
                ["--user", "a", "x", "http://localhost/"], ["x"],
                ["--budget", "1", "x", "http://localhost/"],
            ])
        func usage(_ arguments: [String]) async throws {
            #expect(try await Program.run([Program.product("mpsync")] + arguments).status == 2)
        }
    }
#endif
