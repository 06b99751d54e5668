import Dispatch
import Multipath
import MultipathNIO
import NIOCore
import NIOPosix

// Connects and closes a number of times, and does nothing else, so that valgrind counts just these instructions
// (mpbench_suite/rows/race.py).
//
//   mpbench-instructions WHO COUNT HOST PORT
//
// WHO makes a channel (`nio`, `nio-mptcp`: SwiftNIO's own bootstrap; `channel`, `channel-tcp`: this library's) or a
// descriptor (`ours`, `ours-tcp`: this library without SwiftNIO).

@main
struct Instructions {
    /// Not asynchronous itself: that would end the first thread, and valgrind with it (3.19 writes to the signal mask
    /// that the thread waits with, which is constant).
    static func main() {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await run() } catch { fatalError("\(error)") }
            done.signal()
        }
        done.wait()
    }

    private static func run() async throws {
        let words = CommandLine.arguments
        guard words.count == 5, let count = Int(words[2]), let port = UInt16(words[4]) else {
            fatalError("usage: mpbench-instructions WHO COUNT HOST PORT")
        }
        let (who, host) = (words[1], words[3])
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let monitor = PathMonitor()
        _ = try await monitor.currentPath()
        let connector = Connector(monitor: monitor)
        let ours = MultipathBootstrap(group: group, connector: connector)
            .configure { $0.protocols = who == "channel" ? [.mptcp, .tcp] : [.tcp] }
        for _ in 0..<count {
            switch who {
            case "ours", "ours-tcp":
                _ = try await connector.connect(host: host, port: Int(port)) {
                    $0.protocols = who == "ours" ? [.mptcp, .tcp] : [.tcp]
                }
            case "channel", "channel-tcp":
                let channel = try await ours.connect(host: host, port: Int(port)).get()
                try await channel.close()
            case "nio", "nio-mptcp":
                let channel = try await ClientBootstrap(group: group).enableMPTCP(who == "nio-mptcp")
                    .connect(host: host, port: Int(port)).get()
                try await channel.close()
            default: fatalError("there is no contender \(who)")
            }
        }
    }
}
