#if HTTP && Outbox
    import Foundation
    import TestSupport
    import Testing

    @testable import FolderSync

    /// What could lose a file, and does not.
    @Suite("What could lose a file", .serialized) struct LossTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            for name in ["one", "other"] { try folder.makeFolder(name) }
        }

        @Test(
            "a request whose connection broke, and which the server goes on with later, cuts no file short",
            .needs("python3", "curl"))
        func late() async throws {
            let server = try await TestServer(.faulty)
            try folder.write("content", to: "one/file")
            #expect(try await server.sync(folder.file("one"), [], "late/").status == 0)
            #expect(try await server.sync(folder.file("other"), [], "late/").status == 0)
            #expect(try folder.text("other/file") == "content")
        }

        @Test(
            "another's change in the moment of a rename survives, though mpsync is killed on the way",
            .needs("python3", "curl"))
        func renameKilled() async throws {
            let server = try await TestServer(.faulty)
            try folder.write("content", to: "one/name")
            #expect(try await server.sync(folder.file("one"), [], "foldrace/").status == 0)
            try folder.move("one/name", to: "one/NAME")
            let running = try Running([
                Program.product("mpsync"), folder.file("one"), server.url + "foldrace/",
            ])
            try await Program.wait("the second half of the rename") { server.output.contains("hangs") }
            running.kill()
            try await Program.wait("its end") { !running.isRunning }
            for name in ["one", "one", "other"] {
                _ = try await server.sync(folder.file(name), [], "foldrace/")
            }
            let found = try folder.files("other").values.map { String(decoding: $0, as: UTF8.self) }
            #expect(found.contains("another's change"), "\(found)")
            #expect(try folder.text("one/NAME") == "content")
        }

        @Test(
            "a file that a program has open for writing is neither deleted nor replaced",
            .needs("nginx", "curl"))
        func openForWriting() async throws {
            let server = try await TestServer(.nginx)
            for name in ["log", "notes", "rest"] { try folder.write("old", to: "one/\(name)") }
            #expect(try await server.sync(folder.file("one")).status == 0)
            let log = try #require(FileHandle(forUpdatingAtPath: folder.file("one/log")))
            let notes = try #require(FileHandle(forUpdatingAtPath: folder.file("one/notes")))
            try server.folder.remove("root/log")
            try server.folder.replace("root/notes", with: "from the server")

            let refused = try await server.sync(folder.file("one"))
            #expect(refused.status == 1)
            #expect(refused.errors.contains("log: a program has it open for writing"), "\(refused.errors)")
            #expect(refused.errors.contains("notes: a program has it open for writing"), "\(refused.errors)")

            // What can't take its place is not fetched, run after run.
            let again = try await server.sync(folder.file("one"), ["--json"])
            #expect(
                again.status == 1 && again.outputText.contains("\"bytes_received\":0"), "\(again.outputText)")

            // What it writes now would be gone.
            for file in [log, notes] {
                try file.seekToEnd()
                try file.write(contentsOf: Data(" and new".utf8))
                try file.close()
            }
            let result = try await server.sync(folder.file("one"))
            #expect(result.status == 0, "\(result.errors)")
            let files = try server.folder.files("root").values.map { String(decoding: $0, as: UTF8.self) }
            #expect(files.sorted() == ["from the server", "old", "old and new", "old and new"])
            #expect(try folder.files("one") == server.folder.files("root"))
        }

        @Test(
            "nginx, whose tags tell seconds apart: what is written right after an upload, of the same size, is seen",
            .needs("nginx", "curl"))
        func sameSecond() async throws {
            let server = try await TestServer(.nginx)
            try folder.write("first", to: "one/file")
            #expect(try await server.sync(folder.file("one")).status == 0)
            try server.folder.replace("root/file", with: "other")
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try folder.text("one/file") == "other")

            // What it replaces may be as young, and may have been fetched just now: another client sees that change as well.
            #expect(try await server.sync(folder.file("other")).status == 0)
            try folder.replace("one/file", with: "third")
            try await Program.wait("the third version") {
                // Of a file that is fetched in its first second nothing is relied on.
                try await server.sync(folder.file("one")).status == 0
            }
            #expect(try await server.sync(folder.file("other")).status == 0)
            #expect(try folder.text("other/file") == "third")
        }

        @Test(
            "a large file arrives byte for byte, in parts and batches of any size",
            .needs("nginx", "apache2", "rclone", "curl"),
            arguments: [TestServer.Kind.nginx, .apache, .rclone])
        func large(kind: TestServer.Kind) async throws {
            let server = try await TestServer(kind)
            var (numbers, number) = ([UInt64](), UInt64(20))
            for _ in 0..<(19 << 17) {
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                numbers.append(number)
            }
            let content = numbers.withUnsafeBytes { Data($0) } + Data("odd".utf8)
            try content.write(to: URL(fileURLWithPath: folder.file("one/large")))
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try await server.sync(folder.file("other")).status == 0)
            #expect(try folder.files("other") == ["large": content])
        }

        @Test(
            "a large file is not fetched from nginx in the second in which it may change under the same tag",
            .needs("nginx", "curl"))
        func settles() async throws {
            let server = try await TestServer(.nginx)
            try Data(repeating: 1, count: 9 << 20).write(
                to: URL(fileURLWithPath: server.folder.file("root/large")))
            #expect(try await server.sync(folder.file("other")).status == 0)
            var (there, here) = (stat(), stat())
            #expect(
                lstat("\(server.root)/large", &there) == 0 && lstat(folder.file("other/large"), &here) == 0)
            #expect(here.st_ctim.tv_sec >= there.st_mtim.tv_sec + 2)
        }

        @Test("a download that begins anew, and is empty then, counts as empty")
        func emptyAfterAll() throws {
            let local = try LocalFolder(folder.file("one"))
            let (part, empty) = (try local.makePart("film"), try local.makePart("empty"))
            try Data(repeating: 1, count: 9 << 20).withUnsafeBytes { try part.write($0, at: 0) }
            let arrival = Arrival(local, "film")
            let content = try Arrival(local, "empty").content(of: empty)
            #expect(try arrival.content(of: part) != content)
            #expect(ftruncate(part.descriptor, 0) == 0)
            #expect(try arrival.content(of: part) == content)
        }

        @Test(
            "what a server has and does not list, as nginx with names that begin with a dot, is not deleted",
            .needs("nginx", "curl"))
        func unlisted() async throws {
            let server = try await TestServer(.nginx)
            try folder.makeFolder("one/.git")
            for name in [".profile", ".git/HEAD", "listed"] { try folder.write("old", to: "one/\(name)") }
            for _ in 0..<2 { #expect(try await server.sync(folder.file("one")).status == 0) }
            #expect(try folder.files("one") == server.folder.files("root"))
            #expect(try folder.files("one").count == 3)

            // A change of it comes over either way, and so does its deletion.
            try folder.replace("one/.profile", with: "changed here")
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try server.folder.text("root/.profile") == "changed here")
            try server.folder.replace("root/.profile", with: "and then there")
            try server.folder.remove("root/.git/HEAD")
            #expect(try await server.sync(folder.file("one")).status == 0)
            #expect(try folder.text("one/.profile") == "and then there")
            #expect(try folder.files("one").count == 2)
        }

        @Test(
            "the names of what is fetched are on the disk before the record says so",
            .needs("nginx", "curl", "strace"))
        func durable() async throws {
            let server = try await TestServer(.nginx)
            try server.folder.makeFolder("root/sub")
            try server.folder.write("content", to: "root/sub/file")
            let result = try await Program.run([
                "strace", "-f", "-y", "-o", folder.file("calls"), "-e", "trace=fsync,renameat2",
                Program.product("mpsync"), folder.file("other"), server.url,
            ])
            #expect(result.status == 0, "\(result.errors)")
            let calls = try folder.text("calls").split(separator: "\n")
            let named = try #require(calls.firstIndex { $0.contains("renameat2") && $0.contains("\"file\"") })
            let written = calls[named...].contains { $0.contains("fsync(") && $0.contains("/other/sub>") }
            #expect(written, "\(calls.joined(separator: "\n"))")
        }
    }
#endif
