import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A connection that has just come about")
struct NewcomersTests {
    private final class Connection: Newcomer {
        let takenOn = Locked<[MonotonicTime]>([])

        func takeOn() {
            EventThread.shared.checkIsolated()
            takenOn.withLock { $0.append(.now) }
        }

        var count: Int { takenOn.withLock { $0.count } }
    }

    private let newcomers = Newcomers()

    /// Waits until the event thread has done all that it was given.
    private func settle() async {
        await withCheckedContinuation { done in EventThread.shared.submit { done.resume() } }
    }

    @Test("is followed once 20 ms have passed, whether others came before or with it")
    func pause() async throws {
        for _ in 0..<3 {
            let connections = [Connection(), Connection()]
            let begun = MonotonicTime.now
            for connection in connections { newcomers.add(connection) }
            try await Program.wait("both") { connections.allSatisfy { $0.count == 1 } }
            for connection in connections {
                #expect(begun.duration(to: connection.takenOn.withLock { $0[0] }) >= Newcomers.pause)
                #expect(!newcomers.remove(connection))
            }
        }
    }

    @Test("is followed at once where there is something to see, and then no more")
    func hurry() async throws {
        // The clock's turn comes for one that was added before, and after.
        let (first, other, last) = (Connection(), Connection(), Connection())
        newcomers.add(first)
        newcomers.add(other)
        EventThread.shared.submit { [newcomers] in newcomers.takeOn { $0 === first } }
        await settle()
        #expect(first.count == 1)
        newcomers.hurry()
        await settle()
        #expect(other.count == 1)
        newcomers.add(last)
        try await Program.wait("the last") { last.count == 1 }
        #expect([first, other].map(\.count) == [1, 1])
    }

    @Test("is never followed if it ends before")
    func ends() async throws {
        let (short, long) = (Connection(), Connection())
        newcomers.add(short)
        #expect(newcomers.remove(short))
        #expect(!newcomers.remove(short))
        newcomers.add(long)
        try await Program.wait("the other") { long.count == 1 }
        newcomers.hurry()
        await settle()
        #expect(short.count == 0)
    }
}
