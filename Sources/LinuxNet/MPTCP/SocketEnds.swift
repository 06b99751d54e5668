import CLinux
import Glibc
import PathCore

/// Tells what TCP sockets of this network namespace have carried when they end: the kernel announces each with its last counters
/// (SKNLGRP_INET_TCP_DESTROY, net/core/sock_diag.c), to every program that listens. It lives on the event thread.
package final class SocketEnds {
    private let thread: EventThread
    private var subscription: NetlinkSubscription?
    private var registration: EventThread.Token?

    package init(on thread: EventThread) { self.thread = thread }

    /// Whether it listens.
    package var isListening: Bool { subscription != nil }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - isMeant: whether a socket's end is to be told, by its cookie: that of each socket on the machine is asked about.
    ///   - handler: called with a socket's cookie, and its last sample, whose number is 0.
    ///   - loss: called where the kernel has dropped announcements.
    package func start(
        isMeant: @escaping (UInt64) -> Bool, _ handler: @escaping (UInt64, SubflowSample) -> Void,
        loss: @escaping () -> Void
    ) throws(SystemError) {
        thread.checkIsolated()
        let subscription = try NetlinkSubscription(.sockets, groups: Self.groups)
        registration = try thread.add(subscription.descriptor, for: .readable) { [weak self] _ in
            self?.drain(isMeant, handler, loss)
        }
        self.subscription = subscription
    }

    package func stop() {
        if let registration { thread.remove(registration) }
        (registration, subscription) = (nil, nil)
    }

    private func drain(
        _ isMeant: (UInt64) -> Bool, _ handler: (UInt64, SubflowSample) -> Void, _ loss: () -> Void
    ) {
        // Held: the handler may stop this.
        guard let subscription else { return }
        do throws(SystemError) {
            let hasLost = try subscription.drain { datagram in
                _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                    guard let cookie = SocketDiagnosis.cookie(of: message), isMeant(cookie),
                        let found = SocketDiagnosis(message),
                        let sample = DiagnosedSocket.subflow(found, 0)
                    else { return }
                    handler(cookie, sample)
                }
            }
            if hasLost { loss() }
        } catch {
            // A socket that only errs would keep the thread busy for ever.
            stop()
        }
    }

    /// SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY.
    private static let groups: [UInt32] = [1, 3]
}
