#if HTTP
    import LinuxNet
    import NIOCore

    /// The end of a request's time. What the request waits for at the moment is told when it comes.
    final class RequestDeadline: Sendable {
        private struct State {
            var isOver = false
            var action: (@Sendable (any Error) -> Void)?
            var task: Scheduled<Void>?
        }

        private let limit: Duration
        private let state = Locked(State())

        /// - Returns: nil where there is no limit.
        init?(_ limit: Duration?, on loop: any EventLoop) {
            guard let limit else { return nil }
            self.limit = limit
            let task = loop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) { [weak self] in
                guard let self else { return }
                expire()
            }
            state.withLock { $0.task = task }
        }

        private var error: MultipathHTTPError {
            MultipathHTTPError(.timedOut, "the request took longer than \(limit.inSeconds) s")
        }

        /// Has a closure end what is waited for, at once where the time is over. It takes the place of the one before.
        func onExpiry(_ action: @escaping @Sendable (any Error) -> Void) {
            let isOver = state.withLock { state in
                state.action = action
                return state.isOver
            }
            if isOver { action(error) }
        }

        private func expire() {
            let action = state.withLock { state in
                state.isOver = true
                return state.action
            }
            action?(error)
        }

        /// The request has ended in time.
        func end() {
            let task = state.withLock { state in
                state.action = nil
                return state.task.take()
            }
            task?.cancel()
        }
    }
#endif
