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

    var isGiven: Bool {
        state.withLock { state in
            switch state {
            case .idle, .waiting: false
            case .answered, .done: true
            }
        }
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
