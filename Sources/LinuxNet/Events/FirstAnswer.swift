import Dispatch

/// Resumes a continuation with the first value given, whether that comes before the wait or after.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, Never>)
        case answered(Value)
        case done
    }

    private let state = Locked(State.idle)

    func wait(_ continuation: CheckedContinuation<Value, Never>) {
        let early: Value? = state.withLock { state in
            if case .answered(let value) = state {
                state = .done
                return value
            }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(returning: early) }
    }

    func give(_ value: Value) {
        let waiting: CheckedContinuation<Value, Never>? = state.withLock { state in
            switch state {
            case .idle: state = .answered(value)
            case .waiting(let continuation):
                state = .done
                return continuation
            case .answered, .done: break
            }
            return nil
        }
        waiting?.resume(returning: value)
    }
}

/// Calls that block and can't be cancelled: getaddrinfo, a read of standard input.
package enum BlockingCall {
    private static let queue = DispatchQueue(label: "multipath.blocking", attributes: .concurrent)

    /// Runs a call on a thread that nothing else waits for. A task that is cancelled gets nil at once; the
    /// call goes on, and what it returns is dropped.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let answer = FirstAnswer<Value?>()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                queue.async { answer.give(body()) }
            }
        } onCancel: {
            answer.give(nil)
        }
    }
}
