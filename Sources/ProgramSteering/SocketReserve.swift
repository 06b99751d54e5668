// The sockets that a program gets: some are with the trap before a call wants them, others are made while a call waits.

import CTrap
import LinuxNet
import Multipath

/// Makes and prepares sockets, and hands them to the trap. It lives on the event thread, for as long as the process.
final class SocketReserve {
    private let supply: SocketSupply
    private let channel: TrapChannel
    private let configuration: ProgramPolicy.Configuration
    private let thread: EventThread
    private var whenFilled: ((_ isNeeded: Bool) -> Void)?

    private var plan = ReservePlan()
    /// Levels of sockets that the program may get, by cookie.
    private var levels: [UInt64: ControlLevel] = [:]
    /// Those that the trap keeps for later.
    private var kept: Set<UInt64> = []
    /// Those among them that could not be prepared: others are to take their places.
    private var unprepared: [UInt64: IPAddress.Family] = [:]
    private var renewalPause = firstRenewal
    private var isRenewing = false
    /// Whether the last socket that a call waited for can be steered.
    private var isSteering = false
    /// Whether the trap has got a socket for later, or can't have one.
    private(set) var isFilled = false

    /// How long a socket for later waits for an `mpathd` that is slow; one that a call waits for has `patience`.
    private static let patience = Duration.seconds(1)
    private static let slowBrokerPause = Duration.milliseconds(10)
    private static let firstRenewal = Duration.milliseconds(100)
    private static let longestRenewal = Duration.seconds(30)
    private static let mostLevels = 1_024

    init(
        _ supply: SocketSupply, _ channel: TrapChannel, _ configuration: ProgramPolicy.Configuration,
        on thread: EventThread
    ) {
        (self.supply, self.channel, self.configuration, self.thread) = (
            supply, channel, configuration, thread
        )
    }

    /// - Parameter whenFilled: called when `isFilled` has become true; with false where no socket is kept for later, because none
    ///   could be given.
    func begin(whenFilled: @escaping (_ isNeeded: Bool) -> Void) {
        self.whenFilled = whenFilled
        for family in [IPAddress.Family.ipv4, .ipv6] { refill(family) }
    }

    // MARK: What the trap says

    /// A trap has begun, and keeps nothing yet: also the first, whatever was sent before.
    func trapBegan() {
        plan.lost()
        (kept, unprepared) = ([], [:])
        for family in [IPAddress.Family.ipv4, .ipv6] { refill(family) }
    }

    /// A program has got a socket.
    ///
    /// - Returns: how the socket can be steered; nil where this policy has not made it.
    func given(_ message: trap_message) -> ControlLevel? {
        let level = levels.removeValue(forKey: message.cookie)
        unprepared[message.cookie] = nil
        if kept.remove(message.cookie) != nil { plan.taken(message.addressFamily) }
        refill(message.addressFamily)
        return level
    }

    /// Gives a call that waits its socket.
    func answer(_ question: trap_message, whenUnsteered: @escaping (ControlLimit) -> Void) {
        let family = question.addressFamily
        plan.missed(family)
        make(family, until: .now.advanced(by: configuration.patience)) { [self] made in
            var message = trap_message(TRAP_GIVE, sequence: question.sequence)
            guard case .success(let socket) = made else { return channel.send(message) }
            isSteering = socket.level.isPerConnection
            guard mayBeGiven(socket) else {
                message.error = CInt(TRAP_UNSTEERED.rawValue)
                whenUnsteered(socket.level.limit ?? .noPrivilege)
                return channel.send(message)
            }
            hand(socket, family, &message)
        }
    }

    // MARK: Making and handing

    /// Where paths are prohibited, only what can be steered is: the kernel's own path manager knows no prohibition.
    private func mayBeGiven(_ socket: SuppliedSocket) -> Bool {
        !configuration.isStrict || socket.level.isPerConnection
    }

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
        guard !configuration.isStrict || isSteering else { return noteFilled(isNeeded: false) }
        let deadline = MonotonicTime.now.advanced(by: Self.patience)
        for _ in 0..<plan.order(family) {
            make(family, until: deadline) { [self] made in
                if case .success(let socket) = made, mayBeGiven(socket) {
                    plan.made(family, isKept: true)
                    handForLater(socket, family)
                } else {
                    plan.made(family, isKept: false)
                }
                noteFilled()
            }
        }
    }

    private func noteFilled(isNeeded: Bool = true) {
        guard !isFilled else { return }
        isFilled = true
        whenFilled?(isNeeded)
    }

    private func handForLater(
        _ socket: SuppliedSocket, _ family: IPAddress.Family, replacing other: UInt64 = 0
    ) {
        var message = trap_message(TRAP_RESERVE)
        message.replaced = other
        hand(socket, family, &message)
        kept.insert(message.cookie)
        guard !socket.level.isPerConnection else { return }
        unprepared[message.cookie] = family
        if socket.level.limit?.mayPass == true { renewSoon() }
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

    // MARK: What could not be prepared

    /// Has sockets of the reserve that are not prepared replaced, at once where `mpathd` answers again, and in a while where it
    /// does not.
    func renewSoon() {
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
        supply.make(family, patience: Self.patience) { [self] made in
            isRenewing = false
            guard case .success(let socket) = made, socket.level.isPerConnection else {
                // Without any mpathd there is nothing to wait for: the next socket that is made tries again.
                if case .success(let socket) = made, socket.level.limit?.mayPass == true { renewSoon() }
                return
            }
            renewalPause = Self.firstRenewal
            if unprepared.removeValue(forKey: cookie) != nil {
                kept.remove(cookie)
                // Where the program takes it meanwhile this one comes in addition, and counts for it.
                handForLater(socket, family, replacing: cookie)
            }
            renew()
        }
    }
}
