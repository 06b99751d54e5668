import CChanges
import Foundation
import Multipath
import Synchronization

/// From the change to the consumer, for the changes that are told at once: the loss of the only path, and the
/// first path after none. Beside it a peer that prints a line of each change. Prints a line of JSON, times in
/// nanoseconds.
enum Latency {
    struct Result: Encodable {
        var ours: [Int64] = []
        /// From the change to when its line was read; one for each line.
        var peer: [Int64] = []
        /// When each change was sent, on the clock of the calendar.
        var sent: [Int64] = []
        /// What the peer printed.
        var lines = ""
    }

    static func measure(samples: Int, peer command: [String]) async throws {
        let socket = changes_open()
        let monitor = PathMonitor()
        let first = try await monitor.currentPath()
        guard let path = first.primary, let metric = path.metric, case let gateways = path.gateways,
            let gateway = gateways.first(where: { $0.family == .ipv4 })
        else { throw Problem("there is no path here") }
        let (arrivals, arrive) = AsyncStream.makeStream(of: Int64.self)
        let consumer = Task {
            var hadPath: Bool?
            for await update in monitor.updates {
                let now = changes_now()
                // A link-local address may come late, and is no answer to a change of ours.
                if (update.primary != nil) != hadPath { arrive.yield(now) }
                hadPath = update.primary != nil
            }
        }
        // An update that never comes is to be an error, and not the end of all other figures.
        let patience = Task {
            try await Task.sleep(for: .seconds(60))
            arrive.finish()
        }
        defer { patience.cancel() }
        var arrival = arrivals.makeAsyncIterator()
        _ = await arrival.next()
        let peer = try LineClock(command)
        func change(_ number: Int, _ sent: inout Int64) throws {
            let error = changes_default_route(
                socket, Int32(number % 2), gateway.networkBytes.reduce(0) { $0 << 8 | UInt32($1) },
                Int32(path.index), metric, &sent)
            guard error == 0 else { throw Problem("error \(error) of a change") }
        }
        var sent: Int64 = 0
        // Until the peer listens, however long it takes to start: these changes are not counted.
        for _ in 0..<100 where peer.times.isEmpty {
            for number in 0..<2 {
                try change(number, &sent)
                _ = await arrival.next()
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        // The peer may be behind.
        try await Task.sleep(for: .milliseconds(500))
        let before = peer.times.count
        guard before > 0 else { throw Problem("the peer prints nothing") }
        let calendar = Int64(Date().timeIntervalSince1970 * 1e9) - changes_now()
        var result = Result()
        for number in 0..<samples {
            // By then both wait for the next change.
            try await Task.sleep(for: .milliseconds(3))
            try change(number, &sent)
            guard let arrived = await arrival.next() else {
                throw Problem("within 60 s no update came of change \(number + 1) of \(samples)")
            }
            result.ours.append(arrived - sent)
            result.sent.append(sent)
        }
        try await Task.sleep(for: .milliseconds(300))
        let heard = peer.end().dropFirst(before)
        guard heard.count == result.sent.count else {
            throw Problem("the peer printed \(heard.count) lines for \(result.sent.count) changes")
        }
        result.peer = zip(heard, result.sent).map { $0 - $1 }
        result.lines = peer.text.split(separator: "\n").dropFirst(before).joined(separator: "\n")
        result.sent = result.sent.map { $0 + calendar }
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        consumer.cancel()
    }
}

struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A program whose lines are timed as they are read.
final class LineClock: Sendable {
    private let heard = Mutex<(times: [Int64], text: String)>(([], ""))
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
                heard.withLock {
                    $0.times += Array(repeating: now, count: lines)
                    $0.text += String(decoding: buffer[..<count], as: UTF8.self)
                }
            }
            withExtendedLifetime(pipe) {}
        }.start()
    }

    /// Ends the program.
    /// - Returns: when each line was read.
    func end() -> [Int64] {
        process.terminate()
        return times
    }

    var times: [Int64] { heard.withLock { $0.times } }
    var text: String { heard.withLock { $0.text } }
}
