import Foundation
import TestSupport
import Testing

/// The commands under test, run as their users run them.
enum Commands {
    static let mpconnect = Program.product("mpconnect")
    static let mppaths = Program.product("mppaths")

    /// A listener in the server of `TwoPaths`: bash, for `run`. What it receives is in `got`, its words are in `listener`.
    static let listener = """
        server "$bin/mpconnect" --listen 203.0.113.1:7000 < /dev/null > got 2> listener &
        wait_for "the listener" grep listening listener
        """

    /// Runs mpconnect to its end.
    static func connect(
        _ arguments: String..., input: Data = Data(), within limit: Duration = .seconds(30)
    ) async throws -> Program.Result {
        try await Program.run([mpconnect] + arguments, input: input, within: limit)
    }

    /// A port of loopback that is free now.
    static func freePort() throws -> Int {
        let probe = try Running([mpconnect, "--listen", "127.0.0.1:0"])
        defer {
            probe.kill()
            // Until it is gone it still listens.
            let deadline = ContinuousClock.now + .seconds(10)
            while probe.isRunning, ContinuousClock.now < deadline { usleep(1_000) }
        }
        return try port(of: probe)
    }

    /// The port an `mpconnect --listen` says it listens on.
    static func port(of listener: Running) throws -> Int {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if let match = listener.errorText.firstMatch(of: /listening on .*:(\d+)\n/),
                let port = Int(match.1)
            {
                return port
            }
            if !listener.isRunning { break }
            usleep(5_000)
        }
        throw Program.TimedOut(description: "no listener: \(listener.errorText)")
    }

    /// The JSON objects of a text, one a line.
    static func objects(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }
}
