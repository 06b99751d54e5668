import Multipath

/// One step of a scripted machine's timeline.
public struct ScriptedStep: Sendable {
    fileprivate var delay: Duration
    fileprivate var action: Action

    /// What happens.
    public enum Action: Sendable {
        /// Plugs an interface in.
        case add(ScriptedPath)
        /// Unplugs the interface of that name.
        case remove(String)
        /// Takes the carrier of the interface of that name away.
        case lose(String)
        /// Gives its carrier back.
        case restore(String)
        /// Changes the interface of that name.
        case update(String, @Sendable (inout ScriptedPath) -> Void)
        /// Wakes the machine from sleep.
        case wake
        /// Spends a budget.
        case spend(PathBudget)
        /// Begins the budget's next period.
        case refill(PathBudget)
        /// Ends the streams of updates.
        case end
        /// Ends them with an error.
        case fail(PathMonitorError)
    }

    /// An action so long after the step before it.
    public static func after(_ delay: Duration, _ action: Action) -> ScriptedStep {
        ScriptedStep(delay: delay, action: action)
    }
}

extension ScriptedPaths {
    /// Performs one action now.
    public func perform(_ action: ScriptedStep.Action) {
        switch action {
        case .add(let path): add(path)
        case .remove(let name): remove(name)
        case .lose(let name): lose(name)
        case .restore(let name): restore(name)
        case .update(let name, let change): update(name, change)
        case .wake: wake()
        case .spend(let budget): spend(budget)
        case .refill(let budget): refill(budget)
        case .end: end()
        case .fail(let error): fail(error)
        }
    }

    /// Performs the steps, each at its time on the clock. Steps are counted from the call, so that what one of
    /// them costs delays no other.
    ///
    /// - Throws: `CancellationError`; the steps that are left don't happen.
    public func play<C: Clock>(_ steps: [ScriptedStep], clock: C = ContinuousClock()) async throws
    where C.Duration == Duration {
        var deadline = clock.now
        for step in steps {
            deadline = deadline.advanced(by: step.delay)
            try await clock.sleep(until: deadline, tolerance: nil)
            perform(step.action)
        }
    }
}
