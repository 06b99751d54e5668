// What decides for the trap, and follows the program's connections: on the event thread of a process of its own.
//
//     socket(2)    a socket from the reserve, or one made for the call     the library's own way to make and prepare one
//     connect(2)   a verdict: the interface, or that none is allowed       `PathChooser`
//     after that   looks at a duplicate until the handshake is complete    `LentSocket`
//     from then on the connection is followed without a descriptor         `ConnectionFollower(lent:…)`

import CTrap
import LinuxNet
import Multipath

/// The policy of one run.
package final class ProgramPolicy: @unchecked Sendable {
    /// What a run is asked to do.
    package struct Configuration: Sendable {
        package var connection = ConnectionConfiguration()
        /// How long a connect waits for a probe where its path is suspect: of a socket that does not block, and of one that does.
        package var patience = Duration.milliseconds(50)
        package var blockingPatience = Duration.milliseconds(250)
        /// Whether paths are prohibited: what can't be looked at is refused then.
        package var isStrict = false
        /// Whether what became of connections that have ended is to be told at the end.
        package var keepsEnded = false

        package init() {}
    }

    let channel: TrapChannel
    private let page: OpaquePointer
    let configuration: Configuration
    let monitor: PathMonitor
    let supply: SocketSupply
    private let chooser: PathChooser
    private let console: any ProgramConsole
    /// What is told of events; nil once the report is told, which is the last word.
    var voice: (any ProgramConsole)? { isReported ? nil : console }
    var thread: EventThread { monitor.runtime.thread }

    var ledger = SocketLedger()
    private var reserve = ReservePlan()
    /// Levels of sockets that the program may get, by cookie.
    private var levels: [UInt64: ControlLevel] = [:]
    /// Those of the reserve.
    private var reserved: Set<UInt64> = []
    /// Those among them that could not be prepared: others are to take their places.
    private var unprepared: [UInt64: IPAddress.Family] = [:]
    private var renewalPause = firstRenewal
    private var isRenewing = false
    /// Verdicts that wait for the first snapshot.
    private var undecided: [trap_message] = []
    private var hasPaths = false
    private var isReady = false
    private var isReported = false
    private var isReportWritten = false
    private var isOver = false
    /// Whether paths are prohibited.
    private var isStrict: Bool { configuration.isStrict }
    /// Whether the last socket can be steered.
    private var isSteering = false
    private var hasToldUnsteered = false
    private var toldOptions: Set<String> = []
    private static let mostOptions = 1_000
    private static let mostLevels = 1_024
    /// Whether the trap has got a socket for later.
    private var hasReserve = false
    private var generation: UInt32 = 0
    /// Sockets whose handshakes are under way, with the pause until the next look.
    var looks: [UInt64: Look] = [:]
    /// What waits for a duplicate that the trap was asked for.
    var loans: [UInt32: (cookie: UInt64, body: (CInt?) -> Void)] = [:]
    var lastLoan: UInt32 = 0
    var followers: [UInt64: ConnectionFollower] = [:]

    /// How long the first snapshot and the first sockets are waited for before calls are taken all the same.
    private static let beginning = Duration.seconds(1)
    /// How long a socket for later waits for an `mpathd` that is slow; one that a call waits for has `patience`.
    private static let reservePatience = Duration.seconds(1)
    private static let slowBrokerPause = Duration.milliseconds(10)
    private static let firstRenewal = Duration.milliseconds(100)
    private static let longestRenewal = Duration.seconds(30)
    /// How much longer a connect waits whose socket `mpathd` has begun to prepare: less than the trap (`GRACE`, `BLOCKING_GRACE`).
    private static let grace = Duration.milliseconds(80)
    private static let blockingGrace = Duration.milliseconds(950)

    /// - Parameters:
    ///   - channel: the policy's end, which is this object's from now on.
    ///   - page: what all processes of the run share.
    package init(
        channel: CInt, page: OpaquePointer, _ configuration: Configuration, console: any ProgramConsole
    ) {
        self.page = page
        self.configuration = configuration
        self.console = console
        monitor = PathMonitor()
        self.channel = TrapChannel(channel, on: monitor.runtime.thread)
        supply = SocketSupply(monitor)
        chooser = PathChooser(
            monitor, configuration.connection.policy, refusesUnknown: configuration.isStrict)
    }

    /// Runs until all is over.
    package func run() -> Never {
        thread.submit { [self] in begin() }
        ThreadPause.forever()
    }

    private func begin() {
        supply.begin()
        do throws(SystemError) {
            try channel.begin { [unowned self] message, descriptor in ingest(message, descriptor) }
        } catch {
            // The trap goes on without.
            ProcessEnvironment.exit(1)
        }
        chooser.begin { [self] in pathsChanged() }
        for family in [IPAddress.Family.ipv4, .ipv6] { refill(family) }
        _ = thread.schedule(at: .now.advanced(by: Self.beginning)) { [self] in becomeReady(isLate: true) }
    }

    private func becomeReady(isLate: Bool = false) {
        guard !isReady, isLate || hasPaths && hasReserve else { return }
        isReady = true
        trap_policy_is_ready(page)
        channel.send(trap_message(TRAP_POLICY_BEGAN))
    }

    private func pathsChanged() {
        hasPaths = true
        becomeReady()
        generation = trap_new_generation(page)
        let waiting = undecided
        undecided = []
        for message in waiting { decide(message) }
    }

    // MARK: The trap's messages

    private func ingest(_ message: trap_message, _ descriptor: CInt?) {
        switch trap_kind(message.kind) {
        case TRAP_BEGAN:
            reserve.lost()
            // Of the first trap, too, which has what was sent before it began.
            (reserved, unprepared) = ([], [:])
            for family in [IPAddress.Family.ipv4, .ipv6] { refill(family) }
            forgetLoans()
        case TRAP_SOCKET_GIVEN: given(message)
        case TRAP_SOCKET_PLAIN:
            ledger.madePlain()
            voice?.plain(message.thread, PlainReason(rawValue: message.error) ?? .unseen)
        case TRAP_SOCKET_WANTED: wanted(message)
        case TRAP_CONNECTS: connects(message, descriptor)
        case TRAP_UNEXAMINED: ledger.unexamined()
        case TRAP_LENT: lent(message, descriptor)
        case TRAP_OPTION: noteOption(message)
        case TRAP_PROGRAM_ENDED: report()
        case TRAP_OVER:
            // The waiter's word may come later, or never where it was killed.
            report()
            isOver = true
            if isReportWritten { ProcessEnvironment.exit(0) }
        default: break
        }
    }

    // MARK: Sockets

    /// Makes a socket, and another where `mpathd` was too slow for it, until there is no time left. One that is not prepared
    /// then may be when it is connected; after that it is not steered for as long as it lives.
    private func make(
        _ family: IPAddress.Family, until deadline: MonotonicTime,
        _ completion: @escaping (Result<SuppliedSocket, SystemError>) -> Void
    ) {
        // One that no program has yet may wait for as long as it takes.
        supply.make(family, patience: MonotonicTime.now.duration(to: deadline)) { [self] made in
            guard case .success(let socket) = made, socket.level.limit == .brokerSilent, .now < deadline
            else {
                if case .success(let socket) = made, socket.level.isPerConnection { renewSoon() }
                return completion(made)
            }
            _ = thread.schedule(at: .now.advanced(by: Self.slowBrokerPause)) { [self] in
                make(family, until: deadline, completion)
            }
        }
    }

    private func refill(_ family: IPAddress.Family) {
        guard !isStrict || isSteering else { return becomeReady(isLate: true) }
        let deadline = MonotonicTime.now.advanced(by: Self.reservePatience)
        for _ in 0..<reserve.order(family) {
            make(family, until: deadline) { [self] made in
                guard case .success(let socket) = made else {
                    reserve.made(family, isKept: false)
                    hasReserve = true
                    return becomeReady()
                }
                // As in `wanted`: the kernel's own path manager knows no prohibition.
                guard !isStrict || socket.level.isPerConnection else {
                    reserve.made(family, isKept: false)
                    hasReserve = true
                    return becomeReady()
                }
                reserve.made(family, isKept: true)
                handForLater(socket, family)
                hasReserve = true
                becomeReady()
            }
        }
    }

    private func handForLater(
        _ socket: SuppliedSocket, _ family: IPAddress.Family, replacing other: UInt64 = 0
    ) {
        var message = trap_message(TRAP_RESERVE)
        message.replaced = other
        hand(socket, family, &message)
        reserved.insert(message.cookie)
        guard !socket.level.isPerConnection else { return }
        unprepared[message.cookie] = family
        if socket.level.limit?.mayPass == true { renewSoon() }
    }

    /// Has sockets of the reserve that are not prepared replaced, at once where `mpathd` answers again, and in a while where it
    /// does not.
    private func renewSoon() {
        guard !unprepared.isEmpty, !isRenewing else { return }
        isRenewing = true
        _ = thread.schedule(at: .now.advanced(by: renewalPause)) { [self] in
            isRenewing = false
            renew()
        }
        renewalPause = min(renewalPause * 2, Self.longestRenewal)
    }

    private func renew() {
        guard let (cookie, family) = unprepared.first else { return }
        isRenewing = true
        supply.make(family, patience: Self.reservePatience) { [self] made in
            isRenewing = false
            guard case .success(let socket) = made, socket.level.isPerConnection else {
                // Without any mpathd there is nothing to wait for: the next socket that is made tries again.
                if case .success(let socket) = made, socket.level.limit?.mayPass == true { renewSoon() }
                return
            }
            renewalPause = Self.firstRenewal
            if unprepared.removeValue(forKey: cookie) != nil {
                reserved.remove(cookie)
                // Where the program takes it meanwhile this one comes in addition, and counts for it.
                handForLater(socket, family, replacing: cookie)
            }
            renew()
        }
    }

    private func wanted(_ question: trap_message) {
        let family = question.addressFamily
        reserve.missed(family)
        make(family, until: .now.advanced(by: configuration.patience)) { [self] made in
            var message = trap_message(TRAP_GIVE, sequence: question.sequence)
            guard case .success(let socket) = made else { return channel.send(message) }
            isSteering = socket.level.isPerConnection
            guard !isStrict || isSteering else {
                // The kernel's own path manager knows no prohibition.
                message.error = CInt(TRAP_UNSTEERED.rawValue)
                noteUnsteered(socket.level.limit ?? .noPrivilege)
                return channel.send(message)
            }
            hand(socket, family, &message)
        }
    }

    private func hand(_ socket: SuppliedSocket, _ family: IPAddress.Family, _ message: inout trap_message) {
        message.family = UInt16(family == .ipv4 ? TRAP_IPV4.rawValue : TRAP_IPV6.rawValue)
        message.cookie = trap_socket_cookie(socket.number)
        // What a trap had in reserve when it was killed no program gets. The kernel counts cookies upward.
        if levels.count >= Self.mostLevels {
            for cookie in levels.keys.sorted().prefix(Self.mostLevels / 2) { levels[cookie] = nil }
        }
        levels[message.cookie] = socket.level
        if socket.level.limit?.mayPass == true { message.flags |= TRAP_UNPREPARED.rawValue }
        channel.send(message, passing: socket)
    }

    private func given(_ message: trap_message) {
        let level = levels.removeValue(forKey: message.cookie)
        ledger.made(
            ProgramSocket(
                cookie: message.cookie, thread: message.thread, descriptor: message.descriptor,
                level: level ?? .observeOnly(because: .brokerSilent)))
        unprepared[message.cookie] = nil
        if reserved.remove(message.cookie) != nil { reserve.taken(message.addressFamily) }
        refill(message.addressFamily)
    }

    // MARK: Connects

    private func connects(_ message: trap_message, _ descriptor: CInt?) {
        let isMPTCP = message.flags & TRAP_IS_MPTCP.rawValue != 0
        // A policy before has made its socket, as this one would.
        let isInherited = message.flags & TRAP_REPEATED.rawValue != 0
        if isInherited, ledger[message.cookie] != nil {
            if message.sequence != 0, hasPaths { settle(message, descriptor) }
            return
        }
        ledger.connects(message.cookie, by: message.thread, message.descriptor, to: message.destination)
        ledger.update(message.cookie) {
            $0.program = OtherProcess.name(of: message.thread)
            $0.inode = message.inode
            $0.process = OtherProcess.process(of: message.thread)
            if !isMPTCP {
                $0.level = .observeOnly(because: .plainTCP)
            } else if isInherited, let level = supply.level {
                $0.level = level
            }
        }
        if message.sequence != 0 {
            if hasPaths { settle(message, descriptor) } else { undecided.append(message) }
        } else {
            note(message.interface, for: message.cookie)
        }
        // Where it has connected before, what that came to says nothing of this.
        if ledger[message.cookie]?.state == .connecting { look(at: message.cookie) }
    }

    /// Answers a connect; where its socket is the kernel's own still, it is prepared first. After the connect none is.
    private func settle(_ message: trap_message, _ descriptor: CInt?) {
        guard let descriptor, message.flags & TRAP_UNPREPARED.rawValue != 0 else { return decide(message) }
        let waits = message.flags & TRAP_NONBLOCKING.rawValue == 0
        supply.prepare(
            descriptor, by: MonotonicTime(nanoseconds: Int64(clamping: message.deadline)),
            patience: waits ? Self.blockingGrace : Self.grace
        ) { [self] level in
            var message = message
            if level.isPerConnection {
                ledger.update(message.cookie) { $0.level = level }
                message.flags |= TRAP_PREPARED.rawValue
                renewSoon()
            } else if isStrict {
                ledger.refused(message.cookie)
                return answer(message, nil, error: CInt(TRAP_UNREACHABLE.rawValue))
            }
            // What the program has bound itself is looked at where paths are prohibited, and else let go.
            guard isStrict || message.flags & TRAP_IS_BOUND.rawValue == 0 else { return answer(message, nil) }
            decide(message)
        }
    }

    private func decide(_ message: trap_message) {
        let isBound = message.flags & TRAP_IS_BOUND.rawValue != 0
        guard let destination = message.destination,
            let choice = chooser.choose(
                for: destination, bound: isBound ? (message.interface, message.ownAddress) : nil)
        else { return answer(message, nil) }
        switch choice {
        case .leave: answer(message, nil, mayKeep: true)
        case .refuse:
            ledger.refused(message.cookie)
            looks[message.cookie] = nil
            if let socket = ledger[message.cookie] { voice?.refused(socket) }
            answer(message, nil, error: CInt(TRAP_UNREACHABLE.rawValue))
        case .bind(let ways):
            guard !isBound, let first = ways.first else { return answer(message, nil) }
            let others = ways.dropFirst().filter { !$0.isSuspect }
            guard first.isSuspect, let other = others.first else {
                return answer(message, first, mayKeep: !first.isSuspect)
            }
            let waits = message.flags & TRAP_NONBLOCKING.rawValue == 0
            chooser.probe(
                destination, over: [first, other],
                patience: waits ? configuration.blockingPatience : configuration.patience
            ) { [self] answered in
                answer(message, answered == first.interface ? first : other)
            }
        }
    }

    private func answer(
        _ question: trap_message, _ way: PathChooser.Way?, error: CInt = 0, mayKeep: Bool = false
    ) {
        var message = trap_message(TRAP_VERDICT, sequence: question.sequence)
        message.interface = way?.interface ?? 0
        message.error = error
        message.generation = generation
        message.flags = question.flags & TRAP_PREPARED.rawValue
        if mayKeep { message.flags |= TRAP_MAY_KEEP.rawValue }
        channel.send(message)
        // The call has waited until now.
        looks[question.cookie]?.since = .now
        if let way { ledger.update(question.cookie) { $0.interface = way.name } }
    }

    private func note(_ interface: InterfaceIndex, for cookie: UInt64) {
        guard interface != 0, let name = chooser.name(of: interface) else { return }
        ledger.update(cookie) { $0.interface = name }
    }

    // MARK: What is said once

    func noteUnsteered(_ limit: ControlLimit) {
        guard !hasToldUnsteered else { return }
        hasToldUnsteered = true
        voice?.unsteered(limit)
    }

    private func noteOption(_ message: trap_message) {
        guard let option = LackingOption(level: message.family, number: message.port),
            let program = OtherProcess.name(of: message.thread),
            toldOptions.count < Self.mostOptions, toldOptions.insert("\(program) \(option)").inserted
        else { return }
        voice?.option(option, of: program)
    }

    // MARK: The end

    private func report() {
        guard !isReported else { return }
        isReported = true
        for (cookie, follower) in followers {
            let carried = follower.transferReport()
            ledger.update(cookie) { $0.report = carried }
        }
        // A reader that is behind holds a thread of its own up, and no connection.
        EventThread(name: "report", mayWait: true).submit { [self, ledger] in
            console.report(ledger, missed: Int(trap_missed_messages(page)))
            trap_report_is_written(page)
            // What outlives the program has nothing to say any more, and keeps no pipe open.
            trap_release_error()
            thread.submit { [self] in
                isReportWritten = true
                if isOver { ProcessEnvironment.exit(0) }
            }
        }
    }
}
