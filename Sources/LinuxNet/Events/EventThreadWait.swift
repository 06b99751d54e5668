extension EventThread {
    /// Waits until a descriptor is ready, or reports an error or hangup.
    ///
    /// - Returns: nil where the task was cancelled. For a descriptor that can't be watched (a file) that is
    ///   the only end.
    package func ready(_ descriptor: CInt, for readiness: Readiness) async -> Readiness? {
        let wait = Wait()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                submit { wait.start(self, descriptor, readiness, continuation) }
            }
        } onCancel: {
            submit { wait.finish(self, nil) }
        }
    }

    /// A registration; only the event thread touches it.
    private final class Wait: @unchecked Sendable {
        private var token: Token?
        private var continuation: CheckedContinuation<Readiness?, Never>?
        private var isFinished = false

        func start(
            _ thread: EventThread, _ descriptor: CInt, _ readiness: Readiness,
            _ continuation: CheckedContinuation<Readiness?, Never>
        ) {
            guard !isFinished else { return continuation.resume(returning: nil) }
            self.continuation = continuation
            token = try? thread.add(descriptor, for: readiness) { [self] ready in finish(thread, ready) }
        }

        func finish(_ thread: EventThread, _ ready: Readiness?) {
            isFinished = true
            if let token { thread.remove(token) }
            token = nil
            continuation?.resume(returning: ready)
            continuation = nil
        }
    }
}
