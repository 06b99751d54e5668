import Dispatch
import LinuxNet
import PathCore

/// One client, on a thread of its own: receives its packets, does what the machine wants done for it, and ends with it.
final class BrokerSession: @unchecked Sendable {
    let id: BrokerMachine.ClientID
    let peer: LocalPeer
    /// Nil once it is closed.
    private var socket: Descriptor?
    /// The client's process: its end is the client's, also where another process has the socket by then.
    private let process: Descriptor?
    private unowned let broker: Broker

    /// Its turn has come.
    private let turn = DispatchSemaphore(value: 0)

    // Used by the thread alone.
    private var passed: Descriptor?
    /// Until when that may be prepared; nil for whenever it comes to it.
    private var deadline: MonotonicTime?
    private var commands: SubflowCommands?
    private var lookup: ConnectionLookup?
    private var routes: RouteTables?

    init(
        _ id: BrokerMachine.ClientID, _ socket: consuming Descriptor, _ peer: LocalPeer, unreadBytes: Int,
        _ broker: Broker
    ) {
        self.id = id
        self.peer = peer
        self.broker = broker
        process = LocalPackets.peerProcess(of: socket)
        LocalPackets.setSendBuffer(of: socket, toBytes: unreadBytes)
        self.socket = .some(socket)
    }

    /// - Returns: false where there is no thread for it.
    func start() -> Bool {
        withSocket { _ = LocalPackets.allowDescriptors(true, on: $0) }
        do {
            try OwnThread.start("client") { [self] in
                run()
                (commands, lookup, routes) = (nil, nil, nil)
                broker.left(self)
                waitUntilRead()
                broker.ended(self)
            }
            return true
        } catch {
            // The thread that accepts closes it, and is not to wait for what may be in it.
            withSocket { _ = LocalPackets.allowDescriptors(false, on: $0) }
            end()
            return false
        }
    }

    /// Closes the socket of a client that is not admitted, when it has read why, on a thread that may wait.
    ///
    /// - Returns: false where there is no thread for it.
    func startClosing() -> Bool {
        (try? OwnThread.start("refused") { [self] in
            waitUntilRead()
            broker.ended(self)
        }) != nil
    }

    /// Whether the client has not read all that it was sent, and has its socket open.
    var hasUnread: Bool {
        switch socket {
        case nil: false
        case .some(let socket): LocalPackets.unreadBytes(of: socket) > 0
        }
    }

    /// As long as it likes. The kernel keeps what is unread on this process's account, also when the socket is closed here; only
    /// while it is open can that be asked.
    private func waitUntilRead() {
        end()
        // The client may have passed its own end, which stays open for as long as the packet waits here, also when every process of
        // the client has ended. Nothing comes after the end: once is enough.
        withSocket { LocalPackets.discardAll(from: $0) }
        var pause = Duration.milliseconds(1)
        while hasUnread {
            ThreadPause.sleep(pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private static let longestPause = Duration.milliseconds(500)

    /// By the thread alone, when no other can find the session any more.
    func close() { socket = nil }

    private func withSocket(_ body: (borrowing Descriptor) -> Void) {
        switch socket {
        case nil: break
        case .some(let socket): body(socket)
        }
    }

    /// From any thread that holds the machine's lock: sends at once or not at all.
    /// - Returns: false where the client does not read.
    func send(_ message: BrokerMessage) -> Bool {
        do throws(SystemError) {
            switch socket {
            case nil: break
            case .some(let socket): try LocalPackets.send(message.packet, over: socket)
            }
            return true
        } catch {
            // One that has gone is no slow one: its thread finds out.
            return error.isBrokenPipe || error.isReset
        }
    }

    /// From any thread: ends a wait for the turn, or the next one.
    func wake() { turn.signal() }

    /// From any thread that holds the machine's lock.
    func end() { withSocket { LocalPackets.shutDown($0) } }

    // MARK: On the thread

    private func run() {
        while hasPacket {
            do throws(SystemError) {
                guard let packet = try receive() else { return }
                handle(packet)
            } catch {
                guard error.isWouldBlock else { return }
            }
        }
    }

    private var hasPacket: Bool {
        switch socket {
        case nil: false
        case .some(let socket): LocalPackets.wait(for: socket, process: processNumber) == .packet
        }
    }

    private func receive() throws(SystemError) -> LocalPacket? {
        switch socket {
        case nil: return nil
        case .some(let socket):
            return try LocalPackets.receive(
                from: socket, limit: BrokerProtocol.longestRequest, waits: false)
        }
    }

    private var processNumber: CInt? {
        switch process {
        case nil: nil
        case .some(let process): process.number
        }
    }

    private func handle(_ packet: consuming LocalPacket) {
        let (bytes, isCut) = (packet.bytes, packet.isCut)
        var descriptors = packet.takeDescriptors()
        let count = descriptors.count
        if count == 1 { passed = descriptors.takeLast() }
        // Read before the lock is taken.
        let packet = BrokerRequest.read(bytes)
        deadline = if case .success(.prepareBy(let time)) = packet.1 { time } else { nil }
        var work = broker.handle {
            $0.packet(packet, descriptors: count, isCut: isCut, from: id, at: .now)
        }
        while let next = work {
            let answer = perform(next)
            work = broker.handle { $0.answered(answer, from: id, at: .now) }
        }
        // Last of all: to close it may take as long as the client likes.
        passed = nil
    }

    private func perform(_ work: BrokerMachine.Work) -> BrokerMachine.Answer {
        switch work {
        case .wait(let duration):
            ThreadPause.sleep(duration)
            return .waited
        case .waitForTurn(let duration):
            _ = turn.wait(timeout: .now() + .nanoseconds(Int(duration.wholeNanoseconds)))
            return .waited
        case .tell(let message): return .told(send(message))
        case .prepare: return prepare()
        case .examine:
            let isWithdrawn = openEnvelope()
            var facts = passed.facts
            facts.isWithdrawn = isWithdrawn
            return .examined(facts)
        case .look(let token):
            do throws(SystemError) {
                return .found(try useLookup().find(token, countsSubflows: true))
            } catch {
                return .finished(BrokerFailure(error))
            }
        default: return .finished(failure(of: work))
        }
    }

    /// - Returns: whether the client has taken back what lay in it.
    private func openEnvelope() -> Bool {
        guard let descriptor = passed.take() else { return false }
        passed = DescriptorEnvelope.open(descriptor)
        return switch passed {
        case nil: true
        case .some: false
        }
    }

    private func prepare() -> BrokerMachine.Answer {
        guard let socket = passed.take() else {
            return .prepared(BrokerFailure(.noDescriptor), changed: .zero)
        }
        let outcome = broker.select(for: socket, of: peer, by: deadline)
        return .prepared(outcome.failure.map { BrokerFailure(ofPreparing: $0) }, changed: outcome.changed)
    }

    private func failure(of work: BrokerMachine.Work) -> BrokerFailure? {
        do throws(SystemError) {
            switch work {
            case .check(let token): _ = try useCommands().addresses(token)
            case .route(let user, let mark, let local, let remote):
                return failure(ofRouteFor: user, mark, local, remote)
            case .isOwn(let address):
                guard case .local = try useRoutes().route(to: address, through: nil) else {
                    return BrokerFailure(.foreignAddress)
                }
            case .perform(let action, let token):
                switch try ConnectionSubflowControl(try useCommands()).perform(action, on: token) {
                case .alreadyGone: return BrokerFailure(.alreadyGone)
                case .refused: return BrokerFailure(.foreignSocket)
                case .accepted, .underWay: break
                }
            case .wait, .waitForTurn, .tell, .examine, .prepare, .look: break
            }
            return nil
        } catch {
            return BrokerFailure(error)
        }
    }

    /// A join is sent as this process, by the rules for its user, and so only where the client's own packets would go, too.
    private func failure(
        ofRouteFor user: UInt32, _ mark: UInt32, _ local: SubflowAction.LocalAddress, _ remote: IPEndpoint
    ) -> BrokerFailure? {
        do throws(SystemError) {
            let routes = try useRoutes()
            let clients = try routes.route(
                of: user, mark: mark, from: local.address, to: remote.address, through: local.interface)
            let own = try routes.route(
                of: nil, mark: mark, from: local.address, to: remote.address, through: local.interface)
            return clients == own
                ? nil
                : BrokerFailure(.noRoute, detail: "the user's packets would go another way than mpathd's")
        } catch {
            return BrokerFailure(.noRoute, errno: error.errno, detail: error.words)
        }
    }

    // Each client's own, so that one whose connection is held up holds up no other.

    private func useCommands() throws(SystemError) -> SubflowCommands {
        if let commands { return commands }
        let made = try SubflowCommands()
        commands = made
        return made
    }

    private func useLookup() throws(SystemError) -> ConnectionLookup {
        if let lookup { return lookup }
        let made = try ConnectionLookup()
        lookup = made
        return made
    }

    private func useRoutes() throws(SystemError) -> RouteTables {
        if let routes { return routes }
        let made = try RouteTables()
        routes = made
        return made
    }
}

extension Optional where Wrapped == Descriptor {
    fileprivate var facts: PassedSocketFacts {
        switch self {
        case nil: PassedSocketFacts()
        case .some(let descriptor): PassedSocketFacts.read(descriptor)
        }
    }
}

extension BrokerFailure {
    /// What an error of the path manager's, or of a question, means to a client.
    fileprivate init(_ error: SystemError) {
        if SystemError.isNotConnected(error.errno) {
            self.init(.notReady)
        } else if error.meansKernelPathManager {
            self.init(.foreignSocket)
        } else {
            self.init(.kernel, errno: error.errno, detail: error.description)
        }
    }

    fileprivate init(ofPreparing error: SystemError) {
        if error.isTimeout {
            self.init(.socketHeld)
        } else if error.isWouldBlock {
            self.init(.settingBusy)
        } else if error.isTooLate {
            self.init(.tooLate)
        } else {
            self.init(.kernel, errno: error.errno, detail: error.description)
        }
    }
}
