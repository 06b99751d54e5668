import PathCore
import TestSupport
import Testing

@Suite("The reconnection machine")
struct ReconnectionMachineTests {
    private typealias Action = ReconnectionMachine.Action

    private static func configuration(
        attempts: Int = 8, within: Duration = .seconds(60)
    ) -> ReconnectionMachine.Configuration {
        var configuration = ReconnectionMachine.Configuration()
        configuration.budget = ReconnectionBudget(attempts: attempts, within: within)
        return configuration
    }

    /// A machine with a connection over Wi-Fi.
    private func connected(
        _ configuration: ReconnectionMachine.Configuration = Self.configuration()
    ) -> ReconnectionMachine {
        var machine = ReconnectionMachine(configuration: configuration)
        #expect(machine.begin(at: .zero) == [.connect(0, .any)])
        #expect(machine.connected(0, over: "wlan0", at: at(20)) == [.use(0, .first)])
        #expect(machine.nextDeadline == nil)
        return machine
    }

    @Test("opens the next connection beside the one whose path is lost, and changes over once it is there")
    func pathLost() {
        var machine = connected()
        #expect(machine.viability(.noAnswer, at: at(1000)) == [.connect(1, .avoiding("wlan0"))])
        #expect(machine.connected(1, over: "wwan0", at: at(1060)) == [.askUserToLeave, .stopUser])
        #expect(
            machine.userEnded(.reconnect, random: 0, at: at(1061)) == [.use(1, .pathLost(.noAnswer))])
        #expect(machine.userFinished() == [.finish])
        #expect(machine.viability(.down, at: at(1100)) == [], "it is over")
    }

    @Test("takes any path where there is no other than the one that is lost")
    func noOtherPath() {
        var machine = connected()
        _ = machine.viability(.noAcknowledgement, at: at(1000))
        #expect(
            machine.connectFailed(1, reason: "no path", random: 0.9, at: at(1001))
                == [.connect(2, .any)])
        #expect(
            machine.userEnded(.failed("reset"), random: 0, at: at(1002)) == [],
            "the attempt goes on without the user")
        #expect(
            machine.connected(2, over: "wlan0", at: at(2000))
                == [.use(2, .pathLost(.noAcknowledgement))])
    }

    @Test("waits for a path where none is left, which is no failure, for as long as the budget's time")
    func withoutPaths() {
        var machine = connected(Self.configuration(attempts: 2, within: .seconds(20)))
        _ = machine.viability(.down, at: at(1000))
        #expect(
            machine.connectFailed(1, reason: "no path", isWithoutPath: true, random: 0, at: at(1001))
                == [.connect(2, .any)])
        #expect(machine.userEnded(.failed("reset"), random: 0, at: at(1002)) == [])
        var now = 1001
        for id in 2..<12 {
            #expect(
                machine.connectFailed(id, reason: "no path", isWithoutPath: true, random: 0, at: at(now))
                    == [])
            now += 1000
            #expect(machine.nextDeadline == at(now))
            #expect(machine.timeReached(at(now)) == [.connect(id + 1, .any)])
        }
        _ = machine.connectFailed(12, reason: "no path", isWithoutPath: true, random: 0, at: at(now))
        #expect(machine.pathAppeared(at: at(now + 10)) == [.connect(13, .any)])
        _ = machine.connectFailed(13, reason: "no path", isWithoutPath: true, random: 0, at: at(now + 20))
        #expect(machine.timeReached(at(21_000)) == [.fail("no path")])
    }

    @Test("leaves the user alone where the path comes back before another connection is there")
    func pathBack() {
        var machine = connected()
        _ = machine.viability(.noCarrier, at: at(1000))
        #expect(machine.viability(nil, at: at(1030)) == [.abandon(1)])
        #expect(machine.connected(1, over: "wwan0", at: at(1031)) == [])
        #expect(machine.nextDeadline == nil)
    }

    @Test("gives the user of a working connection time to leave it for a better path")
    func betterPath() {
        var machine = connected()
        #expect(machine.betterPath("eth0", at: at(1000)) == [.connect(1, .over("eth0"))])
        #expect(machine.connected(1, over: "eth0", at: at(1010)) == [.askUserToLeave])
        #expect(machine.nextDeadline == at(3010))
        #expect(machine.timeReached(at(3009)) == [])
        #expect(machine.timeReached(at(3010)) == [.stopUser])
        #expect(
            machine.userEnded(.reconnect, random: 0, at: at(3011)) == [.use(1, .betterPath("eth0"))])
    }

    @Test("cuts the grace short where the old path dies in it")
    func graceCutShort() {
        var machine = connected()
        _ = machine.betterPath("eth0", at: at(1000))
        _ = machine.connected(1, over: "eth0", at: at(1010))
        #expect(machine.viability(.down, at: at(1500)) == [.stopUser])
        #expect(
            machine.userEnded(.reconnect, random: 0, at: at(1501)) == [.use(1, .betterPath("eth0"))])
    }

    @Test("doesn't disturb the user where the better path comes to nothing, and tries it ever less often")
    func emptyPromise() {
        var machine = connected()
        var tries: [Int] = []
        var pending: Int?
        for second in 1...120 {
            let now = at(second * 1000)
            let actions =
                second == 1
                ? machine.betterPath("eth0", at: now) : machine.timeReached(now)
            if case .connect(let id, .over("eth0"))? = actions.first {
                tries.append(second)
                pending = id
            } else {
                #expect(actions == [])
            }
            if let id = pending {
                #expect(machine.connectFailed(id, reason: "no answer", random: 0, at: now) == [])
                pending = nil
            }
        }
        let pauses = zip(tries.dropFirst(), tries).map { $0 - $1 }
        #expect(pauses == [2, 4, 8, 16, 32])
    }

    @Test("forgets a better path that goes before its connection is there")
    func betterPathGone() {
        var machine = connected()
        _ = machine.betterPath("eth0", at: at(1000))
        #expect(machine.betterPath(nil, at: at(1005)) == [.abandon(1)])
    }

    @Test("doesn't go back at once to a path it has just lost")
    func flapping() {
        var machine = connected()
        _ = machine.viability(.noCarrier, at: at(1000))
        _ = machine.connected(1, over: "wwan0", at: at(1060))
        _ = machine.userEnded(.reconnect, random: 0, at: at(1060))
        #expect(machine.betterPath("wlan0", at: at(2000)) == [])
        #expect(machine.nextDeadline == at(3000))
        #expect(machine.timeReached(at(3000)) == [.connect(2, .over("wlan0"))])
        _ = machine.connected(2, over: "wlan0", at: at(3020))
        _ = machine.userEnded(.reconnect, random: 0, at: at(3021))
        // Lost again: twice the time.
        _ = machine.viability(.noCarrier, at: at(5000))
        _ = machine.connected(3, over: "wwan0", at: at(5060))
        _ = machine.userEnded(.reconnect, random: 0, at: at(5060))
        _ = machine.betterPath("wlan0", at: at(6000))
        #expect(machine.nextDeadline == at(9000))
    }

    @Test("waits between failures, at random and ever longer, and gives up when the attempts are spent")
    func attempts() {
        var machine = ReconnectionMachine(configuration: Self.configuration(attempts: 4))
        var actions = machine.begin(at: .zero)
        var waits: [Int] = []
        var now = 0
        while case .connect(let id, .any)? = actions.first {
            actions = machine.connectFailed(id, reason: "refused", random: 0.5, at: at(now))
            guard let deadline = machine.nextDeadline else { break }
            waits.append(Int(at(now).duration(to: deadline) / .milliseconds(1)))
            now = Int(deadline.nanoseconds / 1_000_000)
            actions = machine.timeReached(deadline)
        }
        #expect(waits == [100, 200, 400])
        #expect(actions == [.fail("refused")])
        #expect(machine.isFinished)
    }

    @Test("gives up when it has had no connection for too long, and stops what still runs")
    func duration() {
        var machine = connected(Self.configuration(within: .seconds(5)))
        _ = machine.viability(.noAnswer, at: at(1000))
        #expect(machine.nextDeadline == at(6000))
        #expect(
            machine.timeReached(at(6000)) == [.abandon(1), .stopUser, .fail("no connection")])
    }

    @Test("counts a connection without progress as a failure, and forgives everything for progress")
    func progress() {
        var machine = connected(Self.configuration(attempts: 2))
        machine.progressed()
        #expect(
            machine.userEnded(.failed("reset"), random: 0.5, at: at(100)) == [.connect(1, .any)])
        #expect(
            machine.connected(1, over: "wlan0", at: at(120)) == [.use(1, .failed("reset"))])
        #expect(machine.userEnded(.reconnect, random: 0.5, at: at(130)) == [])
        #expect(machine.nextDeadline == at(230))
        #expect(machine.timeReached(at(230)) == [.connect(2, .any)])
        _ = machine.connected(2, over: "wlan0", at: at(250))
        #expect(machine.userEnded(.reconnect, random: 0.5, at: at(260)) == [.fail("reset")])
    }

    @Test("tries at once when a path appears while it waits")
    func pathAppears() {
        var machine = ReconnectionMachine(configuration: Self.configuration())
        _ = machine.begin(at: .zero)
        _ = machine.connectFailed(0, reason: "no path", random: 0.99, at: at(1))
        #expect(machine.pathAppeared(at: at(5)) == [.connect(1, .any)])
        #expect(machine.pathAppeared(at: at(6)) == [])
    }

    /// What must hold in whatever order things happen.
    @Test("keeps its promises in any order of events", arguments: 0..<200)
    func anyOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var machine = ReconnectionMachine(configuration: Self.configuration(attempts: 5))
        var (now, open, ready, users) = (0, Set<Int>(), Set<Int>(), 0)
        var isOver = false
        func perform(_ actions: [Action]) {
            for action in actions {
                #expect(!isOver)
                switch action {
                case .connect(let id, _):
                    #expect(open.isEmpty, "one attempt at a time")
                    open.insert(id)
                case .abandon(let id): #expect(open.remove(id) != nil)
                case .use(let id, _):
                    #expect(open.remove(id) != nil)
                    #expect(users == 0, "one user at a time")
                    ready.remove(id)
                    users = 1
                case .askUserToLeave, .stopUser: #expect(users == 1)
                case .finish, .fail: isOver = true
                }
            }
        }
        perform(machine.begin(at: .zero))
        for _ in 0..<60 where !isOver {
            now += Int(random.next() % 800)
            let time = at(now)
            let id = open.subtracting(ready).first
            switch random.next() % 9 {
            case 0, 1:
                guard let id else { continue }
                ready.insert(id)
                let path: PathID = random.oneIn(2) ? "wlan0" : "wwan0"
                perform(machine.connected(id, over: path, at: time))
            case 2:
                guard let id else { continue }
                open.remove(id)
                perform(machine.connectFailed(id, reason: "x", random: 0.5, at: time))
            case 3: perform(machine.viability(.noAnswer, at: time))
            case 4: perform(machine.viability(nil, at: time))
            case 5: perform(machine.betterPath(random.oneIn(2) ? nil : "wlan0", at: time))
            case 6:
                guard users == 1 else { continue }
                users = 0
                perform(machine.userEnded(.reconnect, random: 0.5, at: time))
            case 7: machine.progressed()
            default: perform(machine.timeReached(time))
            }
            if let deadline = machine.nextDeadline { perform(machine.timeReached(max(deadline, time))) }
            // Something is always at work: a user, an attempt or a timer.
            #expect(isOver || users == 1 || !open.isEmpty || machine.nextDeadline != nil)
        }
    }
}
