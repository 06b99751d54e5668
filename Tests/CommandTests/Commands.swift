import Foundation
import TestSupport
import Testing

/// The commands under test, run as their users run them.
enum Commands {
    static let mpconnect = Program.product("mpconnect")
    static let mppaths = Program.product("mppaths")

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

    /// A port of loopback on which nothing listens, and which no other process can take while this lives.
    final class RefusedPort {
        let number: Int
        private let socket: CInt

        init() throws {
            let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            self.socket = socket
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &name) { name in
                name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
                }
            }
            number = Int(UInt16(bigEndian: name.sin_port))
            guard status == 0 else { throw Program.TimedOut(description: "no free port") }
        }

        deinit { close(socket) }
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
