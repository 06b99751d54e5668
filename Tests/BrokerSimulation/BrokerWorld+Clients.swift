import PathBroker
import PathCore

// What the processes of a world do: what they ask for, and how the kernel answers for them.

extension BrokerWorld {
    /// A process sends a packet, where it has none under way: the daemon reads one at a time.
    mutating func request(_ id: ClientID) {
        guard var process = processes[id], process.work == nil, process.open.isEmpty, !process.isDropped
        else { return }
        let number = process.nextID
        process.nextID += 1
        processes[id] = process
        var (bytes, passed, descriptors, isCut): ([UInt8], UInt64?, Int, Bool) = ([], nil, 0, false)
        if process.lies, random.oneIn(12) {
            bytes = garbage(number)
            descriptors = random.below(3)
            isCut = random.oneIn(6)
        } else {
            let asked = ask(process)
            bytes = asked.0.packet(id: number)
            passed = asked.1
            descriptors = passed == nil ? 0 : 1
            if process.lies, random.oneIn(16) { (passed, descriptors) = (nil, random.below(4)) }
        }
        let read = BrokerRequest.read(bytes)
        processes[id]?.open = [read.id]
        if case .success(.hello) = read.1 { processes[id]?.hasGreeted = true }
        processes[id]?.asked = try? read.1.get()
        processes[id]?.allowed = nil
        processes[id]?.passed = passed
        perform(machine.packet(read, descriptors: descriptors, isCut: isCut, from: id, at: now))
        noteRates(id)
    }

    private mutating func ask(_ process: Process) -> (BrokerRequest, UInt64?) {
        func own() -> UInt64? {
            // One that is attached, as a rule: there is more to be done with it.
            let attached = process.held.filter { sockets[$0]?.token.map(process.attached.contains) ?? false }
            let connected = process.held.filter { sockets[$0]?.token != nil }
            let held =
                process.nextID % 4 == 0 ? process.held : attached.isEmpty ? connected : attached
            return held.isEmpty ? nil : held[Int(process.nextID) % held.count]
        }
        // A liar names any token, and passes any socket that it holds with it.
        let socket = own()
        let honest = socket.flatMap { sockets[$0]?.token }
        let any = ConnectionToken(UInt32(random.below(12)))
        let token = process.lies && random.oneIn(2) ? any : honest ?? any
        if !process.hasGreeted, !(process.lies && random.oneIn(6)) { return (.hello, nil) }
        switch random.below(16) {
        case 0: return (.hello, nil)
        case 1, 2: return (.prepare, socket)
        case 3: return (random.oneIn(3) ? .detach(token) : .status, nil)
        case 4, 5: return (.attach(token), socket)
        case _ where !process.lies && !process.attached.contains(token): return (.attach(token), socket)
        default:
            let local = SubflowAction.LocalAddress(
                Self.remote(20).address, id: UInt8(random.below(3)), interface: 3)
            let first = socket.flatMap { sockets[$0]?.remote }
            let remote = random.oneIn(2) ? first ?? Self.remote(3) : Self.remote(random.below(12))
            let action: SubflowAction =
                switch random.below(8) {
                case 0: .destroy(local: Self.remote(20), remote: remote)
                case 4: .reset(local: Self.remote(20), remote: remote, interface: 3)
                case 1: .withdraw(local)
                case 2: .announce(local)
                case 3: .prioritize(local: Self.remote(20), remote: remote, isBackup: true)
                default: .create(local, isBackup: false, remote: remote)
                }
            return (.order(action, token), nil)
        }
    }

    private mutating func garbage(_ number: UInt32) -> [UInt8] {
        switch random.below(5) {
        case 0: return (0..<random.below(64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 1: return Array("{\"v\":\(random.below(3)),\"id\":\(number),\"op\":\"no\"}".utf8)
        case 2: return [UInt8](repeating: UInt8(ascii: "{"), count: 2_000)
        case 3:
            let whole = BrokerRequest.attach(ConnectionToken(3)).packet(id: number)
            return Array(whole.prefix(random.below(whole.count)))
        default: return Array("{\"v\":1,\"id\":\(number),\"op\":\"create\",\"token\":-1}".utf8)
        }
    }

    /// A process's thread in the daemon has done what it was to do.
    mutating func work(_ id: ClientID) {
        guard let process = processes[id], let work = process.work else { return }
        processes[id]?.work = nil
        let answer = answer(work, id, process)
        if answer == .finished(nil) { allowed(work, to: id) }
        perform(machine.answered(answer, from: id, at: now))
        noteRates(id)
    }

    /// The kernel has answered a question with yes, or done something.
    private mutating func allowed(_ work: BrokerMachine.Work, to id: ClientID) {
        processes[id]?.allowed = work
        guard case .perform(let action, _) = work, let cookie = found[id], let socket = sockets[cookie] else {
            return
        }
        switch action {
        case .create: sockets[cookie]?.subflows += 1
        case .destroy, .reset: sockets[cookie]?.subflows = max(1, socket.subflows) - 1
        case .announce, .withdraw, .prioritize: break
        }
    }

    private mutating func answer(
        _ work: BrokerMachine.Work, _ id: ClientID, _ process: Process
    ) -> BrokerMachine.Answer {
        switch work {
        case .wait, .waitForTurn: return .waited
        case .tell(let message):
            sent(message, to: id)
            return .told(true)
        case .examine:
            guard let socket = process.passed.flatMap({ sockets[$0] }) else {
                return .examined(PassedSocketFacts())
            }
            return .examined(
                PassedSocketFacts(
                    isInternet: true, isMPTCP: socket.isMPTCP,
                    isInUse: socket.isListening || socket.token != nil, namespace: socket.namespace,
                    cookie: socket.cookie, mark: socket.mark))
        case .look(let token):
            guard let socket = sockets.values.first(where: { $0.token == token }) else {
                found[id] = nil
                return .found(nil)
            }
            found[id] = socket.cookie
            // What it may do from here on it has shown to be its own.
            if process.proved.contains(socket.cookie) { processes[id]?.tokens.insert(token) }
            return .found(
                ConnectionFacts(
                    cookie: socket.cookie, user: process.user, remote: socket.remote,
                    additionalSubflows: socket.subflows))
        case .prepare:
            // A liar holds its sockets for almost as long as the watchdog lets it.
            let time = Duration.microseconds(process.lies ? 1_900 : 2)
            changed[process.user, default: []].append((now, time))
            checkChanges(of: process.user)
            return .prepared(
                process.lies && random.oneIn(4) ? BrokerFailure(.socketHeld) : nil, changed: time)
        case .check, .route, .isOwn, .perform:
            return .finished(random.oneIn(6) ? BrokerFailure(.kernel, errno: 22) : nil)
        }
    }

    /// Whether the setting was changed for no longer than a user may have it, in any while.
    private mutating func checkChanges(of user: UInt32) {
        let times = changed[user] ?? []
        var sum = Duration.zero
        for (begun, time) in times.reversed() {
            sum += time
            let rate = limits.changedMicroseconds
            let allowed =
                Double(rate.burst) + begun.duration(to: now).inSeconds * Double(rate.perSecond) + 2_000
            if sum.inSeconds * 1_000_000 > allowed { return fault("changed for \(sum) of user \(user)") }
        }
    }

    private mutating func noteRates(_ id: ClientID) {
        guard let process = processes[id] else { return }
        switch process.work {
        case .prepare:
            prepares[process.user, default: []].append(now)
            checkRate(prepares[process.user] ?? [], limits.prepares, "prepares")
        case .perform:
            orders[process.user, default: []].append(now)
            checkRate(orders[process.user] ?? [], limits.orders, "orders")
        default: break
        }
    }
}

/// A seeded generator (SplitMix64).
struct WorldRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }
    mutating func oneIn(_ times: Int) -> Bool { below(times) == 0 }
}
