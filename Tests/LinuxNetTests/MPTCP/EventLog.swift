import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

extension IPEndpoint {
    init(_ text: String, _ port: UInt16) { self.init(IPAddress(text)!, port: port) }
}

/// The events of this process's namespace, as they come.
final class EventLog: Sendable {
    private let events = Locked<[SubflowEvent]>([])
    private let source = Locked<UncheckedSource?>(nil)

    private struct UncheckedSource: @unchecked Sendable { let events: SubflowEvents }

    init() throws {
        let availability = Locked<SubflowEvents.Availability?>(nil)
        try EventThread.shared.perform { [self] in
            let events = SubflowEvents(on: .shared)
            let found = events.start { [self] event in self.events.withLock { $0.append(event) } }
            availability.withLock { $0 = found }
            source.withLock { $0 = UncheckedSource(events: events) }
        }
        try #require(availability.withLock { $0 } == .listening)
    }

    func stop() throws {
        try EventThread.shared.perform { [self] in source.withLock { $0?.events.stop() } }
    }

    /// What there is of a connection so far.
    func events(of token: ConnectionToken) -> [SubflowEvent] {
        events.withLock { $0.filter { $0.token == token } }
    }

    func wait<Value>(_ what: String, _ find: (SubflowEvent) -> Value?) throws -> Value {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while true {
            let seen = events.withLock { $0 }
            for event in seen { if let value = find(event) { return value } }
            guard MonotonicTime.now < deadline else {
                throw Program.TimedOut(
                    description:
                        "gave up waiting for \(what); seen: \(seen.count), at the end \(seen.suffix(20))")
            }
            usleep(1_000)
        }
    }
}
