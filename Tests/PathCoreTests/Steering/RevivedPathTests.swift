import SteeringSimulation
import Testing

@testable import PathCore

/// A verdict may be wrong, and another path that costs money takes a round trip to be joined: time to learn better.
@Suite("A path that failed in silence")
struct RevivedPathTests {
    /// A download whose Wi-Fi was judged, and cellular is being joined, to carry.
    private struct Judged {
        var machine: SteeringMachine
        var received: UInt64 = 0
        var verdict: Int64 = 0
        static let local = IPEndpoint(SimulatedPath.cellular().address, port: 40_002)

        init() throws {
            machine = HandFed.machine()
            for time in stride(from: Int64(10), through: 1000, by: 10) {
                received += 10_000
                _ = look(time, since: 0)
            }
            // No probe is answered.
            for time in Int64(1001)...1300 where verdict == 0 {
                let failed = look(time, since: time - 1000).contains {
                    if case .tell(.failed) = $0 { true } else { false }
                }
                if failed { verdict = time }
            }
            try #require(verdict > 0)
            _ = look(verdict + 1, since: verdict - 999, joining: .synSent)
        }

        /// - Parameter since: how long ago bytes came in over Wi-Fi, in milliseconds.
        mutating func look(
            _ time: Int64, since: Int64, joining state: SubflowSample.State? = nil
        ) -> [SteeringAction] {
            var sample = HandFed.download(received: received, early: 0, since: .milliseconds(since))
            if let state {
                var second = SubflowSample(id: 1)
                (second.local, second.remote, second.state) = (Self.local, HandFed.remote, state)
                sample.subflows.append(second)
            }
            return machine.sample(sample, at: at(time)) + machine.timeReached(at(time))
        }
    }

    /// What the machine wants when cellular is joined.
    private struct Course {
        /// Before a sample has shown anything, and with it.
        var blindly: [SteeringAction] = []
        var knowingly: [SteeringAction] = []
        /// Whether a sample was asked for at once.
        var looks = false
    }

    /// - Parameter later: how many bytes came in after the verdict, which no sample has seen.
    private static func course(later: UInt64) throws -> Course {
        var judged = try Judged()
        // Within the time in which a wake-up is not late.
        let joined = judged.verdict + 6
        #expect(!judged.machine.agenda.needsSample(at: at(joined)))
        judged.received += later
        var course = Course()
        let facts = SubflowFacts(local: Judged.local, remote: HandFed.remote)
        course.blindly = judged.machine.event(
            .subflowEstablished(HandFed.token, facts, error: nil), at: at(joined))
        course.looks = judged.machine.agenda.needsSample(at: at(joined))
        course.knowingly = judged.look(
            joined, since: later > 0 ? 5 : joined - 1000, joining: .established)
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

    @Test("is not left where something comes in again")
    func revives() throws {
        let course = try Self.course(later: 10_000)
        #expect(course.looks && !Self.leaves(course.blindly) && !Self.leaves(course.knowingly))
        #expect(course.knowingly.contains(.tell(.answered("wlan0"))))
    }

    /// What the machine orders in the 60 ms after the verdict, looking only when it wants to.
    ///
    /// - Parameters:
    ///   - heard: when bytes come in again over Wi-Fi, in milliseconds since the verdict.
    ///   - joined: when cellular's handshake is complete, likewise.
    private static func orders(heard: Set<Int64>, joined: Int64? = nil) throws -> [SubflowAction] {
        var judged = try Judged()
        var actions: [SteeringAction] = []
        var heardAt: Int64 = 1000
        var state = SubflowSample.State.synSent
        for pause in Int64(2)...60 {
            let time = judged.verdict + pause
            if heard.contains(pause) { (heardAt, judged.received) = (time, judged.received + 1000) }
            if pause == joined {
                state = .established
                let facts = SubflowFacts(local: Judged.local, remote: HandFed.remote)
                actions += judged.machine.event(
                    .subflowEstablished(HandFed.token, facts, error: nil), at: at(time))
            }
            actions +=
                judged.machine.agenda.needsSample(at: at(time))
                ? judged.look(time, since: time - heardAt, joining: state)
                : judged.machine.timeReached(at(time))
        }
        return actions.compactMap { if case .perform(let order) = $0 { order } else { nil } }
    }

    @Test("has the handshake called off that was to replace it when it works again, for one that stands by")
    func calledOff() throws {
        let address = SubflowAction.LocalAddress(Judged.local.address, id: 1, interface: 4)
        #expect(
            try Self.orders(heard: Set(10...60)) == [
                .destroy(local: Judged.local, remote: HandFed.remote),
                .create(address, isBackup: true, remote: HandFed.remote),
            ])
    }

    @Test("is replaced where only what was late comes in")
    func late() throws {
        #expect(try Self.orders(heard: [10]).isEmpty)
        #expect(
            try Self.orders(heard: [10], joined: 50) == [
                .reset(local: HandFed.local, remote: HandFed.remote, interface: 3)
            ])
    }

    /// Wi-Fi answers each question and brings data, and takes none of ours after the first second.
    ///
    /// - Returns: what was told of, and when, in milliseconds.
    private static func stuck(hasCellular: Bool, until end: Int64) -> [(time: Int64, event: SteeringEvent)] {
        var machine = HandFed.machine(hasCellular: hasCellular)
        let cellular = IPEndpoint(SimulatedPath.cellular().address, port: 40_002)
        var (received, opensAt) = (UInt64(0), Int64?.none)
        var answers: [(time: Int64, path: PathKey)] = []
        var events: [(Int64, SteeringEvent)] = []
        for time in 1...end {
            received += 1000
            var sample = HandFed.download(received: received, early: 0, since: .zero)
            if time > 1000 {
                sample.connection?.writeSequence += 1000
                sample.subflows[0].unacknowledged = 1
                sample.subflows[0].sinceDataSent = .milliseconds(time - 1000)
                sample.subflows[0].sinceAcknowledgement = .milliseconds(time - 1000)
            }
            if let opensAt {
                var second = SubflowSample(id: 1)
                (second.local, second.remote) = (cellular, HandFed.remote)
                second.state = opensAt <= time ? .established : .synSent
                sample.subflows.append(second)
            }
            var actions =
                time.isMultiple(of: 7) ? machine.sample(sample, at: at(time)) : machine.timeReached(at(time))
            if time == opensAt {
                let facts = SubflowFacts(local: cellular, remote: HandFed.remote)
                actions += machine.event(
                    .subflowEstablished(HandFed.token, facts, error: nil), at: at(time))
            }
            for answer in answers where answer.time == time {
                actions += machine.probeAnswered(answer.path, after: .milliseconds(20), at: at(time))
            }
            // The peer takes no second subflow over Wi-Fi.
            for case .perform(.create(let local, let isBackup, let remote)) in actions
            where local.address == HandFed.local.address {
                actions += machine.failed(
                    .create(local, isBackup: isBackup, remote: remote), .failed(111), at: at(time))
            }
            for action in actions {
                switch action {
                case .startProbe(let path, _, _): answers.append((time + 20, path))
                case .perform(.create(let local, _, _)) where local.address == cellular.address:
                    opensAt = opensAt ?? time + 40
                case .tell(let event): events.append((time, event))
                default: break
                }
            }
        }
        return events
    }

    @Test("is left where it answers and takes none of our data, whatever comes in over it")
    func stuck() throws {
        let left = Self.stuck(hasCellular: true, until: 3000).first {
            if case .left("wlan0", _) = $0.event { true } else { false }
        }
        #expect(1500...3000 ~= (try #require(left).time))
    }

    @Test("is kept like that where it is all there is, for what it brings")
    func lone() {
        // A connection without any path is given up after a minute.
        let events = Self.stuck(hasCellular: false, until: 65_000).map(\.event)
        #expect(events.contains(.suspected("wlan0", .noAcknowledgement)))
        #expect(!events.contains { if case .pathLossTimedOut = $0 { true } else { false } })
    }
}
