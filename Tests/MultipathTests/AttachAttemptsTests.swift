import LinuxNet
import PathBroker
import PathCore
import TestSupport
import Testing

@testable import Multipath

@Suite("A connection that mpathd is to take")
struct AttachAttemptsTests {
    private final class Member: SteeringMember, @unchecked Sendable {
        let token: ConnectionToken
        let loans = Locked<[MonotonicTime]>([])
        /// Keeps the loans that it is to give.
        let isSlow: Bool
        /// On the event thread.
        var waiting: [(CInt) -> Void] = []

        init(_ token: UInt32 = 7, isSlow: Bool = false) {
            self.token = ConnectionToken(token)
            self.isSlow = isSlow
        }

        func ingest(_ event: SubflowEvent) {}
        func ingest(_ verdict: PathVerdict) {}
        func ingest(_ outcome: Result<SubflowOutcome, SystemError>, of action: SubflowAction) {}
        func ingest(_ limit: ControlLimit) {}

        func withDescriptor(_ body: @escaping (CInt) -> Void) {
            loans.withLock { $0.append(.now) }
            if isSlow { waiting.append(body) } else { body(0) }
        }
    }

    @Test("is offered less and less often while the daemon is away")
    func away() async throws {
        let folder = try TemporaryFolder()
        let thread = EventThread(name: "attempts")
        let registry = SteeringRegistry(thread, DeferredStarts(thread), brokerPath: folder.file("none.sock"))
        let member = Member()
        try thread.perform { registry.add(member, isAlone: true) }
        try await Program.wait("four attempts", within: .seconds(60)) {
            member.loans.withLock { $0.count } >= 4
        }
        let loans = member.loans.withLock { $0 }
        // After 250, 500 and 1,000 ms.
        #expect(loans[0].duration(to: loans[3]) >= .milliseconds(1_700), "\(loans)")
        try thread.perform { registry.remove(member) }
    }

    @Test("is not offered any more where its descriptor comes when it has ended")
    func lateLoan() async throws {
        let folder = try TemporaryFolder()
        let listener = try LocalPackets.listen(at: folder.file("idle.sock"), mode: 0o600)
        let thread = EventThread(name: "loans")
        let registry = SteeringRegistry(
            thread, DeferredStarts(thread), brokerPath: folder.file("idle.sock"))
        let (ended, other) = (Member(7, isSlow: true), Member(8))
        try thread.perform { registry.add(ended, isAlone: true) }
        let socket = try LocalPackets.accept(on: listener)
        let welcome = BrokerWelcome(
            namespace: try SocketOption.namespaceCookie(), boot: "b", limits: BrokerLimits())
        try LocalPackets.send(BrokerMessage.welcome(id: 1, welcome).packet, over: socket)
        // Welcomed, it asks again.
        try await Program.wait("a loan", within: .seconds(60)) { ended.loans.withLock { $0.count } >= 2 }
        try thread.perform {
            registry.remove(ended)
            for body in ended.waiting { body(0) }
            registry.add(other, isAlone: true)
        }
        var tokens: [ConnectionToken] = []
        while tokens.isEmpty, LocalPackets.wait(for: socket, until: .now.advanced(by: .seconds(20))) {
            guard let packet = try LocalPackets.receive(from: socket, limit: 1_024, waits: false) else {
                break
            }
            if case .success(.attach(let token)) = BrokerRequest.read(packet.bytes).1 {
                tokens.append(token)
            }
        }
        #expect(tokens == [ConnectionToken(8)])
        try thread.perform { registry.remove(other) }
    }
}
