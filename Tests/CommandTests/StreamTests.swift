import Foundation
import TestSupport
import Testing

@Suite("mpconnect's standard streams")
struct StreamTests {
    /// A server that says hello and closes its direction, and a shell command that connects to it.
    private func againstHello(_ client: String) async throws -> Program.Result {
        let server = try Running([
            "bash", "-c", "exec \(Commands.mpconnect) --listen 127.0.0.1:0 < <(echo hello)",
        ])
        let port = try Commands.port(of: server)
        return try await Program.run(
            ["bash", "-c", client],
            environment: ["mpconnect": Commands.mpconnect, "destination": "127.0.0.1:\(port)"])
    }

    @Test(
        "may be closed when it starts: no socket takes their place",
        arguments: [
            ("$mpconnect $destination < /dev/null >&-", 1, "", "standard output is closed"),
            ("$mpconnect --json $destination < /dev/null 2>&-", 0, "hello\n", ""),
            ("$mpconnect $destination <&-", 0, "hello\n", ""),
            ("$mpconnect --json $destination <&- 2>&-", 0, "hello\n", ""),
            ("$mpconnect $destination <&- >&-", 1, "", "standard output is closed"),
            ("$mpconnect $destination <&- >&- 2>&-", 1, "", ""),
        ])
    func closed(_ command: String, _ status: Int32, _ output: String, _ error: String) async throws {
        let result = try await againstHello(command)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.outputText == output)
        #expect(error.isEmpty ? result.errors.isEmpty : result.errors.contains(error))
    }

    @Test(
        "may be open for the other direction, or full: an error says so",
        arguments: [
            (
                "exec 3< /dev/null; $mpconnect $destination < /dev/null >&3",
                "write to standard output: Bad file"
            ),
            ("exec 3> /dev/null; $mpconnect $destination <&3", "read standard input: Bad file descriptor"),
            ("$mpconnect $destination < /dev/null > /dev/full", "write to standard output: No space left"),
        ])
    func unusable(_ command: String, _ error: String) async throws {
        let result = try await againstHello(command)
        #expect(result.status == 1)
        #expect(result.errors.contains(error), "\(result.errors)")
    }

    @Test("may be non-blocking because another process that shares them made them so")
    func nonBlocking() async throws {
        let result = try await againstHello(
            """
            exec 3< <(sleep 0.3)
            perl -e 'use Fcntl; fcntl(STDIN, F_SETFL, fcntl(STDIN, F_GETFL, 0) | O_NONBLOCK)' <&3
            $mpconnect $destination <&3
            """)
        #expect(result == Program.Result(status: 0, output: Data("hello\n".utf8), errors: ""))
    }

    @Test("do not wait for each other on a machine with one processor", .needs("taskset"))
    func oneProcessor() async throws {
        let server = try Running(["taskset", "-c", "0", Commands.mpconnect, "--listen", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let client = try Running(["taskset", "-c", "0", Commands.mpconnect, "127.0.0.1:\(port)"])
        client.write(Data("first".utf8))
        try await Program.wait("the first bytes") { server.outputText == "first" }
        let start = ContinuousClock.now
        for round in 1...5 {
            server.write(Data("x".utf8))
            try await Program.wait("answer \(round)") { client.outputCount == round }
        }
        // Each one took a second when the idle read of standard input held the only thread.
        #expect(ContinuousClock.now - start < .seconds(4))
    }

    @Test("of --listen serve one connection, and close any other at once")
    func secondConnection() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "-v", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let first = try Running([Commands.mpconnect, "127.0.0.1:\(port)"])
        first.write(Data("first".utf8))
        try await Program.wait("the first connection") { server.outputText == "first" }
        let second = try await Commands.connect("127.0.0.1:\(port)", within: .seconds(10))
        #expect(second.output.isEmpty)
        #expect(server.errorText.contains("one connection at a time"))
        first.write(Data(" and more".utf8))
        try await Program.wait("the first one's bytes") { server.outputText == "first and more" }
    }

    @Test("end a report, as JSON, for every end: a busy port, a signal before there is a connection")
    func reports() async throws {
        let server = try Running([Commands.mpconnect, "--listen", "127.0.0.1:0"])
        let port = try Commands.port(of: server)
        let busy = try await Commands.connect("--json", "--listen", "127.0.0.1:\(port)")
        #expect(busy.status == 1)
        let report = try #require(try Commands.objects(busy.errors).last)
        #expect(report["event"] as? String == "report")
        #expect((report["error"] as? String)?.contains("Address already in use") == true)

        let waiting = try Running([Commands.mpconnect, "--json", "--listen", "127.0.0.1:0"])
        try await Program.wait("the listener") { waiting.errorText.contains("listening") }
        waiting.signal(SIGINT)
        let ended = try await waiting.result(within: .seconds(10))
        #expect(ended.status == 130)
        #expect(try Commands.objects(ended.errors).map { $0["event"] as? String } == ["listening", "report"])
    }
}
