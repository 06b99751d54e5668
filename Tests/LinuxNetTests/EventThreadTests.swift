import CLinux
import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The event thread")
struct EventThreadTests {
    /// A pipe whose ends close when it goes.
    private final class TestPipe: Sendable {
        let read: CInt
        let write: CInt

        init() {
            var ends: [CInt] = [0, 0]
            precondition(pipe(&ends) == 0)
            (read, write) = (ends[0], ends[1])
        }

        deinit {
            close(read)
            close(write)
        }
    }

    /// Two connected sockets that close when it goes.
    private final class LocalPair: Sendable {
        let one: CInt
        let other: CInt

        init() throws {
            var ends: [CInt] = [0, 0]
            try systemCall("socketpair") { socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) }
            (one, other) = (ends[0], ends[1])
        }

        deinit {
            close(one)
            close(other)
        }
    }

    /// Runs on the event thread and hands out what the body gives.
    private func onThread<Value: Sendable>(
        _ body: @escaping @Sendable (CheckedContinuation<Value, Never>) -> Void
    ) async -> Value {
        await withCheckedContinuation { continuation in EventThread.shared.submit { body(continuation) } }
    }

    @Test("runs timers in the order of their deadlines, not of their making")
    func timers() async {
        let order = await onThread { (continuation: CheckedContinuation<[Int], Never>) in
            var order: [Int] = []
            let start = MonotonicTime.now
            for (position, delay) in [30, 10, 20].enumerated() {
                _ = EventThread.shared.schedule(at: start.advanced(by: .milliseconds(delay))) {
                    order.append(position)
                    if order.count == 3 { continuation.resume(returning: order) }
                }
            }
        }
        #expect(order == [1, 2, 0])
    }

    @Test("does not run a timer that was cancelled")
    func cancelledTimer() async {
        let ran = await onThread { (continuation: CheckedContinuation<Bool, Never>) in
            var ran = false
            let now = MonotonicTime.now
            let token = EventThread.shared.schedule(at: now.advanced(by: .milliseconds(5))) { ran = true }
            EventThread.shared.cancelTimer(token)
            _ = EventThread.shared.schedule(at: now.advanced(by: .milliseconds(20))) {
                continuation.resume(returning: ran)
            }
        }
        #expect(!ran)
    }

    @Test("tells when a descriptor becomes readable")
    func readiness() async {
        let pipe = TestPipe()
        async let ready = EventThread.shared.ready(pipe.read, for: .readable)
        _ = write(pipe.write, "x", 1)
        #expect(await ready?.contains(.readable) == true)
    }

    @Test("tells all that wait for the same descriptor, each what was asked for")
    func sharedDescriptor() async throws {
        let socket = try LocalPair()
        async let first = EventThread.shared.ready(socket.one, for: .readable)
        async let second = EventThread.shared.ready(socket.one, for: .readable)
        async let third = EventThread.shared.ready(socket.one, for: .writable)
        // That it can be written to shows that all three are waiting, or have waited: waits begin in order.
        #expect(await third == .writable)
        _ = write(socket.other, "x", 1)
        #expect(await [first, second].map { $0?.contains(.readable) } == [true, true])
        // None of them left anything behind that would make the next one wait for ever.
        #expect(await EventThread.shared.ready(socket.one, for: .readable)?.contains(.readable) == true)
    }

    @Test("gives up one wait for a descriptor, and goes on with another")
    func sharedCancellation() async throws {
        let socket = try LocalPair()
        let given = Task { await EventThread.shared.ready(socket.one, for: .readable) }
        let kept = Task { await EventThread.shared.ready(socket.one, for: .readable) }
        // Whichever of the two came first.
        given.cancel()
        #expect(await given.value == nil)
        _ = write(socket.other, "x", 1)
        #expect(await kept.value?.contains(.readable) == true)
    }

    @Test(
        "keeps the order of timers, and of those for one moment the order of their making, when some are cancelled"
    )
    func cancelledTimers() async {
        let order = await onThread { (continuation: CheckedContinuation<[Int], Never>) in
            var order: [Int] = []
            let start = MonotonicTime.now
            var tokens: [EventThread.Token] = []
            for (position, delay) in [6, 2, 4, 2, 6, 2].enumerated() {
                tokens.append(
                    EventThread.shared.schedule(at: start.advanced(by: .milliseconds(delay))) {
                        order.append(position)
                        if position == 4 { continuation.resume(returning: order) }
                    })
            }
            for cancelled in [1, 2, 1] { EventThread.shared.cancelTimer(tokens[cancelled]) }
        }
        #expect(order == [3, 5, 0, 4])
    }

    @Test("tells when the last reader of a pipe has gone")
    func closedReader() async {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        async let ready = EventThread.shared.ready(writer, for: [])
        close(reader)
        #expect(await ready?.contains(.error) == true)
        close(writer)
    }

    @Test("gives a wait up when its task is cancelled")
    func cancelledWait() async {
        let pipe = TestPipe()
        let task = Task { await EventThread.shared.ready(pipe.read, for: .readable) }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test("runs what is submitted in order")
    func order() async {
        let order = Locked<[Int]>([])
        for number in 0..<100 { EventThread.shared.submit { order.withLock { $0.append(number) } } }
        let all = await onThread { (continuation: CheckedContinuation<Bool, Never>) in
            continuation.resume(returning: true)
        }
        #expect(all)
        #expect(order.withLock { $0 } == Array(0..<100))
    }

    @Test("answers a blocking call's caller at once when it is cancelled")
    func cancelledBlockingCall() async {
        let pipe = TestPipe()
        let task = Task {
            try? await BlockingCalls.resolver.run { () -> Int in
                var byte: UInt8 = 0
                return read(pipe.read, &byte, 1)
            }
        }
        task.cancel()
        #expect(await task.value == nil)
        // Lets the thread go.
        _ = write(pipe.write, "x", 1)
    }

    @Test("is watched where a debug build is asked to: what holds it is told, with its stack")
    func watchdog() async throws {
        let probe = Program.product("subflow-probe")
        let silent = try await Program.run(["env", "-u", "MULTIPATH_WATCHDOG", probe, "stall"])
        #expect(silent == Program.Result(status: 0, output: .init("done\n".utf8), errors: ""))
        let watched = try await Program.run([probe, "stall"], environment: ["MULTIPATH_WATCHDOG": "1"])
        #expect(watched.outputText == "done\n")
        #expect(
            watched.errors.contains("watchdog: the thread multipath has been held for "), "\(watched.errors)")
        #expect(watched.errors.contains("usleep"), "\(watched.errors)")
    }
}
