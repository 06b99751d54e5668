// What decides for the trap, and follows the program's connections: on the event thread of a process of its own.
//
//     socket(2)    a socket from the reserve, or one made for the call     `SocketReserve`
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
    let chooser: PathChooser
    private let console: any ProgramConsole
    /// What is told of events; nil once the report is told, which is the last word.
    var voice: (any ProgramConsole)? { isReported ? nil : console }
    var thread: EventThread { monitor.runtime.thread }

    var ledger = SocketLedger()
    private let reserve: SocketReserve
    /// Verdicts that wait for the first snapshot.
    private var undecided: [trap_message] = []
    private var hasPaths = false
    private var isReady = false
    private var isReported = false
    private var isReportWritten = false
    private var isOver = false
    /// Whether paths are prohibited.
    private var isStrict: Bool { configuration.isStrict }
    private var hasToldUnsteered = false
    private var toldOptions: Set<String> = []
    private static let mostOptions = 1_000
    private var generation: UInt32 = 0
    /// Sockets whose handshakes are under way, with the pause until the next look.
    var looks: [UInt64: Look] = [:]
    /// Those whose next look is due, in the order in which it became so.
    var dueLooks: [UInt64] = []
    var isWaitingToLook = false
    /// What waits for a duplicate that the trap was asked for.
    var loans: [UInt32: (cookie: UInt64, body: (CInt?) -> Void)] = [:]
    var lastLoan: UInt32 = 0
    var followers: [UInt64: ConnectionFollower] = [:]

    /// How long the first snapshot and the first sockets are waited for before calls are taken all the same.
    private static let beginning = Duration.seconds(1)
    /// As the guard's (`REPORT_PATIENCE`).
    private static let reportPatience = Duration.seconds(3)
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
        reserve = SocketReserve(supply, self.channel, configuration, on: monitor.runtime.thread)
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
            try channel.begin(
                { [unowned self] message, descriptor in ingest(message, descriptor) },
                whenOver: { [unowned self] in
                    over()
                    // What would end this process where the report finds no reader has ended.
                    _ = thread.schedule(at: .now.advanced(by: Self.reportPatience)) {
                        ProcessEnvironment.exit(0)
                    }
                })
        } catch {
            // The trap goes on without.
            ProcessEnvironment.exit(1)
        }
        chooser.begin { [self] in pathsChanged() }
        reserve.begin { [self] isNeeded in becomeReady(isLate: !isNeeded) }
        _ = thread.schedule(at: .now.advanced(by: Self.beginning)) { [self] in becomeReady(isLate: true) }
    }

    private func becomeReady(isLate: Bool = false) {
        guard !isReady, isLate || hasPaths && reserve.isFilled else { return }
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
            reserve.trapBegan()
            forgetLoans()
        case TRAP_SOCKET_GIVEN:
            ledger.made(
                ProgramSocket(
                    cookie: message.cookie, thread: message.thread, descriptor: message.descriptor,
                    level: reserve.given(message) ?? .observeOnly(because: .brokerSilent)))
        case TRAP_SOCKET_PLAIN:
            // One that it could not be given is not kept for later any more.
            if message.cookie != 0 { _ = reserve.given(message) }
            let reason = PlainReason(rawValue: message.error) ?? .unseen
            ledger.madePlain(reason)
            voice?.plain(message.thread, reason)
        case TRAP_SOCKET_WANTED: reserve.answer(message) { [self] in noteUnsteered($0) }
        case TRAP_CONNECTS: connects(message, descriptor)
        case TRAP_UNEXAMINED: ledger.unexamined()
        case TRAP_LENT: lent(message, descriptor)
        case TRAP_OPTION: noteOption(message)
        case TRAP_PROGRAM_ENDED: report()
        case TRAP_OVER:
            over()
        default: break
        }
    }

    /// Nothing comes any more.
    private func over() {
        // The waiter's word may come later, or never where it was killed.
        report()
        isOver = true
        if isReportWritten { ProcessEnvironment.exit(0) }
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
                reserve.renewSoon()
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
            let program = message.program, toldOptions.count < Self.mostOptions,
            toldOptions.insert("\(program) \(option)").inserted
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
