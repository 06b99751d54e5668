import Glibc

/// Calls that block and can't be cancelled: getaddrinfo, a read of standard input.
///
/// They have threads of their own. Dispatch's share their number with Swift's executor, where on a machine
/// with one processor one read that waits would hold up everything else for a second at a time.
package final class BlockingCalls: @unchecked Sendable {
    /// For name resolution.
    static let resolver = BlockingCalls(limit: 16)

    // Guarded by `mutex`.
    private var waiting: [@Sendable () -> Void] = []
    private var idle = 0
    private var count = 0
    private let limit: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// - Parameter limit: how many threads there are at most. They are made when needed and stay, so this
    ///   object is meant to live as long as the process.
    package init(limit: Int) {
        self.limit = limit
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// Runs a call. A task that is cancelled gets nil at once; the call goes on, and what it returns is
    /// dropped.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let answer = FirstAnswer<Value?>()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                submit { answer.give(body()) }
            }
        } onCancel: {
            answer.give(nil)
        }
    }

    /// Runs a call without waiting for its end.
    func submit(_ body: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        waiting.append(body)
        let needsThread = idle < waiting.count && count < limit
        if needsThread { count += 1 }
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        if needsThread { startThread() }
    }

    private func startThread() {
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<BlockingCalls>.fromOpaque(context!).takeRetainedValue().work()
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(status == 0, "no thread for a blocking call: \(SystemError.words(status))")
        pthread_detach(thread)
    }

    private func work() -> Never {
        pthread_mutex_lock(mutex)
        while true {
            while waiting.isEmpty {
                idle += 1
                pthread_cond_wait(condition, mutex)
                idle -= 1
            }
            let body = waiting.removeFirst()
            pthread_mutex_unlock(mutex)
            body()
            pthread_mutex_lock(mutex)
        }
    }
}
