import Foundation
import LinuxNet
import TestSupport
import Testing

@Suite("mpconnect's transfers")
struct TransferTests {
    /// Random bytes, the same for the same seed.
    private func bytes(_ count: Int, seed: UInt64) -> Data {
        var state = seed
        var words = [UInt64](repeating: 0, count: count / 8)
        for index in words.indices {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            words[index] = state ^ state >> 29
        }
        return words.withUnsafeBytes { Data($0) }
    }

    private func resident(_ program: Running) -> Int? {
        let text = try? String(contentsOfFile: "/proc/\(program.identifier)/status", encoding: .utf8)
        return text?.firstMatch(of: /VmHWM:\s*(\d+) kB/).flatMap { Int($0.1) }
    }

    @Test("carry 64 MiB each way at once, every byte intact, half-close kept")
    func bothWays() async throws {
        let (up, down) = (bytes(64 << 20, seed: 1), bytes(64 << 20, seed: 2))
        let server = try Running([Commands.mpconnect, "--listen", "--report", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let client = try Running([Commands.mpconnect, "--json", "127.0.0.1:\(port)"])
        client.write(up)
        client.endInput()
        // The server's side ends much later than the client's: its bytes must still arrive.
        server.write(down.prefix(1 << 20))
        try await Program.wait("the client's bytes", within: .seconds(60)) {
            server.outputCount >= up.count
        }
        server.write(down.dropFirst(1 << 20))
        server.endInput()
        let atClient = try await client.result(within: .seconds(120))
        let atServer = try await server.result(within: .seconds(120))
        #expect(atClient.status == 0)
        #expect(atServer.status == 0)
        #expect(atClient.output == down)
        #expect(atServer.output == up)
        let report = try #require(try Commands.objects(atClient.errors).last)
        #expect(report["event"] as? String == "report")
        #expect(report["transport"] as? String == "mptcp")
        #expect(report["control"] as? String == LocalSocketSource().level.name)
        let path = try #require((report["paths"] as? [[String: Any]])?.first)
        #expect(path["interface"] as? String == "lo")
        #expect(path["bytes_sent"] as? Int == up.count)
        #expect(path["bytes_received"] as? Int == down.count)
        #expect(atServer.errors.contains("by mptcp"))
    }

    @Test(
        "of 1 GiB stay below 64 MiB of resident memory at both ends, though the reader is slow at first",
        .enabled(if: !Requirement.isSanitized, "a sanitizer needs more memory than what is measured here"))
    func memory() async throws {
        // `exec` without a pipeline, so that the process started here is mpconnect itself.
        let server = try Running([
            "bash", "-c",
            "exec \(Commands.mpconnect) --listen 127.0.0.1:0 < /dev/null > >(sleep 1; sha256sum)",
        ])
        let port = try Commands.port(of: server)
        let client = try Running([
            "bash", "-c",
            "exec \(Commands.mpconnect) --report 127.0.0.1:\(port) < <(head -c 1073741824 /dev/zero)",
        ])
        var peaks: [String: Int] = [:]
        try await Program.wait("the end of the transfer", within: .seconds(180)) {
            for (end, program) in [("client", client), ("server", server)] {
                let name = try? String(contentsOfFile: "/proc/\(program.identifier)/comm", encoding: .utf8)
                guard name == "mpconnect\n", let memory = resident(program) else { continue }
                peaks[end] = max(peaks[end] ?? 0, memory)
            }
            return !client.isRunning
        }
        #expect(try await client.result().status == 0)
        // SHA-256 of 1 GiB of zeros.
        #expect(
            try await server.result().outputText
                == "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14  -\n")
        #expect(peaks.keys.sorted() == ["client", "server"])
        #expect(peaks.values.allSatisfy { $0 > 1 << 10 && $0 < 64 << 10 }, "KiB at most: \(peaks)")
    }

    @Test("end with a broken connection's reason, and status 1")
    func reset() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        // By MPTCP the kernel would keep the server's connection, without a subflow, for its close_timeout.
        let client = try Running([Commands.mpconnect, "--no-mptcp", "127.0.0.1:\(port)"])
        client.write(Data("hello".utf8))
        try await Program.wait("the bytes at the server") { server.outputText == "hello" }
        server.write(Data(repeating: 1, count: 16 << 20))
        client.closeOutput()
        // The client leaves because its output's reader has gone; bytes that come after that are answered by a reset.
        #expect(try await client.result().status == 1)
        let result = try await server.result()
        #expect(result.status == 1)
        #expect(result.errors.contains("the connection broke: "))
    }

    @Test("end promptly when standard output is closed, even while nothing arrives")
    func closedOutput() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let client = try Running([Commands.mpconnect, "-v", "127.0.0.1:\(port)"])
        try await Program.wait("the connection") { client.errorText.contains("connected to") }
        client.closeOutput()
        #expect(try await client.result(within: .seconds(10)).status == 1)
    }

    @Test("end promptly on SIGINT, with the report and the signal's status")
    func interrupt() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let client = try Running([Commands.mpconnect, "--json", "127.0.0.1:\(port)"])
        try await Program.wait("the connection") { client.errorText.contains("established") }
        client.signal(SIGINT)
        let result = try await client.result(within: .seconds(10))
        #expect(result.status == 130)
        #expect(
            try Commands.objects(result.errors).map { $0["event"] as? String } == ["established", "report"])
    }

    @Test("end promptly on SIGTERM while a listener still waits")
    func interruptedListener() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "127.0.0.1:0"])
        _ = try Commands.port(of: server)
        server.signal(SIGTERM)
        #expect(try await server.result(within: .seconds(10)).status == 143)
    }

    @Test("read a file as standard input, and write one")
    func files() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "mpconnect-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let content = bytes(1 << 20, seed: 3)
        try content.write(to: folder.appendingPathComponent("in"))
        let server = try Running([
            "bash", "-c", "exec \(Commands.mpconnect) --listen 127.0.0.1:0 < /dev/null > \(folder.path)/out",
        ])
        let port = try Commands.port(of: server)
        let client = try await Program.run([
            "bash", "-c", "exec \(Commands.mpconnect) 127.0.0.1:\(port) < \(folder.path)/in",
        ])
        #expect(client.status == 0)
        #expect(try await server.result().status == 0)
        #expect(try Data(contentsOf: folder.appendingPathComponent("out")) == content)
    }

    @Test("accept plain TCP beside MPTCP, and say which")
    func listenerTCP() async throws {
        let server = try Running([Commands.mpconnect, "--listen", ":0"])
        let port = try Commands.port(of: server)
        server.endInput()
        let client = try await Commands.connect(
            "--no-mptcp", "--report", "127.0.0.1:\(port)", input: Data("x".utf8))
        #expect(client.status == 0)
        #expect(client.errors.contains("tcp (fallback: disabled, as asked)"))
        let result = try await server.result()
        #expect(result.outputText == "x")
        #expect(result.errors.contains("accepted 127.0.0.1:"))
        #expect(result.errors.contains("by tcp"))
    }
}
