import Testing

@testable import PathCore

/// A link may be so slow that all a sender has queued takes seconds, and so may each repair. This one's path answers each
/// question within 20 ms.
@Suite("A slow stream")
struct SlowStreamTests {
    /// The path's subflows, and what became of them.
    private struct Course {
        /// When the sender was shown another way, and which subflows were ended when; in milliseconds.
        var offered: Int64?
        var ended: [UInt16: Int64] = [:]
        /// When the path was given up.
        var failed: Int64?
    }

    /// Forty kilobytes a second, far less than a bulk transfer, over the first subflow.
    ///
    /// - Parameters:
    ///   - silences: when nothing comes in.
    ///   - roundTrip: as the receiver measures it.
    ///   - wayChanges: when it comes over the other subflow from then on.
    ///   - pathEnds: when no question is answered any more.
    private func course(
        silences: [ClosedRange<Int64>], roundTrip: Duration = .milliseconds(40), wayChanges: Int64 = .max,
        pathEnds: Int64 = .max, until end: Int64
    ) -> Course {
        var machine = HandFed.machine()
        var course = Course()
        var (received, lastAt) = ([UInt64(0), 0], [Int64(0), 0])
        let other = IPEndpoint(HandFed.local.address, port: 40_002)
        var opensAt: Int64?
        for time in 1...end {
            if time.isMultiple(of: 50), !silences.contains(where: { $0.contains(time) }) {
                let way = time < wayChanges ? 0 : 1
                received[way] += 2000
                lastAt[way] = time
            }
            var sample = HandFed.download(
                received: received[0], early: 0, since: .milliseconds(time - lastAt[0]))
            sample.subflows[0].receiverRTT = roundTrip
            if let opensAt, opensAt <= time, course.ended[other.port] == nil {
                var second = SubflowSample(id: 1)
                (second.local, second.remote, second.state) = (other, HandFed.remote, .established)
                second.smoothedRTT = .milliseconds(20)
                second.bytesReceived = received[1]
                second.sinceDataReceived = .milliseconds(time - lastAt[1])
                sample.subflows.append(second)
            }
            var actions = machine.sample(sample, at: at(time)) + machine.timeReached(at(time))
            if time == opensAt {
                let facts = SubflowFacts(local: other, remote: HandFed.remote)
                actions += machine.event(
                    .subflowEstablished(HandFed.token, facts, error: nil), at: at(time))
            }
            for case .startProbe(let path, _, _) in actions where time < pathEnds {
                actions += machine.probeAnswered(path, after: .milliseconds(20), at: at(time))
            }
            for case .tell(.failed) in actions { course.failed = course.failed ?? time }
            for case .perform(let order) in actions {
                switch order {
                case .create(let local, _, _) where local.address == HandFed.local.address:
                    course.offered = course.offered ?? time
                    opensAt = opensAt ?? time + 20
                case .destroy(let local, _), .reset(let local, _, _): course.ended[local.port] = time
                default: break
                }
            }
        }
        return course
    }

    @Test("keeps the other way that its sender was shown for as long as it goes on, and a second longer")
    func keepsSuccessor() throws {
        let course = course(silences: [3001...3700, 9001...12_000], until: 12_000)
        #expect(3250...3450 ~= (try #require(course.offered)))
        #expect(course.ended.keys.sorted() == [40_002])
        #expect(10_000...10_200 ~= (try #require(course.ended[40_002])))
    }

    @Test("is watched where it comes the other way, too")
    func watchesSuccessor() throws {
        let course = course(
            silences: [3001...3700, 20_001...22_000], wayChanges: 5000, pathEnds: 20_000, until: 22_000)
        #expect(course.ended.isEmpty || course.failed ?? .max <= course.ended.values.min()!)
        #expect(20_000...20_700 ~= (try #require(course.failed)))
    }

    @Test("shows its sender another way only when a repair would have come: after three round trips and more")
    func offersLate() throws {
        func offered(after roundTrip: Duration) throws -> Int64 {
            try #require(course(silences: [3001...15_000], roundTrip: roundTrip, until: 15_000).offered)
                - 3000
        }
        #expect(250...450 ~= (try offered(after: .milliseconds(40))))
        #expect(1800...2300 ~= (try offered(after: .milliseconds(600))))
        // A sender's pauses count for round trips, too.
        #expect(10_000...11_000 ~= (try offered(after: .seconds(60))))
    }
}
