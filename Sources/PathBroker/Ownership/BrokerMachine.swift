// Which client may do what to which connection, and how much. Pure: packets, what the kernel says, and time come in;
// answers, questions to the kernel and orders go out. `BrokerSession` runs it.
//
// The rules:
// - Authority is the socket that a client holds. It attaches a connection by passing the connection's socket; the socket's
//   cookie has to be the one that the kernel gives for the token. Orders are taken from that client only.
// - Before each order the kernel is asked again which socket the token names: tokens are numbers that come again.
// - A client has one request under way. What takes long holds up that client, and no other user's.
// - What is kept, and how often a user may ask, is bounded by `BrokerLimits`.
// - A client counts until it has read what it was sent, or closed its socket: what waits for it is the daemon's memory.
//
//     idle ── prepare ──► examining ────────────────────────► preparing ─────────────► idle
//      ├──── attach ────► examining ──► looking ────────────► checking ──────────────► idle
//      └──── an order ───────────────► looking ──► asking ──► performing ────────────► idle
//                                                 (create, announce)
//     Each step ends with the answer to the client where it finds a reason to refuse.
//
// A user's sockets are prepared one at a time, in the order in which they were asked for (`User.turns`): so a user whose
// sockets are held has the setting changed once.

import PathCore

/// Ownership and limits of the daemon's clients.
package struct BrokerMachine: Sendable {
    /// A client's number, which no other gets.
    package typealias ClientID = UInt64

    package enum Action: Sendable, Hashable {
        /// Send a client a message, at once or not at all; say `failedToSend` where it does not read.
        case send(ClientID, BrokerMessage)
        /// Do something for a client that may take its time; say `answered`.
        case work(ClientID, Work)
        /// End a client's connection; say `disconnected`.
        case drop(ClientID)
        /// Look without waiting which sockets these tokens name; say `verified`.
        case verify([ConnectionToken])
        /// Have the kernel keep what peers announce and wish to itself for a second.
        case hideAnnouncements
        /// It is the turn of a client that waits for it.
        case wake(ClientID)
    }

    /// What a client's own thread does. Each has one kind of answer.
    package enum Work: Sendable, Hashable {
        /// Wait. → `.waited`
        case wait(Duration)
        /// Wait for the user's other clients, no longer than this. → `.waited`, also where it was woken
        case waitForTurn(Duration)
        /// Send the client a long message; it may take a while to write. → `.told`
        case tell(BrokerMessage)
        /// Look at the descriptor that came with the packet. → `.examined`
        case examine
        /// Give that socket the userspace path manager. → `.prepared`
        case prepare
        /// Ask which socket a token names. → `.found`
        case look(ConnectionToken)
        /// Ask whether the userspace path manager serves it. → `.finished`
        case check(ConnectionToken)
        /// Ask whether a user's packets, with the socket's mark, may go so, and whether this process's would go the same way.
        /// → `.finished`
        case route(user: UInt32, mark: UInt32 = 0, SubflowAction.LocalAddress, IPEndpoint)
        /// Ask whether an address is this machine's. → `.finished`
        case isOwn(IPAddress)
        /// Give an order. → `.finished`
        case perform(SubflowAction, ConnectionToken)
    }

    package enum Answer: Sendable, Hashable {
        case waited
        /// Whether the client reads.
        case told(Bool)
        /// nil where it is done; for how long the setting was changed.
        case prepared(BrokerFailure?, changed: Duration)
        case examined(PassedSocketFacts)
        case found(ConnectionFacts?)
        /// nil where it is done.
        case finished(BrokerFailure?)
    }

    struct Client: Sendable {
        var user: UInt32
        var process: Int32
        /// False for one that was refused as it came.
        var isAdmitted = true
        var hasGreeted = false
        var isDropped = false
        var malformed = 0
        var connections: Set<ConnectionToken> = []
        var request: Request?
        var prepares: UInt64 = 0
        var orders: UInt64 = 0
        var refusals: UInt64 = 0
    }

    /// A request under way.
    struct Request: Sendable {
        var id: UInt32
        var content: BrokerRequest
        /// When its work began.
        var since: MonotonicTime
        var step = Step.waiting
        /// Of the socket that is to be attached.
        var cookie: UInt64?
        var remote: IPEndpoint?
        var mark: UInt32 = 0
    }

    enum Step: Sendable { case waiting, telling, examining, preparing, looking, checking, asking, performing }

    struct User: Sendable {
        var clients: Set<ClientID> = []
        /// Those that were refused as they came.
        var refused: Set<ClientID> = []
        var connections = 0
        var connects: RateBudget
        var packets: RateBudget
        var prepares: RateBudget
        var orders: RateBudget
        /// For how long the setting may be changed for this user's sockets.
        var changed: RateBudget
        /// Clients that wait to have a socket prepared, the first one first.
        var turns: [ClientID] = []
        /// Until when no request of the user's gets to a socket, because one held the daemon up.
        var heldUntil: MonotonicTime?
    }

    struct Connection: Sendable {
        var owner: ClientID
        var cookie: UInt64
        /// What was connected to.
        var remote: IPEndpoint
        /// What the peer has announced, by its ids.
        var announced: [UInt8: IPEndpoint] = [:]
        /// The socket's mark (SO_MARK), by which its packets are routed.
        var mark: UInt32 = 0
        /// Announcements and wishes in the second that began then.
        var announcements: (since: MonotonicTime, count: Int) = (.zero, 0)
        /// Whether some of them were kept back.
        var hasGap = false
    }

    let limits: BrokerLimits
    let welcome: BrokerWelcome
    var clients: [ClientID: Client] = [:]
    var refusedCount = 0
    var users: [UInt32: User] = [:]
    var connections: [ConnectionToken: Connection] = [:]
    var early = EarlyEvents()
    var announcements: (since: MonotonicTime, count: Int) = (.zero, 0)
    var totals = BrokerStatus()

    /// - Parameters:
    ///   - namespace: the daemon's network namespace (SO_NETNS_COOKIE).
    ///   - boot: of this start of the machine.
    package init(namespace: UInt64, boot: String, limits: BrokerLimits = BrokerLimits()) {
        self.limits = limits
        welcome = BrokerWelcome(namespace: namespace, boot: boot, limits: limits)
    }

    // MARK: What it knows

    /// Whether nothing is kept of any client.
    package var isEmpty: Bool {
        clients.isEmpty && connections.isEmpty
            && users.values.allSatisfy { $0.clients.isEmpty && $0.refused.isEmpty }
    }
    /// Whether a client has been admitted, and may go on.
    package func serves(_ id: ClientID) -> Bool { clients[id].map { !$0.isDropped } ?? false }
    /// How many users something is remembered of.
    package var userCount: Int { users.count }
    /// How many connections are attached.
    package var connectionCount: Int { connections.count }
    /// How many addresses are kept of the peer that has announced most.
    package var mostAnnounced: Int { connections.values.map(\.announced.count).max() ?? 0 }

    /// - Parameter user: whose clients are told of one by one; nil for all.
    package func status(for user: UInt32?) -> BrokerStatus {
        var status = totals
        status.clientCount = clients.count - refusedCount
        status.connectionCount = connections.count
        let shown = clients.values.filter { $0.isAdmitted && (user == nil || $0.user == user) }
        status.clients = shown.map { client in
            BrokerStatus.Client(
                process: client.process, user: client.user, connections: client.connections.count,
                prepares: client.prepares, orders: client.orders, refusals: client.refusals)
        }.sorted { ($0.process, $0.connections) < ($1.process, $1.connections) }
        return status
    }

    // MARK: Clients that come and go

    /// A process has connected.
    package mutating func connected(
        _ id: ClientID, user: UInt32, process: Int32, at now: MonotonicTime
    ) -> [Action] {
        forgetIdleUsers(at: now)
        if users[user] == nil {
            users[user] = User(
                connects: RateBudget(limits.connects, at: now), packets: RateBudget(limits.packets, at: now),
                prepares: RateBudget(limits.prepares, at: now), orders: RateBudget(limits.orders, at: now),
                changed: RateBudget(limits.changedMicroseconds, at: now))
        }
        clients[id] = Client(user: user, process: process)
        guard users[user]?.connects.spend(at: now) == true else {
            return refuse(id, of: user, .tooFast, .tooFast)
        }
        let isFull =
            clients.count - refusedCount > limits.clients
            || users[user].map { $0.clients.count >= limits.clientsPerUser } ?? true
        if isFull { return refuse(id, of: user, .tooManyClients, .tooManyClients) }
        users[user]?.clients.insert(id)
        return []
    }

    /// What a refused client is told waits until it reads that: beyond some they are told nothing.
    private mutating func refuse(
        _ id: ClientID, of user: UInt32, _ reason: BrokerDrop, _ refusal: BrokerRefusal
    ) -> [Action] {
        clients[id]?.isAdmitted = false
        users[user]?.refused.insert(id)
        refusedCount += 1
        let hears =
            refusedCount <= limits.refused
            && users[user].map { $0.refused.count <= limits.refusedPerUser } ?? false
        return drop(id, reason, refusal).filter { hears || $0 == .drop(id) }
    }

    /// A client's connection is over, and its thread does nothing for it any more. It counts until `disconnected`.
    package mutating func left(_ id: ClientID) -> [Action] {
        guard let client = clients[id] else { return [] }
        for token in client.connections { connections[token] = nil }
        users[client.user]?.connections -= client.connections.count
        clients[id]?.connections = []
        clients[id]?.isDropped = true
        return endRequest(id)
    }

    /// Nothing is left of a client: its socket is closed, and nothing that it was sent is unread.
    package mutating func disconnected(_ id: ClientID) -> [Action] {
        let actions = left(id)
        guard let client = clients.removeValue(forKey: id) else { return [] }
        if !client.isAdmitted { refusedCount -= 1 }
        users[client.user]?.clients.remove(id)
        users[client.user]?.refused.remove(id)
        return actions
    }

    /// Wakes the client that has waited longest to have a socket prepared.
    mutating func nextTurn(_ user: UInt32) -> [Action] {
        guard let next = users[user]?.turns.first else { return [] }
        users[user]?.turns.removeFirst()
        return [.wake(next)]
    }

    /// A client does not read what it is sent.
    package mutating func failedToSend(to id: ClientID) -> [Action] {
        guard clients[id]?.isDropped == false else { return [] }
        clients[id]?.isDropped = true
        totals.drops[.slowReader, default: 0] += 1
        return [.drop(id)]
    }

    /// A user without clients is kept only for as long as its budgets aren't full.
    private mutating func forgetIdleUsers(at now: MonotonicTime) {
        guard users.count > limits.clients else { return }
        for (number, var user) in users where user.clients.isEmpty && user.refused.isEmpty {
            let isSpent =
                !user.connects.isFull(at: now) || !user.prepares.isFull(at: now)
                || !user.packets.isFull(at: now)
                || !user.orders.isFull(at: now) || !user.changed.isFull(at: now)
                || user.heldUntil.map { $0 > now } ?? false
            if !isSpent { users[number] = nil }
        }
    }

    func isHeldUp(_ user: User, except id: ClientID, at now: MonotonicTime) -> Bool {
        if let until = user.heldUntil, now < until { return true }
        return user.clients.contains { other in
            guard other != id, let request = clients[other]?.request, request.step != .waiting else {
                return false
            }
            return request.since.duration(to: now) > limits.longestCall
        }
    }

    // MARK: Answers to clients

    mutating func drop(_ id: ClientID, _ reason: BrokerDrop, _ refusal: BrokerRefusal) -> [Action] {
        clients[id]?.isDropped = true
        totals.drops[reason, default: 0] += 1
        return [.send(id, .refused(id: 0, BrokerFailure(refusal))), .drop(id)]
    }

    mutating func refuse(_ id: ClientID, _ number: UInt32, _ failure: BrokerFailure) -> [Action] {
        clients[id]?.refusals += 1
        totals.refusals[failure.refusal, default: 0] += 1
        return [.send(id, .refused(id: number, failure))] + endRequest(id)
    }

    /// - Returns: what others waited for.
    mutating func endRequest(_ id: ClientID) -> [Action] {
        guard let client = clients[id], let request = client.request else { return [] }
        clients[id]?.request = nil
        users[client.user]?.turns.removeAll { $0 == id }
        return request.content.prepares ? nextTurn(client.user) : []
    }

    mutating func refuse(_ id: ClientID, _ number: UInt32, _ refusal: BrokerRefusal) -> [Action] {
        refuse(id, number, BrokerFailure(refusal))
    }
}
