import Glibc
import PathCore

/// Calls that block and can't be cancelled: getaddrinfo, a read of standard input.
///
/// They have threads of their own. Dispatch's share their number with Swift's executor, where on a machine
/// with one processor one read that waits would hold up everything else for a second at a time.
///
/// Where all threads are held up, as by names whose servers don't answer, a call waits for `patience` at most: then it
/// gets a thread beyond the limit, which ends with it.
package final class BlockingCalls: @unchecked Sendable {
    /// For name resolution.
    static let resolver = BlockingCalls(limit: 16, mostExtra: 112)

    private struct Call {
        var body: @Sendable () -> Void
        var submitted: MonotonicTime
    }

    private struct State {
        var waiting: [Call] = []
        var idle = 0
        var count = 0
        /// Threads beyond the limit.
        var extra = 0
        /// Whether one of those watches for a call that has waited too long.
        var isWatched = false
    }

    // Guarded by `mutex`.
    private var state = State()
    private let limit: Int
    private let mostExtra: Int
    private let patience: Duration
    private let makeThread: @Sendable (@escaping @Sendable () -> Void) -> CInt
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// - Parameters:
    ///   - limit: how many threads stay. They are made when needed, so this object is meant to live as long as the
    ///     process.
    ///   - mostExtra: how many more there may be for calls that have waited for `patience`.
    package convenience init(limit: Int, mostExtra: Int = 0, patience: Duration = .milliseconds(250)) {
        self.init(limit: limit, mostExtra: mostExtra, patience: patience, makeThread: Self.makeThread)
    }

    /// - Parameter makeThread: has a thread run a closure; returns an error number, 0 for none.
    init(
        limit: Int, mostExtra: Int = 0, patience: Duration = .milliseconds(250),
        makeThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> CInt
    ) {
        self.makeThread = makeThread
        self.limit = limit
        self.mostExtra = mostExtra
        self.patience = patience
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// Runs a call. A task that is cancelled gets nil at once; a call that has begun goes on, and what it returns is
    /// dropped.
    ///
    /// - Throws: EAGAIN where there is no thread for it.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async throws(SystemError) -> Value? {
        let answer = FirstAnswer<Result<Value?, SystemError>>()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                do throws(SystemError) {
                    try submit { if !answer.isGiven { answer.give(.success(body())) } }
                } catch {
                    answer.give(.failure(error))
                }
            }
        } onCancel: {
            answer.give(.success(nil))
        }.get()
    }

    /// Runs a call without waiting for its end.
    ///
    /// - Throws: EAGAIN where there is no thread for it, nor will be.
    func submit(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        pthread_mutex_lock(mutex)
        state.waiting.append(Call(body: body, submitted: .now))
        var failure: CInt = 0
        if state.idle < state.waiting.count, state.count < limit {
            failure = makeThread { self.work() }
            if failure == 0 { state.count += 1 }
            // The threads there are will come to it.
            if failure != 0, state.count + state.extra == 0 {
                state.waiting.removeLast()
            } else {
                failure = 0
            }
        } else if state.idle < state.waiting.count {
            watch()
        }
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        if failure != 0 { throw SystemError("make a thread", errno: failure) }
    }

    /// - Returns: an error number; 0 for none.
    @Sendable
    static func makeThread(_ body: @escaping @Sendable () -> Void) -> CInt {
        let body = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        if status == 0 { pthread_detach(thread) } else { body.release() }
        return status
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            while state.waiting.isEmpty {
                state.idle += 1
                pthread_cond_wait(condition, mutex)
                state.idle -= 1
            }
            let call = state.waiting.removeFirst()
            pthread_mutex_unlock(mutex)
            call.body()
            pthread_mutex_lock(mutex)
        }
    }

    // MARK: Threads beyond the limit

    /// Under the lock.
    private func watch() {
        guard !state.isWatched, !state.waiting.isEmpty, state.extra < mostExtra,
            makeThread({ self.workBeyondLimit() }) == 0
        else { return }
        state.extra += 1
        state.isWatched = true
    }

    /// Waits until the first call has waited too long, takes it, and leaves the watch to another thread.
    private func workBeyondLimit() {
        pthread_mutex_lock(mutex)
        while let first = state.waiting.first {
            let rest = MonotonicTime.now.duration(to: first.submitted.advanced(by: patience))
            if rest > .zero {
                pthread_mutex_unlock(mutex)
                usleep(UInt32(clamping: rest.wholeNanoseconds / 1_000 + 1))
                pthread_mutex_lock(mutex)
                continue
            }
            state.waiting.removeFirst()
            state.isWatched = false
            watch()
            pthread_mutex_unlock(mutex)
            first.body()
            pthread_mutex_lock(mutex)
            if state.isWatched { break }
            state.isWatched = true
        }
        // Of the threads here only the one that watches ends with an empty list.
        if state.waiting.isEmpty { state.isWatched = false }
        state.extra -= 1
        pthread_mutex_unlock(mutex)
    }
}
