import CChanges
import Foundation
import Multipath
import Synchronization

/// From the change to the consumer, for the changes that are told at once: the loss of the only path, and the
/// first path after none. Beside it `ip monitor`, which hears of the same changes.
enum Latency {
    static func measure(samples: Int) async throws {
        let socket = changes_open()
        let monitor = PathMonitor()
        let first = try await monitor.currentPath()
        guard let path = first.primary, let metric = path.metric, case let gateways = path.gateways,
            let gateway = gateways.first(where: { $0.family == .ipv4 })
        else { return print("latency: there is no path here") }
        let (arrivals, arrive) = AsyncStream.makeStream(of: Int64.self)
        let consumer = Task {
            for await _ in monitor.updates { arrive.yield(changes_now()) }
        }
        var arrival = arrivals.makeAsyncIterator()
        _ = await arrival.next()
        let peer = try LineClock(["ip", "-4", "monitor", "route"])
        try await Task.sleep(for: .milliseconds(300))
        var (ours, sentTimes): ([Int64], [Int64]) = ([], [])
        for number in 0..<samples {
            // Everybody waits again.
            try await Task.sleep(for: .milliseconds(3))
            var sent: Int64 = 0
            let error = changes_default_route(
                socket, Int32(number % 2), gateway.networkBytes.reduce(0) { $0 << 8 | UInt32($1) },
                Int32(path.index), metric, &sent)
            guard error == 0 else { return print("latency: error \(error) of a change") }
            guard let arrived = await arrival.next() else { break }
            ours.append(arrived - sent)
            sentTimes.append(sent)
        }
        try await Task.sleep(for: .milliseconds(300))
        let heard = peer.end()
        report("path monitor, change to consumer", ours)
        if heard.count == sentTimes.count {
            report("ip monitor, change to line read", zip(heard, sentTimes).map { $0 - $1 })
        } else {
            print("ip monitor printed \(heard.count) lines for \(sentTimes.count) changes")
        }
        consumer.cancel()
    }

    private static func report(_ name: String, _ times: [Int64]) {
        let sorted = times.sorted()
        func text(_ part: Double) -> String {
            "\(Double(sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))] / 100) / 10)"
        }
        print(
            "\(name): p50 \(text(0.5)) µs, p99 \(text(0.99)) µs, max \(text(1)) µs (\(sorted.count) changes)")
    }
}

/// A program whose lines are timed as they are read.
final class LineClock: Sendable {
    private let times = Mutex<[Int64]>([])
    private let process: Process

    init(_ command: [String]) throws {
        let pipe = Pipe()
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = pipe
        try process.run()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        Thread { [self] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                let now = changes_now()
                guard count > 0 else { break }
                let lines = buffer[..<count].count { $0 == UInt8(ascii: "\n") }
                times.withLock { $0 += Array(repeating: now, count: lines) }
            }
            withExtendedLifetime(pipe) {}
        }.start()
    }

    /// Ends the program.
    /// - Returns: when each line was read.
    func end() -> [Int64] {
        process.terminate()
        return times.withLock { $0 }
    }
}
