import Foundation
import Multipath
import NIOCore
import NIOPosix

// Connects again and again, by this library or by SwiftNIO's own bootstrap, and prints the milliseconds of each
// connection, a line each; `-` for an attempt that made no connection within LIMIT seconds (the environment's, or 10).
//
//   mpbench-race ours|ours-tcp|nio|nio-mptcp RUNS HOST PORT [fresh]
//
// `fresh` has each connection know nothing of the ones before it.

@main
struct Race {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 5, let runs = Int(words[2]), let port = UInt16(words[4]) else {
            FileHandle.standardError.write(Data("usage: mpbench-race WHO RUNS HOST PORT [fresh]\n".utf8))
            exit(2)
        }
        let host = words[3]
        let limit = ProcessInfo.processInfo.environment["LIMIT"].flatMap { Int64($0) } ?? 10
        let isFresh = words.dropFirst(5).first == "fresh"
        let monitor = PathMonitor()
        _ = try await monitor.currentPath()
        var connector = Connector(monitor: monitor)
        let group = MultiThreadedEventLoopGroup.singleton
        for _ in 0..<runs {
            if isFresh { connector = Connector(monitor: monitor) }
            let start = ContinuousClock.now
            do {
                switch words[1] {
                case "ours", "ours-tcp":
                    let socket = try await connector.connect(host: host, port: Int(port)) {
                        $0.protocols = words[1] == "ours" ? [.mptcp, .tcp] : [.tcp]
                        $0.connectTimeout = .seconds(limit)
                    }
                    report(since: start)
                    _ = consume socket
                default:
                    let bootstrap = ClientBootstrap(group: group)
                        .enableMPTCP(words[1] == "nio-mptcp").connectTimeout(.seconds(limit))
                    let channel = try await bootstrap.connect(host: host, port: Int(port)).get()
                    report(since: start)
                    try await channel.close()
                }
            } catch {
                print("-")
            }
            // The last connection's end is not part of the next one's beginning.
            try await Task.sleep(for: .milliseconds(30))
        }
    }

    private static func report(since start: ContinuousClock.Instant) {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        print(String(format: "%.2f", Double(seconds) * 1e3 + Double(attoseconds) / 1e15))
        fflush(nil)
    }
}
