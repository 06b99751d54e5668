#if Outbox
    import Multipath
    import Testing

    @testable import MultipathOutbox

    @Suite("When an outbox sends what")
    struct OutboxMachineTests {
        private typealias Action = OutboxMachine.Action

        private var machine = OutboxMachine()
        private var now = MonotonicTime.zero
        private var nextID: Int64 = 1

        private mutating func submit(
            _ requestClass: OutboxRequestClass, urgency: Int = 3
        ) -> (OutboxID, [Action]) {
            let id = OutboxID(nextID)
            nextID += 1
            return (
                id, machine.submit(OutboxMachine.Item(id: id, requestClass: requestClass, urgency: urgency))
            )
        }

        private mutating func path(_ path: Int?) -> [Action] { machine.pathChanged(path, at: now) }

        private mutating func end(_ id: OutboxID, _ outcome: OutboxOutcome, random: Double = 0.5) -> [Action]
        {
            machine.attemptEnded(id, outcome, random: random, at: now)
        }

        private mutating func pass(_ duration: Duration) -> [Action] {
            now = now.advanced(by: duration)
            return machine.timeReached(now)
        }

        private let done = OutboxOutcome.answered(status: 201, retryAfter: nil)
        private let broken = OutboxOutcome.answered(status: 500, retryAfter: nil)

        // MARK: The queue

        @Test("four at a time, in the order of their submission")
        mutating func width() {
            _ = path(1)
            let ids = (0..<6).map { _ in submit(.mustArrive) }
            #expect(
                ids.flatMap { $0.1 } == ids.prefix(4).map { .start($0.0, attempt: 1) })
            #expect(
                end(ids[2].0, done)
                    == [
                        .delete(ids[2].0), .report(ids[2].0, .delivered(status: 201)),
                        .start(ids[4].0, attempt: 1),
                    ])
        }

        @Test("the most urgent first, and nothing before there is a path")
        mutating func urgency() {
            let waiting = [5, 3, 0, 3, 7].map { submit(.mustArrive, urgency: $0) }
            #expect(waiting.flatMap { $0.1 } == [])
            #expect(path(1) == [2, 1, 3, 0].map { .start(waiting[$0].0, attempt: 1) })
        }

        @Test("one request twice is one request")
        mutating func twice() {
            let (id, _) = submit(.mustArrive)
            let again = machine.submit(OutboxMachine.Item(id: id, requestClass: .mustArrive, urgency: 3))
            #expect(again == [] && machine.count == 1)
        }

        // MARK: Must arrive

        @Test("a request that must arrive is tried until it has, with growing pauses of at most a minute")
        mutating func mustArrive() {
            _ = path(1)
            let (id, _) = submit(.mustArrive)
            var pauses: [Duration] = []
            for attempt in 2...12 {
                #expect(end(id, [broken, .timedOut, .failed("reset")][attempt % 3], random: 0.999) == [])
                guard let due = machine.nextDeadline else { break }
                pauses.append(now.duration(to: due))
                #expect(pass(now.duration(to: due)) == [.start(id, attempt: attempt)])
            }
            #expect(pauses.count == 11 && pauses == pauses.sorted())
            #expect(pauses.allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(60) })
            #expect(pauses[10] > .seconds(59))
            #expect(end(id, done) == [.delete(id), .report(id, .delivered(status: 201))])
            #expect(machine.count == 0 && machine.nextDeadline == nil)
        }

        @Test("a path that appears ends the pause, but for half a second after the last attempt")
        mutating func pathEndsPause() {
            _ = path(1)
            let (id, _) = submit(.mustArrive)
            for _ in 0..<8 {
                _ = end(id, .failed("unreachable"), random: 0.999)
                _ = pass(.seconds(60))
            }
            _ = end(id, .failed("unreachable"), random: 0.999)
            #expect(path(nil) == [])
            now = now.advanced(by: .milliseconds(400))
            #expect(path(2) == [])
            #expect(pass(.milliseconds(99)) == [])
            #expect(pass(.milliseconds(1)) == [.start(id, attempt: 10)])
            _ = end(id, .failed("unreachable"), random: 0.999)
            now = now.advanced(by: .seconds(1))
            #expect(path(3) == [.start(id, attempt: 11)])
        }

        @Test("a pause that the server asked for is kept, though a path appears; up to a minute of it")
        mutating func retryAfter() {
            _ = path(1)
            let (id, _) = submit(.mustArrive)
            _ = end(id, .answered(status: 503, retryAfter: .seconds(20)), random: 0)
            now = now.advanced(by: .seconds(5))
            #expect(path(2) == [])
            #expect(pass(.seconds(15)) == [.start(id, attempt: 2)])
            _ = end(id, .answered(status: 429, retryAfter: .seconds(3600)), random: 0)
            #expect(pass(.seconds(60)) == [.start(id, attempt: 3)])
        }

        @Test("one that waits lets the others by, and keeps its place before those that came after it")
        mutating func keepsPlace() {
            _ = path(1)
            let ids = (0..<6).map { _ in submit(.mustArrive).0 }
            #expect(end(ids[0], broken, random: 0.5) == [.start(ids[4], attempt: 1)])
            #expect(pass(.milliseconds(500)) == [])
            #expect(end(ids[1], done).last == .start(ids[0], attempt: 2))
        }

        @Test(
            "an answer that says that the request itself is wrong sets it aside",
            arguments: [400, 413, 422, 501])
        mutating func hopeless(_ status: Int) {
            _ = path(1)
            let (id, _) = submit(.mustArrive)
            #expect(
                end(id, .answered(status: status, retryAfter: nil))
                    == [.setAside(id, status: status), .report(id, .setAside(status: status))])
            #expect(machine.count == 0)
            let again = machine.submit(OutboxMachine.Item(id: id, requestClass: .mustArrive, urgency: 3))
            #expect(again == [.start(id, attempt: 1)])
        }

        @Test(
            "every other answer is a failure that may pass",
            arguments: [301, 401, 403, 404, 408, 409, 429, 500, 503])
        mutating func hopeful(_ status: Int) {
            _ = path(1)
            let (id, _) = submit(.mustArrive)
            #expect(end(id, .answered(status: status, retryAfter: nil)) == [])
            #expect(machine.nextDeadline != nil)
        }

        // MARK: Important

        @Test("an important request is tried three times, five seconds apart, each time from the queue's end")
        mutating func important() {
            _ = path(1)
            let (id, started) = submit(.important)
            #expect(started == [.start(id, attempt: 1)])
            #expect(end(id, .timedOut) == [])
            let others = (0..<4).map { _ in submit(.mustArrive).0 }
            #expect(pass(.milliseconds(4999)) == [])
            #expect(pass(.milliseconds(1)) == [])
            let late = submit(.mustArrive).0
            #expect(end(others[0], done).last == .start(id, attempt: 2))
            #expect(end(id, .answered(status: 503, retryAfter: nil)) == [.start(late, attempt: 1)])
            #expect(end(others[1], done).count == 2)
            #expect(pass(.seconds(5)) == [.start(id, attempt: 3)])
            #expect(end(id, .timedOut) == [.report(id, .failed(.timedOut))])
        }

        @Test("an important request is not tried again after what is no time-out and no agreed status")
        mutating func importantOnce() {
            _ = path(1)
            for outcome in [broken, .answered(status: 404, retryAfter: nil), .failed("connection refused")] {
                let (id, _) = submit(.important)
                #expect(end(id, outcome) == [.report(id, .failed(outcome))])
            }
            let (id, _) = submit(.important)
            #expect(end(id, done) == [.report(id, .delivered(status: 201))])
        }

        @Test("an important request waits for a path, which costs no try and is no end of its five seconds")
        mutating func importantWithoutPath() {
            let (id, _) = submit(.important)
            #expect(path(1) == [.start(id, attempt: 1)])
            #expect(end(id, .timedOut) == [] && path(nil) == [])
            #expect(pass(.seconds(2)) == [] && path(2) == [])
            #expect(pass(.seconds(3)) == [.start(id, attempt: 2)])
        }

        // MARK: Best effort

        @Test("a best-effort request is tried once, and not at all without a path")
        mutating func bestEffort() {
            let (early, nothing) = submit(.bestEffort)
            #expect(nothing == [] && path(nil) == [.report(early, .noPath)])
            let (without, ended) = submit(.bestEffort)
            #expect(ended == [.report(without, .noPath)])
            _ = path(1)
            let (with, started) = submit(.bestEffort)
            #expect(started == [.start(with, attempt: 1)])
            #expect(end(with, .timedOut) == [.report(with, .failed(.timedOut))])
        }

        @Test("a best-effort request that waits for its turn ends with the last path")
        mutating func bestEffortQueued() {
            _ = path(1)
            let running = (0..<4).map { _ in submit(.mustArrive).0 }
            let (id, _) = submit(.bestEffort)
            #expect(path(nil) == [.report(id, .noPath)])
            #expect(running.count == 4 && machine.count == 4)
        }

        // MARK: Ends

        @Test("a request that is removed is deleted, and what its attempt comes to is of no interest")
        mutating func removed() {
            _ = path(1)
            let (running, _) = submit(.mustArrive)
            #expect(machine.remove(running) == [.delete(running), .report(running, .removed)])
            #expect(end(running, done) == [])
            #expect(machine.remove(running) == [])
            let (transient, _) = submit(.important)
            #expect(machine.remove(transient) == [.report(transient, .removed)])
        }

        @Test("what runs when the sending stops begins again with the next path, and nothing is counted")
        mutating func stopped() {
            _ = path(1)
            let ids = [submit(.mustArrive).0, submit(.important).0]
            machine.stop()
            #expect(path(1) == [.start(ids[0], attempt: 1), .start(ids[1], attempt: 1)])
        }

        @Test(
            "in a thousand worlds at random no request is lost, run twice at once, or left waiting for over a minute"
        )
        func worlds() {
            for seed in 0..<1000 { World(seed: UInt64(seed)).run() }
        }
    }
#endif
