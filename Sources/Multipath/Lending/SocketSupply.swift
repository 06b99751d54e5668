import CLinux
import Glibc
import LinuxNet

/// Makes MPTCP sockets for other programs, as steerable as this process may make them, and as a program would find them that
/// had made them itself: blocking, with every option at its default. It lives on the event thread.
package final class SocketSupply: @unchecked Sendable {
    let runtime: Runtime

    /// What the last socket got; nil before the first.
    package private(set) var level: ControlLevel?

    package init(_ monitor: PathMonitor) { runtime = monitor.runtime }

    /// Finds out what this process may, and connects to `mpathd` where it needs that.
    package func begin() { runtime.steering.begin() }

    /// Makes a socket and has it prepared.
    ///
    /// - Parameters:
    ///   - patience: how long `mpathd` is waited for.
    ///   - completion: called once, later as a rule, with the socket or with why there is none.
    package func make(
        _ family: IPAddress.Family, patience: Duration,
        _ completion: @escaping (Result<SuppliedSocket, SystemError>) -> Void
    ) {
        do throws(SystemError) {
            let made = try runtime.steering.makeSocket(family)
            let level = made.level
            let socket = SuppliedSocket(made.releaseSocket().release(), level)
            guard level == .perConnectionByBroker else {
                self.level = level
                return completion(.success(socket))
            }
            runtime.steering.prepare(patience: patience) {
                socket.number
            } _: { preparation in
                switch preparation {
                case .done: break
                case .refused(let limit): socket.level = .observeOnly(because: limit)
                case .unanswered:
                    // The daemon may disconnect the one it was given at any moment.
                    return completion(Self.plain(family))
                }
                self.level = socket.level
                completion(.success(socket))
            }
        } catch {
            completion(.failure(error))
        }
    }

    /// Has a socket prepared that a program has got unprepared, and that it is about to connect.
    ///
    /// - Parameters:
    ///   - descriptor: a duplicate of it, for the moment of this call.
    ///   - deadline: from then on the socket is left alone.
    ///   - patience: how much longer an answer is waited for, where the daemon may have begun.
    ///   - completion: called once, now or later, with what it has got.
    package func prepare(
        _ descriptor: CInt, by deadline: MonotonicTime, patience: Duration,
        _ completion: @escaping (ControlLevel) -> Void
    ) {
        runtime.steering.prepareLate(descriptor, by: deadline, patience: patience) { preparation in
            switch preparation {
            case .done: completion(.perConnectionByBroker)
            case .refused(let limit): completion(.observeOnly(because: limit))
            case .unanswered: completion(.observeOnly(because: .brokerSilent))
            }
        }
    }

    private static func plain(_ family: IPAddress.Family) -> Result<SuppliedSocket, SystemError> {
        do throws(SystemError) {
            return .success(
                SuppliedSocket(
                    try StreamSocket(family, .mptcp).release(), .observeOnly(because: .brokerSilent)))
        } catch {
            return .failure(error)
        }
    }
}

/// A socket for another program, closed here when this goes.
package final class SuppliedSocket {
    /// The socket's number, for a call; it is not to be kept.
    package let number: CInt
    /// How far its connection can be steered.
    package fileprivate(set) var level: ControlLevel

    fileprivate init(_ number: CInt, _ level: ControlLevel) {
        (self.number, self.level) = (number, level)
        // What the library's own sockets have and a program's have not.
        _ = fcntl(number, F_SETFL, O_RDWR)
        try? SocketOption.set(number, CInt(IPPROTO_TCP), TCP_NODELAY, 0, "TCP_NODELAY")
    }

    deinit { _ = close(number) }
}
