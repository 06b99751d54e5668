import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("Work on one connection after another")
struct ReconnectionTests {
    private struct Broken: Error, Equatable {}

    /// Connections that are numbers, and all that happens to them.
    private final class World: Sendable {
        typealias Runner = ReconnectionRunner<Int, Void, [String]>

        private struct State {
            var log: [String] = []
            var count = 0
            var observers: [Int: @Sendable (ConnectionEvent) -> Void] = [:]
            var answers: [Answer] = []
        }

        enum Answer: Sendable {
            case over(PathID)
            case failure
            /// Nothing until the attempt is cancelled; then a connection all the same.
            case late
        }

        private let state: Locked<State>

        init(_ answers: [Answer]) {
            state = Locked(State(answers: answers))
        }

        var log: [String] { state.withLock { $0.log } }

        func note(_ line: String) { state.withLock { $0.log.append(line) } }

        func tell(_ connection: Int, _ event: ConnectionEvent) {
            state.withLock { $0.observers[connection] }?(event)
        }

        @Sendable
        private func dial(_ route: ReconnectionMachine.Route) async throws -> DialedConnection<Int, Void> {
            let (number, answer) = state.withLock { state in
                defer { state.count += 1 }
                state.log.append("dial \(state.count) \(route)")
                return (state.count, state.answers.isEmpty ? .failure : state.answers.removeFirst())
            }
            let path: PathID
            switch answer {
            case .over(let other): path = other
            case .failure: throw Broken()
            case .late:
                await OneShot().wait()
                path = "late0"
            }
            return DialedConnection(
                connection: number, output: (), path: path,
                observe: { body in self.state.withLock { $0.observers[number] = body } },
                interrupt: { self.note("interrupt \(number)") }, close: { self.note("close \(number)") })
        }

        func run(attempts: Int = 3, _ body: @escaping Runner.Body) async throws -> [String] {
            var options = ReconnectionOptions()
            options.budget = ReconnectionBudget(attempts: attempts)
            options.backoff.base = .milliseconds(1)
            options.isBreak = { $0 is Broken }
            let runner = Runner(options: options, monitor: PathMonitor(), body: body, dial: dial)
            return try await runner.run([])
        }
    }

    @Test("hands its progress from call to call, and closes each connection before the next call")
    func again() async throws {
        let world = World([.over("a"), .over("b")])
        let value = try await world.run { session, progress in
            world.note("work \(session.connection) \(session.cause)")
            progress.append("\(session.connection)")
            session.madeProgress()
            return session.connection == 0 ? .reconnect : .finished
        }
        #expect(value == ["0", "1"])
        #expect(
            world.log == [
                "dial 0 any", "work 0 first", "close 0", "dial 1 any", "work 1 requested", "close 1",
            ])
    }

    @Test("opens the next connection while the lost one's work still runs, then cancels that")
    func pathLost() async throws {
        let world = World([.over("a"), .over("b")])
        let value = try await world.run { session, progress in
            guard session.connection == 0 else { return .finished }
            progress.append("half")
            world.tell(0, .viabilityChanged(isViable: false, reason: .noCarrier))
            // Ends with the task's cancellation.
            await OneShot().wait()
            #expect(session.shouldMigrate)
            world.note("left \(Task.isCancelled)")
            throw CancellationError()
        }
        #expect(value == ["half"])
        // The work may leave before its connection is interrupted, or after.
        #expect(
            world.log.filter { $0.hasPrefix("left") || $0.hasPrefix("interrupt") }.sorted() == [
                "interrupt 0", "left true",
            ])
        #expect(
            world.log.filter { !$0.hasPrefix("left") && !$0.hasPrefix("interrupt") } == [
                "dial 0 any", "dial 1 avoiding(a)", "close 0", "close 1",
            ])
    }

    @Test("lets the work on a good connection come to its own end when a better path is there")
    func betterPath() async throws {
        let world = World([.over("a"), .over("b")])
        _ = try await world.run { session, _ in
            guard session.connection == 0 else {
                world.note("work 1 \(session.cause)")
                return .finished
            }
            world.tell(0, .betterPathAvailable("b"))
            await session.waitForMigration()
            world.note("left \(Task.isCancelled)")
            return .reconnect
        }
        #expect(
            world.log == [
                "dial 0 any", "dial 1 over(b)", "left false", "close 0", "work 1 betterPath(b)",
                "close 1",
            ])
    }

    @Test("abandons the attempt when the path is back, and closes what it brings late")
    func pathBack() async throws {
        let world = World([.over("a"), .late])
        _ = try await world.run { session, progress in
            world.tell(0, .viabilityChanged(isViable: false, reason: .noCarrier))
            try await Program.wait("the attempt") { world.log.contains { $0.hasPrefix("dial 1") } }
            world.tell(0, .viabilityChanged(isViable: true, reason: nil))
            try await Program.wait("its end") { world.log.contains("close 1") }
            #expect(!session.shouldMigrate && !Task.isCancelled)
            return .finished
        }
        #expect(world.log == ["dial 0 any", "dial 1 avoiding(a)", "close 1", "close 0"])
    }

    @Test("calls again after an error that means a broken connection, and throws every other")
    func errors() async throws {
        struct Own: Error {}
        let world = World([.over("a"), .over("a")])
        await #expect(throws: Own.self) {
            try await world.run { session, _ in
                session.madeProgress()
                if session.connection == 0 { throw Broken() }
                #expect(session.cause == .failed("Broken()"))
                throw Own()
            }
        }
        #expect(world.log == ["dial 0 any", "close 0", "dial 1 any", "close 1"])
    }

    @Test("gives up when the budget is spent, with the last error")
    func budget() async throws {
        let world = World([])
        let error = await #expect(throws: ReconnectionError.self) {
            try await world.run { _, progress in .finished }
        }
        #expect(error?.underlying is Broken)
        #expect(world.log == ["dial 0 any", "dial 1 any", "dial 2 any"])
    }

    @Test("ends with its task, and leaves no connection open", arguments: ["dialing", "working", "moving"])
    func cancellation(phase: String) async throws {
        let world = World(phase == "dialing" ? [.late] : [.over("a"), .late])
        let task = Task {
            try await world.run { _, _ in
                if phase == "moving" { world.tell(0, .viabilityChanged(isViable: false, reason: .down)) }
                world.note("working")
                await OneShot().wait()
                world.note("left")
                return .reconnect
            }
        }
        try await Program.wait("the phase") {
            switch phase {
            case "dialing": world.log == ["dial 0 any"]
            case "working": world.log.contains("working")
            default: world.log.contains { $0.hasPrefix("dial 1") } && world.log.contains("working")
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let log = world.log
        let dialed = log.filter { $0.hasPrefix("dial") }.count
        #expect(log.filter { $0.hasPrefix("close") }.count == dialed)
        #expect(log.contains("left") == (phase != "dialing"))
    }

    @Test("gives a value that was ready when its task was cancelled")
    func finishedInTime() async throws {
        let world = World([.over("a")])
        let task = Task {
            try await world.run { _, progress in
                world.note("working")
                await OneShot().wait()
                progress = ["done"]
                return .finished
            }
        }
        try await Program.wait("the work") { world.log.contains("working") }
        task.cancel()
        #expect(try await task.value == ["done"])
    }

    @Test("wakes a wait that is cancelled before, while and after it begins")
    func oneShot() async {
        for _ in 0..<200 {
            let shot = OneShot()
            let task = Task { await shot.wait() }
            if Bool.random() { await Task.yield() }
            task.cancel()
            await task.value
            shot.fire()
            await shot.wait()
            #expect(shot.isFired)
        }
    }
}
