import Glibc

extension EventThread {
    /// Waits until a descriptor is ready, or reports an error or hangup. Any number of waits may be for the same
    /// descriptor.
    ///
    /// - Returns: nil where the task was cancelled. For a descriptor that can't be watched (a file) that is
    ///   the only end. Where the kernel has no room left to watch it, it waits for that, too.
    package func ready(_ descriptor: CInt, for readiness: Readiness) async -> Readiness? {
        // A closure that never runs would keep the task waiting.
        guard (try? start()) != nil else { return .error }
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
        private var retry: Token?
        /// epoll knows a descriptor once: this one stands for it where another wait has it registered.
        private var duplicate: Descriptor?
        private var continuation: CheckedContinuation<Readiness?, Never>?
        private var isFinished = false

        func start(
            _ thread: EventThread, _ descriptor: CInt, _ readiness: Readiness,
            _ continuation: CheckedContinuation<Readiness?, Never>
        ) {
            guard !isFinished else { return continuation.resume(returning: nil) }
            self.continuation = continuation
            tryToRegister(thread, descriptor, readiness)
        }

        /// Where the kernel has no room for another watch, or this process no descriptor, it may have some later: it is
        /// no news of the descriptor.
        private func tryToRegister(_ thread: EventThread, _ descriptor: CInt, _ readiness: Readiness) {
            do throws(SystemError) {
                try register(thread, descriptor, readiness)
            } catch {
                switch error.errno {
                case EPERM: break
                case EBADF: finish(thread, .error)
                default:
                    retry = thread.schedule(at: .now.advanced(by: .milliseconds(100))) { [self] in
                        retry = nil
                        tryToRegister(thread, descriptor, readiness)
                    }
                }
            }
        }

        private func register(
            _ thread: EventThread, _ descriptor: CInt, _ readiness: Readiness
        ) throws(SystemError) {
            do throws(SystemError) {
                token = try thread.add(descriptor, for: readiness) { [self] ready in finish(thread, ready) }
            } catch {
                guard error.errno == EEXIST else { throw error }
                let duplicate = try Descriptor(duplicating: descriptor)
                token = try thread.add(duplicate.number, for: readiness) { [self] ready in
                    finish(thread, ready)
                }
                self.duplicate = consume duplicate
            }
        }

        func finish(_ thread: EventThread, _ ready: Readiness?) {
            isFinished = true
            if let token { thread.remove(token) }
            if let retry { thread.cancelTimer(retry) }
            (token, retry) = (nil, nil)
            duplicate = nil
            continuation?.resume(returning: ready)
            continuation = nil
        }
    }
}
