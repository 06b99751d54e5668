import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("The hub of heartbeats")
struct HeartbeatHubTests {
    /// A clock that stands still, on which closures run when they are told to.
    private final class StoppedClock: HeartbeatClock {
        private struct State {
            var submitted: [@Sendable () -> Void] = []
            var sleep: (@Sendable () -> Void)?
            var alarm: MonotonicTime?
        }

        private let state = Locked(State())

        var now: MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000_000_000) }
        var alarm: MonotonicTime? { state.withLock { $0.alarm } }

        func submit(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.submitted.append(body) } }
        func setAlarm(at time: MonotonicTime?, _ body: @escaping @Sendable () -> Void) {
            state.withLock { $0.alarm = time }
        }
        func watchSleep(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.sleep = body } }

        func run() {
            while let next = state.withLock({ $0.submitted.isEmpty ? nil : $0.submitted.removeFirst() }) {
                next()
            }
        }

        func sleep() {
            state.withLock { $0.sleep }?()
            run()
        }
    }

    private final class Idle: HeartbeatSubject {
        func heartbeatSilence() -> HeartbeatSilence? {
            HeartbeatSilence(received: .zero, arrived: .zero, sent: .zero)
        }
        func heartbeatSilenceAtEnd() -> Duration? { nil }
        var heartbeatNetwork: HeartbeatNetwork? { HeartbeatNetwork(family: .ipv4, type: .wifi, name: "here") }
        var heartbeatRoundTrip: Duration? { .milliseconds(50) }
        var heartbeatStore: HeartbeatStore? { nil }
    }

    @Test("asks at once when the machine has slept, and not when the alarm would have come")
    func sleep() {
        let (clock, pings) = (StoppedClock(), Locked(0))
        let hub = HeartbeatHub(clock)
        let heartbeat = Heartbeat(
            of: Idle(), in: hub, pingSize: 4, ping: { pings.withLock { $0 += 1 } }, told: { _ in })
        clock.run()
        #expect(pings.withLock { $0 } == 0 && clock.alarm.map { $0 > clock.now } == true)
        clock.sleep()
        #expect(pings.withLock { $0 } == 1)
        #expect(heartbeat.report.pings == 1)
    }

    @Test("keeps no heartbeat that was stopped while it was added")
    func stopped() async {
        for _ in 0..<500 {
            let clock = StoppedClock()
            let hub = HeartbeatHub(clock)
            let heartbeat = Heartbeat(of: Idle(), in: hub, pingSize: 4, ping: {}, told: { _ in })
            // At the same time, in either order.
            await withTaskGroup(of: Void.self) { group in
                group.addTask { clock.run() }
                group.addTask { heartbeat.stop() }
            }
            clock.run()
            #expect(clock.alarm == nil, "nothing is left to be asked")
        }
    }

    @Test("takes what any subflow received for a sign of life, and a new one's handshake for none")
    func subflows() throws {
        func subflow(_ id: UInt32, received: Int, sent: Int, segments: UInt32) -> SubflowSample {
            var subflow = SubflowSample(
                id: id, local: nil, remote: nil, bytesSent: 0, bytesRetransmitted: 0, bytesReceived: 0,
                smoothedRTT: .milliseconds(20), rttVariation: .zero, minimumRTT: nil)
            subflow.state = .established
            subflow.receivedSegments = segments
            subflow.sinceDataReceived = .seconds(received)
            subflow.sinceAcknowledgement = .seconds(received)
            subflow.sinceDataSent = .seconds(sent)
            return subflow
        }
        let silence = try #require(
            HeartbeatSilence([
                subflow(1, received: 40, sent: 30, segments: 9),
                subflow(2, received: 10, sent: 90, segments: 3),
                subflow(3, received: 1, sent: 95, segments: 0),
            ]))
        #expect(silence.received == .seconds(10))
        // Of the path that the data takes nothing came for longer.
        #expect(silence.arrived == .seconds(40) && silence.sent == .seconds(30))
        #expect(HeartbeatSilence([]) == nil)
    }
}
