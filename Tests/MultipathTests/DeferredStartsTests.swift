import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A connection that has just come about")
struct DeferredStartsTests {
    private final class Connection: DeferredStart {
        let token: ConnectionToken?
        let startedAt = Locked<[MonotonicTime]>([])

        init(_ token: UInt32? = nil) { self.token = token.map { ConnectionToken($0) } }

        func startFollowing() {
            EventThread.shared.checkIsolated()
            startedAt.withLock { $0.append(.now) }
        }

        var count: Int { startedAt.withLock { $0.count } }
    }

    private let starts = DeferredStarts(.shared)

    /// Waits until the event thread has done all that it was given.
    private func settle() async {
        await withCheckedContinuation { done in EventThread.shared.submit { done.resume() } }
    }

    @Test("is followed once 20 ms have passed, whether others came before or with it")
    func pause() async throws {
        for _ in 0..<3 {
            let connections = [Connection(), Connection()]
            let begun = MonotonicTime.now
            for connection in connections { starts.add(connection) }
            try await Program.wait("both") { connections.allSatisfy { $0.count == 1 } }
            for connection in connections {
                #expect(begun.duration(to: connection.startedAt.withLock { $0[0] }) >= DeferredStarts.pause)
                #expect(!starts.remove(connection))
            }
        }
    }

    @Test("is followed at once where there is something to see, and not again")
    func hurry() async throws {
        // The clock's turn comes for one that was added before, and after.
        let (first, other, last) = (Connection(1), Connection(2), Connection())
        starts.add(first)
        starts.add(other)
        EventThread.shared.submit { [starts] in starts.start(ConnectionToken(1)) }
        await settle()
        #expect(first.count == 1)
        starts.hurry()
        await settle()
        #expect(other.count == 1)
        starts.add(last)
        try await Program.wait("the last") { last.count == 1 }
        #expect([first, other].map(\.count) == [1, 1])
    }

    @Test("is never followed if it ends before")
    func ends() async throws {
        let (short, long) = (Connection(), Connection())
        starts.add(short)
        #expect(starts.remove(short))
        #expect(!starts.remove(short))
        starts.add(long)
        try await Program.wait("the other") { long.count == 1 }
        starts.hurry()
        await settle()
        #expect(short.count == 0)
    }
}
