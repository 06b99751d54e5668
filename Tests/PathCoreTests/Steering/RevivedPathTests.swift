import SteeringSimulation
import Testing

@testable import PathCore

/// A verdict may be wrong, and another path that costs money takes a round trip to be joined: time to learn better.
@Suite("A path that failed in silence")
struct RevivedPathTests {
    /// What the machine wants when cellular is joined, which was ordered because Wi-Fi's stream fell silent.
    private struct Course {
        /// Before a sample has shown anything, and with it.
        var blindly: [SteeringAction] = []
        var knowingly: [SteeringAction] = []
        /// Whether a sample was asked for at once.
        var looks = false
    }

    /// - Parameter later: how many bytes came in after the verdict, which no sample has seen.
    private static func course(later: UInt64) throws -> Course {
        var machine = HandFed.machine()
        var received: UInt64 = 0
        func look(_ time: Int64, since: Int64) -> [SteeringAction] {
            machine.sample(
                HandFed.download(received: received, early: 0, since: .milliseconds(since)), at: at(time))
                + machine.timeReached(at(time))
        }
        for time in stride(from: Int64(10), through: 1000, by: 10) {
            received += 10_000
            _ = look(time, since: 0)
        }
        // No probe is answered.
        let failed = (1001...1300).first { time in
            look(time, since: time - 1000).contains { if case .tell(.failed) = $0 { true } else { false } }
        }
        let joined = try #require(failed) + 40
        received += later
        let local = IPEndpoint(SimulatedPath.cellular().address, port: 40_002)
        var course = Course()
        course.blindly = machine.event(
            .subflowEstablished(
                HandFed.token, SubflowFacts(local: local, remote: HandFed.remote), error: nil), at: at(joined)
        )
        course.looks = machine.agenda.needsSample(at: at(joined))
        var sample = HandFed.download(received: received, early: 0, since: .milliseconds(later > 0 ? 5 : 400))
        var second = SubflowSample(id: 1)
        (second.local, second.remote, second.state) = (local, HandFed.remote, .established)
        sample.subflows.append(second)
        course.knowingly = machine.sample(sample, at: at(joined))
        return course
    }

    private static func leaves(_ actions: [SteeringAction]) -> Bool {
        actions.contains { action in
            switch action {
            case .tell(.left), .tell(.moved), .perform(.destroy), .perform(.reset), .perform(.withdraw): true
            default: false
            }
        }
    }

    @Test("is not left before it was looked at once more, when another path is joined at last")
    func looks() throws {
        let course = try Self.course(later: 0)
        #expect(course.looks && !Self.leaves(course.blindly))
        #expect(Self.leaves(course.knowingly))
    }

    @Test("is not left where something has come in since")
    func revives() throws {
        let course = try Self.course(later: 10_000)
        #expect(!Self.leaves(course.blindly) && !Self.leaves(course.knowingly))
        #expect(course.knowingly.contains(.tell(.answered("wlan0"))))
    }
}
