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
    /// Those that end after their answer.
    private let closing = Locked<[SoakConnection]>([])

    init(_ options: Options) { self.options = options }

    /// - Returns: whether nothing grew, and nothing was lost.
    func run() async throws -> Bool {
        ProcessHoldings.raiseDescriptorLimit()
        try await open()
        let begun = MonotonicTime.now
        say(
            "soak: \(options.connections) connections, a fault every \(options.gap) s, for \(options.seconds) s"
        )
        let faults = Faults(options.gap, seen)
        // What is made when first needed, and what the allocator keeps, is no growth.
        var start: ProcessHoldings?
        var filled: ProcessHoldings?
        var due = options.seconds / 10
        while begun.seconds < options.seconds {
            try await faults.next()
            if faults.count.isMultiple(of: 5) { try await renew() }
            try await openAgain()
            guard begun.seconds >= due else { continue }
            let held = try await count(begun, faults)
            start = start ?? held
            if hasFilled { filled = filled ?? held }
            due = begun.seconds + 60
        }
        let end = try await count(begun, faults)
        let growth = end.growth(since: start ?? end, inMemory: filled)
        for line in growth { say("soak: grown: \(line)") }
        let isWell = seen.withLock { seen in
            say(
                "soak: \(faults.count) faults, \(seen.answers) answers, \(seen.wrong) wrong, \(seen.lost) connections lost, "
                    + "\(seen.unconnected) not made, "
                    + "\(seen.reopened) opened again, \(seen.moves) moves, the slowest answer \(seen.slowest)"
            )
            say(
                "soak: over MPTCP the slowest answer \(seen.slowestSteered), \(seen.late) later than \(SoakConnection.patience)"
            )
            say(
                "soak: \(seen.plain) connections were of plain TCP; cut off by a fault, and opened again: \(seen.cutOff.plain) of "
                    + "those, and \(seen.cutOff.young) of MPTCP before their first acknowledgement"
            )
            return seen.wrong == 0 && seen.lost == 0 && seen.unconnected == 0 && seen.late == 0
        }
        let stuck = (connections.withLock { $0 } + closing.withLock { $0 }).filter {
            $0.waits > SoakConnection.patience
        }
        if !stuck.isEmpty {
            say("soak: \(stuck.count) connections have waited for more than \(SoakConnection.patience)")
            for connection in stuck.prefix(5) { say("\(connection)") }
        }
        if filled == nil { say("soak: too few moves to judge the memory by") }
        return isWell && growth.isEmpty && stuck.isEmpty && filled != nil
    }

    /// Whether what each connection keeps of its past has reached its limit: the last moves, which are most of it. Before
    /// that the memory grows because of them, by some 5 KiB a connection.
    private var hasFilled: Bool {
        seen.withLock { $0.moves } >= options.connections * TransferReport.mostMoves
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
        let connection = try await connect(number)
        connections.withLock { $0.append(connection) }
        let interval = Duration.seconds(options.interval)
        let delay = interval / options.connections * (number % options.connections)
        Task { await connection.run(interval, after: delay) }
    }

    /// Connects, once more where that failed: another failure ends the soak.
    private func connect(_ number: Int) async throws -> SoakConnection {
        do {
            return try await SoakConnection(options, number, seen)
        } catch {
            say("soak: \(error)")
            seen.withLock { $0.unconnected += 1 }
            return try await SoakConnection(options, number, seen)
        }
    }

    /// Closes the oldest of a hundred, and opens as many.
    private func renew() async throws {
        let count = max(1, options.connections / 100)
        let oldest = connections.withLock { connections in
            defer { connections.removeFirst(count) }
            return Array(connections.prefix(count))
        }
        for connection in oldest { connection.close() }
        closing.withLock { closing in
            closing.removeAll { $0.waits == .zero }
            closing += oldest
        }
        for number in 0..<count { try await add(number) }
        seen.withLock { $0.reopened += count }
    }

    /// Opens those connections again that nothing could keep, once the library has said so.
    private func openAgain() async throws {
        for connection in closing.withLock({ $0 }) where connection.isOver { connection.abort() }
        let ended = connections.withLock { connections in
            let ended = connections.filter(\.isOver)
            connections.removeAll { connection in ended.contains { $0 === connection } }
            return ended
        }
        for connection in ended {
            let isPlain = connection.isPlainTCP
            seen.withLock { seen in
                if isPlain { seen.cutOff.plain += 1 } else { seen.cutOff.young += 1 }
            }
            connection.abort()
            try await add(connection.number)
        }
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

/// A line at once: print keeps it back when it isn't for a terminal.
func say(_ line: String) {
    Array("\(line)\n".utf8).withUnsafeBytes { try? StandardStream.output.write($0) }
}
