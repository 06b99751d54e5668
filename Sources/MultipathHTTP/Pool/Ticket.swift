#if HTTP
    import LinuxNet

    /// A request's place in the queue: resolved once, before or after it is waited for.
    final class Ticket: Sendable {
        private enum State {
            case open
            case waiting(CheckedContinuation<ConnectionPool.Lease, any Error>)
            case resolved(Result<ConnectionPool.Lease, any Error>)
            case taken
        }

        private let state = Locked(State.open)

        /// - Returns: whether this is the result.
        func resolve(_ result: Result<ConnectionPool.Lease, any Error>) -> Bool {
            let (isFirst, waiter) = state.withLock {
                state -> (Bool, CheckedContinuation<ConnectionPool.Lease, any Error>?) in
                switch state {
                case .open:
                    state = .resolved(result)
                    return (true, nil)
                case .waiting(let waiter):
                    state = .taken
                    return (true, waiter)
                case .resolved, .taken: return (false, nil)
                }
            }
            waiter?.resume(with: result)
            return isFirst
        }

        /// Waited for once.
        func value() async throws -> ConnectionPool.Lease {
            if let known = takeResult() { return try known.get() }
            return try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state -> Result<ConnectionPool.Lease, any Error>? in
                    if case .resolved(let result) = state {
                        state = .taken
                        return result
                    }
                    state = .waiting(continuation)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        }

        private func takeResult() -> Result<ConnectionPool.Lease, any Error>? {
            state.withLock { state in
                guard case .resolved(let result) = state else { return nil }
                state = .taken
                return result
            }
        }
    }
#endif
