import PathCore

// A client's requests, step by step.

extension BrokerMachine {
    /// A client has sent a packet. It has no request under way: its thread reads none then.
    ///
    /// - Parameters:
    ///   - packet: what `BrokerRequest.read` made of it: that takes its time, and other clients are not to wait for it.
    ///   - descriptors: how many came with it.
    ///   - isCut: whether it was longer than may be, or its descriptors were more.
    package mutating func packet(
        _ packet: (id: UInt32, content: Result<BrokerRequest, BrokerRefusal>), descriptors: Int, isCut: Bool,
        from id: ClientID, at now: MonotonicTime
    ) -> [Action] {
        guard let client = clients[id], !client.isDropped, client.request == nil else { return [] }
        let pause = users[client.user]?.packets.borrow(at: now) ?? .zero
        let number = packet.id
        let request: BrokerRequest
        switch isCut ? .failure(.tooLong) : packet.content {
        case .success(let read): request = read
        case .failure(let refusal): return refuseMalformed(id, number, refusal, after: pause)
        }
        if let refusal = refusal(of: request, descriptors: descriptors, client) {
            return paused(id, pause) + refuse(id, number, refusal)
        }
        clients[id]?.request = Request(id: number, content: request, since: now)
        // The answer waits for as long as the user has asked too much. Nothing else does.
        guard pause == .zero else { return [.work(id, .wait(pause))] }
        return start(id, at: now)
    }

    private func paused(_ id: ClientID, _ pause: Duration) -> [Action] {
        pause == .zero ? [] : [.work(id, .wait(pause))]
    }

    private mutating func refuseMalformed(
        _ id: ClientID, _ number: UInt32, _ refusal: BrokerRefusal, after pause: Duration
    ) -> [Action] {
        clients[id]?.malformed += 1
        let answer = paused(id, pause) + refuse(id, number, refusal)
        if refusal == .version {
            // It won't speak ours later.
            clients[id]?.isDropped = true
            totals.drops[.version, default: 0] += 1
            return answer + [.drop(id)]
        }
        guard let client = clients[id], client.malformed > limits.malformedPackets else { return answer }
        return answer + drop(id, .malformed, refusal)
    }

    /// What can be told of a request by itself.
    private func refusal(of request: BrokerRequest, descriptors: Int, _ client: Client) -> BrokerRefusal? {
        if descriptors > 1 || descriptors == 1 && !request.takesDescriptor { return .unwantedDescriptor }
        if descriptors == 0, request.takesDescriptor { return .noDescriptor }
        if !client.hasGreeted, request != .hello { return .noHello }
        return nil
    }

    /// Begins a request's work, now or again.
    private mutating func start(_ id: ClientID, at now: MonotonicTime) -> [Action] {
        guard let client = clients[id], let request = client.request, let user = users[client.user] else {
            return []
        }
        switch request.content {
        case .hello:
            clients[id]?.hasGreeted = true
            return finish(id, .welcome(id: request.id, welcome))
        case .status:
            let visible = client.user == 0 ? nil : client.user
            return step(id, .telling, .tell(.status(id: request.id, status(for: visible))), at: now)
        case .detach(let token):
            guard client.connections.contains(token) else { return refuse(id, request.id, .foreignToken) }
            clients[id]?.connections.remove(token)
            connections[token] = nil
            users[client.user]?.connections -= 1
            return finish(id, .done(id: request.id))
        case .prepare, .prepareBy:
            if isHeldUp(user, except: id, at: now) { return refuse(id, request.id, .socketHeld) }
            let isBusy = user.clients.contains { other in
                other != id
                    && clients[other]?.request.map { $0.content.prepares && $0.step != .waiting } ?? false
            }
            if isBusy {
                if !user.turns.contains(id) { users[client.user]?.turns.append(id) }
                // Nothing takes longer without being held.
                return [.work(id, .waitForTurn(limits.longestCall))]
            }
            users[client.user]?.turns.removeAll { $0 == id }
            guard users[client.user]?.changed.isSpent(at: now) == false,
                users[client.user]?.prepares.spend(at: now) == true
            else { return refuse(id, request.id, .tooFast) }
            clients[id]?.prepares += 1
            totals.prepares += 1
            return step(id, .examining, .examine, at: now)
        case .attach(let token):
            if isHeldUp(user, except: id, at: now) { return refuse(id, request.id, .socketHeld) }
            guard hasRoom(for: token, of: client.user) else {
                return refuse(id, request.id, .tooManyConnections)
            }
            return step(id, .examining, .examine, at: now)
        case .order(_, let token):
            guard client.connections.contains(token) else { return refuse(id, request.id, .foreignToken) }
            if isHeldUp(user, except: id, at: now) { return refuse(id, request.id, .socketHeld) }
            guard users[client.user]?.orders.spend(at: now) == true else {
                return refuse(id, request.id, .tooFast)
            }
            clients[id]?.orders += 1
            totals.orders += 1
            return step(id, .looking, .look(token), at: now)
        }
    }

    /// A client's thread has done what it was to do.
    package mutating func answered(_ answer: Answer, from id: ClientID, at now: MonotonicTime) -> [Action] {
        guard let client = clients[id], let request = client.request else { return [] }
        switch (request.step, answer) {
        case (.waiting, .waited): return start(id, at: now)
        case (.examining, .examined(let facts)): return examined(id, request, facts, at: now)
        case (.looking, .found(let facts)): return found(id, client, request, facts, at: now)
        case (.telling, .told(let isRead)):
            return endRequest(id) + (isRead ? [] : failedToSend(to: id))
        case (.preparing, .prepared(let failure, let changed)):
            users[client.user]?.changed.book(Int(changed.wholeNanoseconds / 1_000), at: now)
            if failure?.refusal == .socketHeld {
                totals.heldUp += 1
                users[client.user]?.heldUntil = now.advanced(by: limits.heldPause)
            }
            return finished(id, request, failure)
        case (.preparing, .finished(let failure)): return finished(id, request, failure)
        case (.checking, .finished(nil)): return attach(id, client, request)
        case (.asking, .finished(nil)):
            guard case .order(let action, let token) = request.content else { return [] }
            // It may have become another's meanwhile, and its peer may have taken the address back.
            guard let connection = connections[token], connection.owner == id else {
                return refuse(id, request.id, .foreignToken)
            }
            if case .create(_, _, let remote) = action, !connection.mayReach(remote) {
                return refuse(id, request.id, .foreignRemote)
            }
            return step(id, .performing, .perform(action, token), at: now)
        case (.performing, .finished(let failure)), (.checking, .finished(let failure)),
            (.asking, .finished(let failure)):
            return finished(id, request, failure)
        default: return []
        }
    }

    // MARK: Steps

    private mutating func step(
        _ id: ClientID, _ step: Step, _ work: Work, at now: MonotonicTime
    ) -> [Action] {
        clients[id]?.request?.step = step
        clients[id]?.request?.since = now
        return [.work(id, work)]
    }

    private mutating func examined(
        _ id: ClientID, _ request: Request, _ facts: PassedSocketFacts, at now: MonotonicTime
    ) -> [Action] {
        guard !facts.isWithdrawn else { return refuse(id, request.id, .tooLate) }
        guard facts.isInternet else { return refuse(id, request.id, .noInternetSocket) }
        guard facts.isMPTCP else { return refuse(id, request.id, .noMPTCPSocket) }
        guard facts.namespace == welcome.namespace, let cookie = facts.cookie else {
            return refuse(id, request.id, .otherNamespace)
        }
        guard case .attach(let token) = request.content else {
            return facts.isInUse
                ? refuse(id, request.id, .socketInUse) : step(id, .preparing, .prepare, at: now)
        }
        clients[id]?.request?.cookie = cookie
        clients[id]?.request?.mark = facts.mark
        return step(id, .looking, .look(token), at: now)
    }

    private mutating func found(
        _ id: ClientID, _ client: Client, _ request: Request, _ facts: ConnectionFacts?, at now: MonotonicTime
    ) -> [Action] {
        switch request.content {
        case .attach(let token):
            guard let facts, facts.cookie == request.cookie else {
                return refuse(id, request.id, .foreignToken)
            }
            clients[id]?.request?.remote = facts.remote
            return step(id, .checking, .check(token), at: now)
        case .order(let action, let token):
            // It may have been detached meanwhile, or be another's by now.
            guard let connection = connections[token], connection.owner == id else {
                return refuse(id, request.id, .foreignToken)
            }
            guard let facts, facts.cookie == connection.cookie else {
                forget(token)
                return refuse(id, request.id, .alreadyGone)
            }
            return order(id, client, request, action, token, connection, facts, at: now)
        case .hello, .prepare, .prepareBy, .detach, .status: return []
        }
    }

    private mutating func order(
        _ id: ClientID, _ client: Client, _ request: Request, _ action: SubflowAction,
        _ token: ConnectionToken,
        _ connection: Connection, _ facts: ConnectionFacts, at now: MonotonicTime
    ) -> [Action] {
        switch action {
        case .create(let local, _, let remote):
            guard connection.mayReach(remote) else { return refuse(id, request.id, .foreignRemote) }
            // Of a client whose connection it was before, one may be under way.
            let others = clients.values.count { $0.request?.makesSubflow(of: token) ?? false }
            if let count = facts.additionalSubflows, Int(count) + others >= limits.subflowsPerConnection {
                return refuse(id, request.id, .tooManySubflows)
            }
            return step(
                id, .asking, .route(user: client.user, mark: connection.mark, local, remote), at: now)
        case .announce(let local): return step(id, .asking, .isOwn(local.address), at: now)
        case .withdraw, .destroy, .reset, .prioritize:
            return step(id, .performing, .perform(action, token), at: now)
        }
    }

    private mutating func attach(_ id: ClientID, _ client: Client, _ request: Request) -> [Action] {
        guard case .attach(let token) = request.content, let cookie = request.cookie,
            let remote = request.remote
        else { return [] }
        // Asked before the work began, too; another client may have attached one since.
        guard hasRoom(for: token, of: client.user) else { return refuse(id, request.id, .tooManyConnections) }
        var actions: [Action] = []
        var connection = Connection(owner: id, cookie: cookie, remote: remote)
        connection.mark = request.mark
        if let before = connections[token] {
            // The same socket, held by both. The latest one steers.
            if before.cookie == cookie { connection.announced = before.announced }
            if before.owner != id { actions.append(.send(before.owner, .event(.closed(token)))) }
            forget(token)
        }
        users[client.user]?.connections += 1
        clients[id]?.connections.insert(token)
        connections[token] = connection
        actions += finish(id, .done(id: request.id))
        for event in early.drain(token) { actions += tell(event, token) }
        return actions
    }

    /// Whether a user may attach a connection. One that it has attached already adds none.
    private func hasRoom(for token: ConnectionToken, of user: UInt32) -> Bool {
        if let before = connections[token], clients[before.owner]?.user == user { return true }
        guard connections[token] != nil || connections.count < limits.connections else { return false }
        return users[user].map { $0.connections < limits.connectionsPerUser } ?? false
    }

    private mutating func finished(_ id: ClientID, _ request: Request, _ failure: BrokerFailure?) -> [Action]
    {
        if let failure { return refuse(id, request.id, failure) }
        return finish(id, .done(id: request.id))
    }

    private mutating func finish(_ id: ClientID, _ message: BrokerMessage) -> [Action] {
        [.send(id, message)] + endRequest(id)
    }
}

extension BrokerMachine.Request {
    /// Whether the kernel is making a subflow for it.
    fileprivate func makesSubflow(of token: ConnectionToken) -> Bool {
        if step == .performing, case .order(.create, token) = content { return true }
        return false
    }
}

extension BrokerMachine.Connection {
    /// Whether a subflow may be made to an endpoint: the one that was connected to, or one that the peer has announced. A
    /// peer that announces no port means the first one's.
    func mayReach(_ endpoint: IPEndpoint) -> Bool {
        endpoint == remote
            || announced.values.contains { address in
                address.address == endpoint.address
                    && (address.port == 0 ? remote.port : address.port) == endpoint.port
            }
    }
}
