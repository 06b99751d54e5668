#if Outbox
    import Multipath
    import TestSupport
    import Testing

    @testable import MultipathOutbox

    /// Requests, paths and answers at random, in simulated time, and what must hold at each moment.
    struct World {
        private var random: SplitMix64
        private let seed: UInt64
        private var machine = OutboxMachine()
        private var now = MonotonicTime.zero
        private var hasPath = false
        /// Each request that is not at its end, with its class.
        private var open: [OutboxID: OutboxRequestClass] = [:]
        private var running: Set<OutboxID> = []
        private var stored: Set<OutboxID> = []
        private var delivered: Set<OutboxID> = []
        private var nextID: Int64 = 1

        init(seed: UInt64) {
            self.seed = seed
            random = SplitMix64(seed: seed)
        }

        consuming func run() {
            var world = self
            for _ in 0..<300 { world.step() }
            world.settle()
        }

        private mutating func step() {
            now = now.advanced(by: .milliseconds(Int.random(in: 0...3000, using: &random)))
            if let deadline = machine.nextDeadline, deadline <= now { perform(machine.timeReached(now)) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: submit()
            case 3: change(path: Bool.random(using: &random) ? Int.random(in: 1...3, using: &random) : nil)
            case 4: stopAndGoOn()
            default: end(isDelivered: Int.random(in: 0..<3, using: &random) == 0)
            }
            check()
        }

        private mutating func submit() {
            let id = OutboxID(nextID)
            nextID += 1
            let requestClass = OutboxRequestClass.allCases.randomElement(using: &random) ?? .mustArrive
            open[id] = requestClass
            if requestClass == .mustArrive { stored.insert(id) }
            let urgency = Int.random(in: 0...7, using: &random)
            perform(machine.submit(OutboxMachine.Item(id: id, requestClass: requestClass, urgency: urgency)))
        }

        private mutating func change(path: Int?) {
            hasPath = path != nil
            perform(machine.pathChanged(path, at: now))
        }

        private mutating func stopAndGoOn() {
            machine.stop()
            running = []
            hasPath = false
        }

        private mutating func end(isDelivered: Bool) {
            guard let id = running.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else {
                return
            }
            running.remove(id)
            let outcomes: [OutboxOutcome] = [
                .timedOut, .failed("reset"), .answered(status: 500, retryAfter: nil),
                .answered(status: 503, retryAfter: .seconds(Int.random(in: 0...100, using: &random))),
            ]
            let outcome =
                isDelivered
                ? .answered(status: 200, retryAfter: nil)
                : outcomes.randomElement(using: &random) ?? .timedOut
            if isDelivered { delivered.insert(id) }
            perform(machine.attemptEnded(id, outcome, random: .random(in: 0..<1, using: &random), at: now))
        }

        private mutating func perform(_ actions: [OutboxMachine.Action]) {
            for action in actions {
                switch action {
                case .start(let id, _):
                    #expect(hasPath && open[id] != nil, "seed \(seed)")
                    #expect(running.insert(id).inserted, "seed \(seed)")
                case .delete(let id):
                    #expect(stored.remove(id) != nil && delivered.contains(id), "seed \(seed)")
                case .setAside: Issue.record("seed \(seed)")
                case .report(let id, _): #expect(open.removeValue(forKey: id) != nil, "seed \(seed)")
                }
            }
        }

        private mutating func check() {
            #expect(running.count <= 4 && machine.count == open.count, "seed \(seed)")
            #expect(Set(open.filter { $0.value == .mustArrive }.keys) == stored, "seed \(seed)")
            // With a path and room each request is running, or its next attempt is at most a minute away.
            if hasPath, running.count < 4, running.count < open.count {
                let wait = machine.nextDeadline.map { now.duration(to: $0) }
                #expect(wait.map { $0 <= .seconds(60) } == true, "seed \(seed)")
            }
        }

        /// A path that stays, and a server that does everything: all that must arrive does.
        private mutating func settle() {
            change(path: 7)
            for _ in 0..<2000 where !open.isEmpty {
                if running.isEmpty, let deadline = machine.nextDeadline { now = max(now, deadline) }
                perform(machine.timeReached(now))
                end(isDelivered: true)
            }
            #expect(open.isEmpty && stored.isEmpty, "seed \(seed)")
        }
    }
#endif
