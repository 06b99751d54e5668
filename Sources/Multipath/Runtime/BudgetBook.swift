import LinuxNet

/// What is told which budgets are spent: a monitor's channel, whose snapshots tell it on.
protocol BudgetListener: AnyObject, Sendable {
    /// No other listener has it, before or after.
    var number: UInt64 { get }
    func setSpent(_ budgets: Set<PathBudget>)
}

/// A connection whose bytes count for a budget.
protocol BudgetMeter: AnyObject, Sendable {
    var budget: PathBudget { get }
    func look() -> BudgetLook
}

/// What a connection has used.
struct BudgetLook {
    /// Since the last look.
    var bytes: UInt64
    /// The longest round trip of its paths, with what waits in queues.
    var roundTrip = Duration.zero
    /// Whether it says by itself when data moves again (`BudgetBook.dataMoves`), and needs no look before.
    var willTell = false
}

/// The budgets of this process: which there are, what its connections have used of them, and which are spent. It lives on the
/// event thread, and does nothing before the first policy with a budget.
///
/// What is used is booked in the user's state folder, which all processes share. Where nothing can be written there, this
/// process counts by itself.
///
/// Monitors are told which budgets are spent, and tell it with their snapshots: so all that obeys a policy obeys its budget.
final class BudgetBook: @unchecked Sendable {
    private let thread: EventThread
    private let shared: SharedBudgets
    private let tuning: BudgetTuning
    private let readClock: @Sendable () -> BudgetClock
    private var machines: [PathBudget: BudgetMachine] = [:]
    private var listeners: [WeakListener] = []
    private var meters: [ObjectIdentifier: any BudgetMeter] = [:]
    private var isStarted = false
    /// What is booked, where the file can't be written.
    private var ownLedger: BudgetLedger?
    private var waiting: [() -> Void] = []
    private var patienceTimer: EventThread.Token?
    private var lookTimer: EventThread.Token?
    /// How many looks in a row have shown nothing of a budget.
    private var idleLooks: [PathBudget: Int] = [:]
    private var clockTimer: EventThread.Token?
    private var keepingTimers: [PathBudget: EventThread.Token] = [:]
    /// Which budgets whose listeners are told of, for callers on other threads.
    private let known = Locked<Set<Known>>([])

    private struct Known: Hashable {
        var budget: PathBudget
        var listener: UInt64
    }

    private struct WeakListener {
        weak var object: (any BudgetListener)?
        let number: UInt64
    }

    init(
        _ thread: EventThread, shared: SharedBudgets? = nil, tuning: BudgetTuning = .standard,
        clock: @escaping @Sendable () -> BudgetClock = { .now }
    ) {
        self.thread = thread
        self.shared = shared ?? SharedBudgets(on: thread)
        self.tuning = tuning
        readClock = clock
    }

    // MARK: From any thread

    /// Whether a listener is told of a policy's budget already; true for a policy without one.
    func isReady(_ policy: PathPolicy, for listener: any BudgetListener) -> Bool {
        guard let budget = policy.budget else { return true }
        return known.withLock { $0.contains(Known(budget: budget, listener: listener.number)) }
    }

    /// Has a listener told of a policy's budget from now on; returns when it was. The first time of all that waits for the file
    /// in the state folder, a second at most.
    func prepare(_ policy: PathPolicy, for listener: any BudgetListener) async {
        guard let budget = policy.budget, !isReady(policy, for: listener) else { return }
        await withCheckedContinuation { continuation in
            thread.submit { [self] in
                add(budget, for: listener) { continuation.resume() }
            }
        }
    }

    // MARK: On the event thread

    /// - Parameter whenKnown: called when the listener was told.
    func add(
        _ budget: PathBudget, for listener: any BudgetListener, whenKnown: @escaping () -> Void = {}
    ) {
        thread.checkIsolated()
        removeGoneListeners()
        let number = listener.number
        if !listeners.contains(where: { $0.number == number }) {
            listeners.append(WeakListener(object: listener, number: number))
        }
        if machines[budget] == nil { machines[budget] = BudgetMachine(budget, tuning: tuning) }
        waiting.append { [known] in
            known.withLock { _ = $0.insert(Known(budget: budget, listener: number)) }
            whenKnown()
        }
        guard isStarted else {
            isStarted = true
            shared.start { [weak self] in self?.ledgerChanged() }
            patienceTimer = thread.schedule(at: .now.advanced(by: tuning.patience)) { [self] in
                patienceTimer = nil
                if shared.ledger == nil { ledgerChanged(to: BudgetLedger()) }
            }
            return
        }
        if shared.ledger != nil || patienceTimer == nil { ledgerChanged() }
    }

    private func removeGoneListeners() {
        let gone = listeners.filter { $0.object == nil }.map(\.number)
        guard !gone.isEmpty else { return }
        listeners.removeAll { $0.object == nil }
        known.withLock { known in known = known.filter { !gone.contains($0.listener) } }
    }

    /// A connection's bytes count from now on.
    func begin(_ meter: any BudgetMeter) {
        thread.checkIsolated()
        meters[ObjectIdentifier(meter)] = meter
        if let timer = keepingTimers.removeValue(forKey: meter.budget) { thread.cancelTimer(timer) }
        perform(machines[meter.budget]?.begun(), meter.budget)
        look()
    }

    /// The connection has ended.
    ///
    /// - Parameter bytes: what it used since the last look.
    func end(_ meter: any BudgetMeter, using bytes: UInt64) {
        thread.checkIsolated()
        use(bytes, of: meter.budget)
        guard meters.removeValue(forKey: ObjectIdentifier(meter)) != nil else { return }
        let budget = meter.budget
        guard !meters.values.contains(where: { $0.budget == budget }), keepingTimers[budget] == nil else {
            return
        }
        // The next connection may come at once.
        keepingTimers[budget] = thread.schedule(at: .now.advanced(by: tuning.keeping)) { [self] in
            keepingTimers[budget] = nil
            perform(machines[budget]?.unused(), budget)
        }
    }

    /// The data of a connection that was said to tell moves again.
    func dataMoves() {
        thread.checkIsolated()
        for budget in machines.keys { machines[budget]?.rested() }
        look()
    }

    private func ledgerChanged() { ledgerChanged(to: ownLedger ?? shared.ledger ?? BudgetLedger()) }

    private func ledgerChanged(to ledger: BudgetLedger) {
        let clock = readClock()
        for budget in machines.keys {
            perform(
                machines[budget]?.ledger(
                    remaining: ledger.remaining(budget, at: clock),
                    period: ledger.period(of: budget, at: clock)), budget)
        }
        tell()
        let ready = waiting
        waiting = []
        for body in ready { body() }
    }

    /// Looks at what each connection has used, and sets the timer for the next look.
    private func look() {
        if let lookTimer { thread.cancelTimer(lookTimer) }
        lookTimer = nil
        var used: [PathBudget: (bytes: UInt64, roundTrip: Duration)] = [:]
        var needsLook: Set<PathBudget> = []
        for meter in meters.values {
            let look = meter.look()
            let before = used[meter.budget] ?? (0, .zero)
            used[meter.budget] = (before.bytes + look.bytes, max(before.roundTrip, look.roundTrip))
            if !look.willTell { needsLook.insert(meter.budget) }
        }
        var next: Duration?
        if !used.isEmpty { renewPeriods() }
        for (budget, (bytes, roundTrip)) in used {
            if bytes == 0 { machines[budget]?.rested() }
            use(bytes, roundTrip, of: budget)
            idleLooks[budget] = bytes == 0 ? (idleLooks[budget] ?? 0) + 1 : 0
            guard needsLook.contains(budget), let machine = machines[budget] else { continue }
            let after = machine.lookAfter(idleLooks: idleLooks[budget] ?? 0)
            next = min(next ?? after, after)
        }
        guard let next else { return }
        lookTimer = thread.schedule(at: .now.advanced(by: next)) { [self] in
            lookTimer = nil
            look()
        }
    }

    /// What was booked before midnight is not used up after it.
    private func renewPeriods() {
        let clock = readClock()
        let isNew = machines.contains { budget, machine in
            machine.period.map { $0 < clock.number(budget.period) } ?? false
        }
        if isNew { ledgerChanged() }
    }

    private func use(_ bytes: UInt64, _ roundTrip: Duration = .zero, of budget: PathBudget) {
        guard bytes > 0 else { return }
        perform(machines[budget]?.used(bytes, roundTrip: roundTrip, at: .now), budget)
        tell()
    }

    private func perform(_ actions: [BudgetMachine.Action]?, _ budget: PathBudget) {
        for action in actions ?? [] {
            let clock = readClock()
            switch action {
            case .book(let wanted, let spent): book(budget, wanted: wanted, spent: spent, clock)
            case .giveBack(let bytes, let period):
                shared.update {
                    $0.giveBack(bytes, to: budget, of: period, at: clock)
                } completion: { _ in
                }
            }
        }
    }

    private func book(_ budget: PathBudget, wanted: UInt64, spent: UInt64, _ clock: BudgetClock) {
        let piece = tuning.piece
        shared.update { ledger in
            ledger.clean(at: clock)
            return ledger.book(budget, spent: spent, wanted: wanted, piece: piece, at: clock)
        } completion: { [self] answer in
            var (given, ledger) = (
                answer?.value ?? 0, answer?.ledger ?? ownLedger ?? shared.ledger ?? BudgetLedger()
            )
            // The file is what all go by, as soon as it can be written again.
            if answer != nil { ownLedger = nil }
            if answer == nil {
                given = ledger.book(budget, spent: spent, wanted: wanted, piece: piece, at: clock)
                ownLedger = ledger
            }
            let remaining = ledger.remaining(budget, at: clock)
            perform(
                machines[budget]?.booked(
                    given, spent: spent, remaining: remaining, period: ledger.period(of: budget, at: clock)),
                budget)
            tell()
        }
    }

    /// Tells the monitors which budgets are spent.
    private func tell() {
        let spent = Set(machines.filter { $0.value.isSpent }.keys)
        for listener in listeners { listener.object?.setSpent(spent) }
        watchClock(spent)
    }

    /// A budget that is spent is open again in the next period.
    private func watchClock(_ spent: Set<PathBudget>) {
        guard !spent.isEmpty, clockTimer == nil else { return }
        let clock = readClock()
        let next = spent.map { clock.untilNext($0.period) }.min() ?? tuning.clockLook
        clockTimer = thread.schedule(at: .now.advanced(by: min(next, tuning.clockLook))) { [self] in
            clockTimer = nil
            shared.look()
            ledgerChanged()
        }
    }
}
