import CLinux
import Dispatch
import Glibc
import PathCore
import Synchronization

/// The system's resolver: getaddrinfo, with all that nsswitch.conf puts behind it.
package enum SystemResolver {
    // getaddrinfo blocks and can't be cancelled, so it runs on threads that nothing else waits for.
    private static let queue = DispatchQueue(label: "multipath.resolver", attributes: .concurrent)

    /// A host's addresses in RFC 6724 order. A literal is answered without asking anybody.
    ///
    /// A caller that is cancelled gets its answer at once; the lookup outlives it, and what it finds is
    /// dropped.
    package static func addresses(of host: String) async throws(RaceMachine.ResolutionFailure) -> [IPAddress] {
        if let literal = IPAddress(host) { return [literal] }
        let answer = FirstAnswer<Answer>()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                queue.async { answer.give(lookUp(host)) }
            }
        } onCancel: {
            answer.give(.failure(RaceMachine.ResolutionFailure(reason: "cancelled")))
        }.get()
    }

    private typealias Answer = Result<[IPAddress], RaceMachine.ResolutionFailure>

    private static func lookUp(_ host: String) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        let number = errno
        guard status == 0 else {
            let words = status == EAI_SYSTEM ? SystemError.words(number) : String(cString: gai_strerror(status))
            return .failure(RaceMachine.ResolutionFailure(reason: words))
        }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let name = entry.ai_addr,
                let endpoint = IPEndpoint(UnsafeRawBufferPointer(start: name, count: Int(entry.ai_addrlen)))
            {
                addresses.append(endpoint.address)
            }
            next = entry.ai_next
        }
        return .success(addresses)
    }
}

/// Resumes its continuation with the first value given, whether that comes before the wait or after.
private final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, Never>)
        case answered(Value)
        case done
    }

    private let state = Mutex(State.idle)

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
