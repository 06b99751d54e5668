// A kernel and some processes in simulated time, all of which talk to one `BrokerMachine`: some honest, some that lie, and
// all may stop in the middle. The world knows the truth, which socket has which cookie and token and which process holds
// it, and checks each thing that the machine wants done against it.

import PathBroker
import PathCore

/// One seeded world. The same seed is the same world on every machine.
public struct BrokerWorld {
    typealias ClientID = BrokerMachine.ClientID

    /// A socket as the kernel knows it.
    struct Socket {
        var cookie: UInt64
        var namespace: UInt64 = 1
        var isMPTCP = true
        var token: ConnectionToken?
        var remote: IPEndpoint
        /// What the peer has announced under each id since it last took that back.
        var announced: [UInt8: Set<IPEndpoint>] = [:]
        var mark: UInt32 = 0
        var isListening = false
        /// Beside the first.
        var subflows: UInt8 = 0
    }

    /// A process that is connected, and what it knows.
    struct Process {
        var user: UInt32
        /// Sockets it has descriptors of, by their cookies. It keeps no other descriptors than these and a file.
        var held: [UInt64] = []
        /// Cookies it has ever had a descriptor of: what it once proved stays its own.
        var proved: Set<UInt64> = []
        /// Tokens it has proved to be its own.
        var tokens: Set<ConnectionToken> = []
        var lies: Bool
        var nextID: UInt32 = 1
        /// Requests that are not answered, in order.
        var open: [UInt32] = []
        /// What the one under way asks for.
        var asked: BrokerRequest?
        /// What of it the kernel has allowed.
        var allowed: BrokerMachine.Work?
        /// What the daemon has said to be attached, and not to be gone.
        var attached: Set<ConnectionToken> = []
        var work: BrokerMachine.Work?
        /// What came with the packet under way.
        var passed: UInt64?
        var isDropped = false
        var hasGreeted = false
    }

    var random: WorldRandom
    var limits: BrokerLimits
    var machine: BrokerMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var sockets: [UInt64: Socket] = [:]
    var processes: [ClientID: Process] = [:]
    var lastID: ClientID = 0
    var lastCookie: UInt64 = 100
    /// What the kernel last said a client's token names.
    var found: [ClientID: UInt64] = [:]
    /// For how long the setting was changed for each user's sockets, and when.
    var changed: [UInt32: [(MonotonicTime, Duration)]] = [:]
    var prepares: [UInt32: [MonotonicTime]] = [:]
    var orders: [UInt32: [MonotonicTime]] = [:]
    /// What is wrong; empty where no rule was broken.
    public private(set) var faults: [String] = []
    /// How many orders got to the kernel: a world in which nothing happens proves nothing.
    public private(set) var orderCount = 0
    public private(set) var refusalCount = 0
    /// How many of the orders were subflows.
    public private(set) var createCount = 0
    /// Whether the path manager has told something that did not arrive: the daemon hears so next.
    private var hasLost = false

    public init(seed: UInt64) {
        random = WorldRandom(seed: seed)
        limits = BrokerLimits()
        limits.clients = 10
        limits.clientsPerUser = 4
        limits.connectionsPerUser = 3
        limits.subflowsPerConnection = 2
        limits.addressesPerPeer = 2
        limits.prepares = .init(perSecond: 20, burst: 10)
        limits.orders = .init(perSecond: 40, burst: 20)
        limits.packets = .init(perSecond: 400, burst: 100)
        limits.connects = .init(perSecond: 20, burst: 20)
        limits.malformedPackets = 6
        limits.earlyEvents = 8
        limits.earlyEventsPerUser = 4
        limits.changedMicroseconds = .init(perSecond: 2_000, burst: 6_000)
        limits.earlyEventsPerConnection = 2
        machine = BrokerMachine(namespace: 1, boot: "world", limits: limits)
    }

    /// Runs it to its end, in which all processes have gone.
    public mutating func run(steps: Int = 600) {
        for _ in 0..<steps where faults.isEmpty {
            now = now.advanced(by: .microseconds(Int64(random.below(20_000))))
            step()
        }
        for id in processes.keys.sorted() { leave(id) }
        if !machine.isEmpty { fault("something is kept of clients that have gone") }
        if machine.userCount > limits.clients + 8 { fault("\(machine.userCount) users are remembered") }
    }

    mutating func fault(_ text: String) { faults.append(text) }

    private mutating func step() {
        if hasLost {
            hasLost = false
            perform(machine.event(.lost, at: now))
        }
        switch random.below(24) {
        case 0: arrive()
        case 20...23: if let cookie = anySocket() { connect(cookie) }
        case 1: if random.oneIn(6), let id = anyProcess() { leave(id) }
        case 2, 3: makeSocket()
        case 4: if let cookie = anySocket() { connect(cookie) }
        case 5: if random.oneIn(3), let cookie = anySocket() { close(cookie) }
        case 6: if let cookie = anySocket() { announce(cookie) }
        case 7: if random.oneIn(4) { pass() }
        case 8: if random.oneIn(8) { perform(machine.event(.lost, at: now)) }
        case 9...13: if let id = anyProcess() { request(id) }
        default: for _ in 0..<3 { if let id = workingProcess() { work(id) } }
        }
    }

    func anyKey<Value>(_ values: [UInt64: Value], _ number: Int) -> UInt64? {
        values.isEmpty ? nil : values.keys.sorted()[number % values.count]
    }

    mutating func anyProcess() -> ClientID? { anyKey(processes, random.below(1_000)) }
    mutating func anySocket() -> UInt64? { anyKey(sockets, random.below(1_000)) }
    private mutating func workingProcess() -> ClientID? {
        anyKey(processes.filter { $0.value.work != nil }, random.below(1_000))
    }

    // MARK: The kernel

    private mutating func arrive() {
        lastID += 1
        let user = UInt32(random.below(4)) * 1_000
        processes[lastID] = Process(user: user, lies: random.oneIn(2))
        perform(machine.connected(lastID, user: user, process: Int32(lastID), at: now))
        if processes.values.filter({ !$0.isDropped }).count > limits.clients { fault("too many clients") }
        if processes[lastID]?.isDropped == true { leave(lastID) }
    }

    mutating func leave(_ id: ClientID) {
        processes[id] = nil
        found[id] = nil
        perform(machine.left(id))
        perform(machine.disconnected(id))
    }

    private mutating func makeSocket() {
        guard let id = anyProcess(), processes[id].map({ $0.held.count < 6 }) == true else { return }
        lastCookie += 1
        var socket = Socket(cookie: lastCookie, remote: Self.remote(random.below(4)))
        if random.oneIn(8) { socket.namespace = 2 }
        if random.oneIn(8) { socket.isMPTCP = false }
        if random.oneIn(8) { socket.isListening = true }
        socket.mark = UInt32(lastCookie % 3)
        sockets[lastCookie] = socket
        processes[id]?.held.append(lastCookie)
        processes[id]?.proved.insert(lastCookie)
    }

    private mutating func anyUser() -> UInt32? {
        random.oneIn(5) ? nil : UInt32(random.below(4)) * 1_000
    }

    static func remote(_ number: Int) -> IPEndpoint {
        IPEndpoint(IPAddress(ipv4: 0xCB00_7100 + UInt32(number)), port: 443)
    }

    private mutating func connect(_ cookie: UInt64) {
        guard let socket = sockets[cookie], socket.token == nil, socket.isMPTCP, !socket.isListening else {
            return
        }
        // Few, so that they come again soon, as in a world of 2^32 they do some day.
        let token = ConnectionToken(UInt32(random.below(12)))
        guard !sockets.values.contains(where: { $0.token == token }) else { return }
        sockets[cookie]?.token = token
        let isDenied = random.oneIn(3)
        let event = SubflowEvent.established(
            token, SubflowFacts(local: Self.remote(9), remote: socket.remote), isServer: false,
            deniesJoinToFirst: isDenied)
        tell(event)
    }

    /// The path manager tells the daemon something: some of it is lost.
    private mutating func tell(_ event: SubflowEvent) {
        guard !random.oneIn(6) else {
            hasLost = true
            return
        }
        perform(machine.event(event, of: anyUser(), at: now))
    }

    private mutating func close(_ cookie: UInt64) {
        guard let socket = sockets.removeValue(forKey: cookie) else { return }
        for id in processes.keys { processes[id]?.held.removeAll { $0 == cookie } }
        if let token = socket.token { tell(.closed(token)) }
    }

    private mutating func announce(_ cookie: UInt64) {
        guard let token = sockets[cookie]?.token else { return }
        let id = UInt8(random.below(4))
        if random.oneIn(4) {
            sockets[cookie]?.announced[id] = nil
            // A removal that is lost is one that the daemon can't know of.
            perform(machine.event(.removed(token, remoteID: id), at: now))
        } else {
            let remote = Self.remote(random.below(8))
            sockets[cookie]?.announced[id, default: []].insert(remote)
            tell(.announced(token, remoteID: id, remote))
        }
    }

    /// A process gives another one a descriptor.
    private mutating func pass() {
        guard let from = anyProcess(), let to = anyProcess(), let cookie = processes[from]?.held.first else {
            return
        }
        guard processes[to]?.held.contains(cookie) == false else { return }
        processes[to]?.held.append(cookie)
        processes[to]?.proved.insert(cookie)
    }

    // MARK: What the machine wants

    mutating func perform(_ actions: [BrokerMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let id, let message): sent(message, to: id)
            case .work(let id, let work): ordered(work, of: id)
            case .drop(let id): processes[id]?.isDropped = true
            case .verify(let tokens):
                let cookies = tokens.map { token in
                    (token, sockets.values.first { $0.token == token }?.cookie)
                }
                perform(machine.verified(cookies))
            case .wake(let id):
                let isWaiting = if case .waitForTurn? = processes[id]?.work { true } else { false }
                if !isWaiting { fault("client \(id) is woken, and waits for no turn") }
            case .hideAnnouncements: break
            }
        }
        if machine.connectionCount > limits.connections { fault("too many connections") }
        if machine.mostAnnounced > limits.addressesPerPeer { fault("too many addresses of a peer") }
    }

    mutating func sent(_ message: BrokerMessage, to id: ClientID) {
        guard let process = processes[id] else {
            return fault("a message for a client that has gone: \(message)")
        }
        switch message {
        case .event(let event):
            guard let token = event.token else { return }
            if !process.tokens.contains(token) {
                fault("client \(id) is told of \(event), which is none of its own")
            }
            if case .closed = event { processes[id]?.attached.remove(token) }
        case .done(let number):
            close(number, of: id)
            noteAttached(process, id)
        case .welcome(let number, _), .status(let number, _): close(number, of: id)
        case .refused(let number, let failure):
            refusalCount += 1
            // The token names another socket by now.
            if failure.refusal == .alreadyGone, case .order(_, let token)? = process.asked {
                processes[id]?.attached.remove(token)
            }
            if number != 0 || process.open.first == 0 { close(number, of: id) }
        }
        // A client that does not read.
        if process.lies, random.oneIn(60) { perform(machine.failedToSend(to: id)) }
    }

    private mutating func noteAttached(_ process: Process, _ id: ClientID) {
        switch process.asked {
        case .attach(let token): processes[id]?.attached.insert(token)
        case .detach(let token): processes[id]?.attached.remove(token)
        default: return
        }
        let count = processes.values.filter { $0.user == process.user }.map(\.attached.count).reduce(0, +)
        if count > limits.connectionsPerUser { fault("user \(process.user) has \(count) connections") }
    }

    private mutating func close(_ number: UInt32, of id: ClientID) {
        guard processes[id]?.open.first == number else {
            return fault("client \(id) is answered \(number), and has asked \(processes[id]?.open ?? [])")
        }
        processes[id]?.open.removeFirst()
    }

    private mutating func ordered(_ work: BrokerMachine.Work, of id: ClientID) {
        guard let process = processes[id] else { return fault("work for a client that has gone") }
        if process.work != nil { fault("client \(id) has two works under way") }
        processes[id]?.work = work
        switch work {
        case .prepare:
            let others = processes.filter {
                $0.key != id && $0.value.user == process.user && $0.value.work == .prepare
            }
            if !others.isEmpty { fault("two sockets of user \(process.user) are prepared at once") }
            guard let socket = process.passed.flatMap({ sockets[$0] }) else {
                // It was closed since: a descriptor keeps a socket, but here the world is simpler.
                return
            }
            if socket.namespace != 1 || !socket.isMPTCP || socket.isListening {
                fault("\(socket) is prepared")
            }
        case .perform(let action, let token): check(action, token, of: id, process)
        case .wait, .waitForTurn, .tell, .examine, .look, .check, .route, .isOwn: break
        }
    }

    private mutating func check(
        _ action: SubflowAction, _ token: ConnectionToken, of id: ClientID, _ process: Process
    ) {
        orderCount += 1
        guard let cookie = found[id] else { return fault("an order without a look") }
        guard process.proved.contains(cookie) else {
            return fault("client \(id) gives an order for the socket \(cookie), which it never had")
        }
        guard process.tokens.contains(token) else {
            return fault("client \(id) gives an order for \(token), which it has not attached")
        }
        // It was closed since.
        guard let socket = sockets[cookie] else { return }
        switch action {
        case .create(let local, _, let remote):
            createCount += 1
            let isKnown = remote == socket.remote || socket.announced.values.contains { $0.contains(remote) }
            if !isKnown { fault("a subflow to \(remote), which was not announced") }
            let others = processes.filter { $0.key != id && found[$0.key] == cookie }.values.count {
                if case .perform(.create, _)? = $0.work { true } else { false }
            }
            if Int(socket.subflows) + others >= limits.subflowsPerConnection {
                fault("a subflow beside \(socket.subflows), and \(others) that are being made")
            }
            let route = BrokerMachine.Work.route(user: process.user, mark: socket.mark, local, remote)
            if process.allowed != route { fault("a subflow by another way than was asked about") }
        case .announce(let local):
            if process.allowed != .isOwn(local.address) {
                fault("\(local) is announced, and not asked about")
            }
        case .withdraw, .destroy, .reset, .prioritize: break
        }
    }

    /// Whether so many happened in any while as the rate allows.
    mutating func checkRate(_ times: [MonotonicTime], _ rate: BrokerLimits.Rate, _ what: String) {
        guard let last = times.last else { return }
        for (place, first) in times.enumerated() {
            let count = times.count - place
            let allowed = Double(rate.burst) + first.duration(to: last).inSeconds * Double(rate.perSecond) + 1
            if Double(count) > allowed { return fault("\(count) \(what) in \(first.duration(to: last))") }
        }
    }
}
