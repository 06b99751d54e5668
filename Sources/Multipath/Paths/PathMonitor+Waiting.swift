// Waiting for a path, and work that is done only while one is allowed. There is no state beside the tasks': each run of the
// work is a group of two, the work and what watches the paths for it, and ends with both.

extension PathMonitor {
    /// The path that a policy would choose now, then each time that it is another or its tags are; nil while none is allowed.
    /// The stream ends as `updates` does.
    public func updates(allowedBy policy: PathPolicy) -> AllowedPathUpdates {
        AllowedPathUpdates(updates: updates, policy: policy)
    }

    /// Waits until a path is allowed, for as long as that takes; at once where one is.
    ///
    /// - Parameter policy: which paths will do; any unless given.
    /// - Returns: the path that the policy would choose.
    /// - Throws: `CancellationError`; `PathMonitorError` where this machine's paths can't be read, or no more are told.
    public func waitForPath(satisfying policy: PathPolicy = PathPolicy()) async throws -> PathInterface {
        for await path in updates(allowedBy: policy) {
            if let path { return path }
        }
        try Task.checkCancellation()
        throw failure ?? PathMonitorError("the path monitor has stopped")
    }

    /// Does work while a path is allowed: the place for discretionary work (prefetching, a backup). The body is called when a
    /// path is allowed, its task is cancelled when none is any more, and it is called again when one is back, until it
    /// returns. There is one call at a time: the next one waits until the one before has ended.
    ///
    /// A change from one allowed path to another does not disturb the body. What it throws after its path was refused
    /// counts as its interruption, so it keeps what it has done so far outside of itself.
    ///
    /// - Parameters:
    ///   - policy: which paths will do.
    ///   - body: gets the path that the policy would choose as it begins.
    /// - Returns: what the body returned, also where it was cancelled and returned all the same.
    /// - Throws: what the body throws while a path is allowed; `CancellationError` where the caller's task is cancelled;
    ///   `PathMonitorError` where the paths can't be read, or no more are told and none is allowed.
    public func whileAllowed<Value: Sendable>(
        _ policy: PathPolicy, _ body: @escaping @Sendable (PathInterface) async throws -> Value
    ) async throws -> Value {
        while true {
            let path = try await waitForPath(satisfying: policy)
            try Task.checkCancellation()
            if let value = try await run(body, over: path, while: policy) { return value }
            try Task.checkCancellation()
        }
    }

    private enum Step<Value: Sendable>: Sendable {
        case ended(Value)
        /// The body has thrown, and whether a path was allowed then: it may notice that its path is gone before the watch is
        /// heard.
        case failed(any Error, isAllowed: Bool)
        /// No path is allowed any more.
        case refused
        /// No more is told of the paths, or the task is cancelled.
        case unwatched
    }

    /// - Returns: what the body returned; nil where it was interrupted.
    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (PathInterface) async throws -> Value, over path: PathInterface,
        while policy: PathPolicy
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Step<Value>.self) { group in
            group.addTask {
                do {
                    return .ended(try await body(path))
                } catch {
                    return .failed(error, isAllowed: self.latestPath.map(policy.allowsAny) ?? false)
                }
            }
            group.addTask {
                // The current state comes first: what happened since the path was found is seen here.
                for await path in self.updates(allowedBy: policy) where path == nil { return .refused }
                return .unwatched
            }
            var isRefused = false
            while let step = try await group.next() {
                switch step {
                case .refused:
                    isRefused = true
                    group.cancelAll()
                case .unwatched: break
                case .ended(let value):
                    group.cancelAll()
                    return value
                case .failed(let error, let isAllowed):
                    group.cancelAll()
                    try Task.checkCancellation()
                    if isRefused || !isAllowed { return nil }
                    throw error
                }
            }
            return nil
        }
    }
}
