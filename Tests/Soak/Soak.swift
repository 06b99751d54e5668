import Foundation
import LabNet
import LinuxNet
import Multipath
import NetworkLab

/// Runs the connections and the faults, and counts.
final class Soak: Sendable {
    private let options: Options
    private let seen = Locked(Seen())
    private let connections = Locked<[SoakConnection]>([])

    init(_ options: Options) { self.options = options }

    /// - Returns: whether nothing grew, and nothing was lost.
    func run() async throws -> Bool {
        ProcessHoldings.raiseDescriptorLimit()
        try await open()
        let begun = MonotonicTime.now
        say(
            "soak: \(options.connections) connections, a fault every \(options.gap) s, for \(options.seconds) s"
        )
        let faults = Faults(options.gap)
        // What is made when first needed, and what the allocator keeps, is no growth.
        let warm = options.seconds / 10
        var start: ProcessHoldings?
        var due = warm
        while begun.seconds < options.seconds {
            try await faults.next()
            if faults.count.isMultiple(of: 5) { try await renew() }
            guard begun.seconds >= due else { continue }
            let held = try await count(begun, faults)
            start = start ?? held
            due = begun.seconds + 60
        }
        let end = try await count(begun, faults)
        let growth = end.growth(since: start ?? end)
        for line in growth { say("soak: grown: \(line)") }
        let isWell = seen.withLock { seen in
            say(
                "soak: \(faults.count) faults, \(seen.answers) answers, \(seen.wrong) wrong, \(seen.lost) connections lost, "
                    + "\(seen.reopened) opened again, \(seen.moves) moves, the slowest answer \(seen.slowest)"
            )
            return seen.wrong == 0 && seen.lost == 0
        }
        let stuck = connections.withLock { $0 }.filter { $0.waits > .seconds(30) }
        if !stuck.isEmpty {
            say("soak: \(stuck.count) connections have waited for more than 30 s")
            for connection in stuck.prefix(5) { say("\(connection)") }
        }
        return isWell && growth.isEmpty && stuck.isEmpty
    }

    private func open() async throws {
        var number = 0
        while number < options.connections {
            let next = number..<min(number + 20, options.connections)
            number = next.upperBound
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in next { group.addTask { try await self.add(number) } }
                try await group.waitForAll()
            }
        }
    }

    private func add(_ number: Int) async throws {
        let connection = try await SoakConnection(options, number, seen)
        connections.withLock { $0.append(connection) }
        let interval = Duration.seconds(options.interval)
        let delay = interval / options.connections * (number % options.connections)
        Task { await connection.run(interval, after: delay) }
    }

    /// Closes the oldest of a hundred, and opens as many.
    private func renew() async throws {
        let count = max(1, options.connections / 100)
        let oldest = connections.withLock { connections in
            defer { connections.removeFirst(count) }
            return Array(connections.prefix(count))
        }
        for connection in oldest { connection.close() }
        for number in 0..<count { try await add(number) }
        seen.withLock { $0.reopened += count }
    }

    /// Counts while no path is bad, once nothing changes any more.
    private func count(_ begun: MonotonicTime, _ faults: Faults) async throws -> ProcessHoldings {
        // Answers have come, closed connections have closed.
        try await Task.sleep(for: .seconds(options.interval + 3))
        var held = ProcessHoldings()
        let deadline = MonotonicTime.now.advanced(by: .seconds(30))
        while MonotonicTime.now < deadline {
            try await Task.sleep(for: .seconds(1))
            let again = ProcessHoldings()
            defer { held = again }
            if (again.descriptors, again.threads) == (held.descriptors, held.threads) { break }
        }
        let (answers, moves) = seen.withLock { ($0.answers, $0.moves) }
        say(
            "soak: \(Int(begun.seconds)) s, \(faults.count) faults, \(answers) answers, \(moves) moves: \(held)"
        )
        return held
    }
}

extension MonotonicTime {
    /// How long ago it was.
    fileprivate var seconds: Double { duration(to: .now) / .seconds(1) }
}

/// One fault after the other, each on one link, and over before the next.
final class Faults: @unchecked Sendable {
    private static let kinds = [
        ("blackhole", "blackhole=none"), ("blackhole=up", "blackhole=none"),
        ("blackhole=down", "blackhole=none"),
        ("down", "up"), ("carrier off", "carrier on"), ("address off", "address on"),
        ("route off", "route on"),
        ("loss=30%", "loss=0%"), ("rtt=400ms", "rtt=30ms"), ("nat forget", "nat forget"),
        ("renumber", "renumber"),
    ]

    private let gap: Double
    private var random = SystemRandomNumberGenerator()
    private(set) var count = 0

    init(_ gap: Double) { self.gap = gap }

    func next() async throws {
        let begun = MonotonicTime.now
        let link = Bool.random(using: &random) ? "wlan0" : "wwan0"
        let (begin, end) = Self.kinds[count % Self.kinds.count]
        try LabControl.set(link, begin)
        try await Task.sleep(for: .seconds(gap * Double.random(in: 0.4...0.6, using: &random)))
        try LabControl.set(link, end)
        count += 1
        let rest = MonotonicTime.now.duration(to: begun.advanced(by: .seconds(gap)))
        if rest > .zero { try await Task.sleep(for: rest) }
    }
}

/// A line at once: print keeps it back when it isn't for a terminal.
func say(_ line: String) {
    Array("\(line)\n".utf8).withUnsafeBytes { try? StandardStream.output.write($0) }
}
