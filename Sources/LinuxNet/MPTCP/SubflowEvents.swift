import Glibc
import PathCore

/// What the kernel's path manager announces of the connections of this network namespace, live.
///
/// It lives on the event thread. While a process listens, connections of the userspace path manager accept
/// joins of their peers; without a listener the kernel refuses them (mptcp_userspace_pm_active).
package final class SubflowEvents {
    private let thread: EventThread
    private let hidesCreations: Bool
    private var notifications: GenericNotifications?
    private var registration: EventThread.Token?
    private var handler: ((SubflowEvent) -> Void)?
    private var isDraining = false
    /// When announced addresses are told again.
    private var hidden: EventThread.Token?
    /// When to listen again, where that failed.
    private var retry: EventThread.Token?
    private var malformedBefore = 0

    /// - Parameter hidesCreations: whether to be told nothing of connections until they are established: each costs
    ///   the thread a wake-up, and who only steers has no use for it.
    package init(on thread: EventThread, hidesCreations: Bool = false) {
        self.thread = thread
        self.hidesCreations = hidesCreations
    }

    /// Messages that could not be read, or whose event is not known.
    package private(set) var unknown = 0
    package var malformed: Int { malformedBefore + (notifications?.malformed ?? 0) }

    package enum Availability: Sendable, Hashable {
        case listening
        case unavailable(ControlLimit)
    }

    /// Starts to listen. The handler is called on the event thread; `.lost` comes behind what was still
    /// queued when the kernel dropped something.
    package func start(_ handler: @escaping (SubflowEvent) -> Void) -> Availability {
        thread.checkIsolated()
        stop()
        do throws(SystemError) {
            let notifications = try GenericNotifications.subflowEvents(
                without: hiddenKinds)
            registration = try thread.add(notifications.descriptor, for: .readable) { [weak self] _ in
                self?.drainEvents(handler)
            }
            self.notifications = notifications
            self.handler = handler
            return .listening
        } catch {
            return .unavailable(ControlLimit(ofCommands: error))
        }
    }

    package func stop() {
        if let registration { thread.remove(registration) }
        if let retry { thread.cancelTimer(retry) }
        malformedBefore = malformed
        (registration, notifications, retry, handler) = (nil, nil, nil, nil)
    }

    /// Tells what has been announced up to now, which waits to be read otherwise.
    package func drain() {
        thread.checkIsolated()
        // Not from within what a message led to: the buffer is in use.
        if let handler, !isDraining { drainEvents(handler) }
    }

    /// Has the kernel drop what peers announce and wish for a while (ADD_ADDR, RM_ADDR, MP_PRIO): one peer can send any number.
    /// At the end of it `.lost` is told.
    package func hideAnnouncements(for pause: Duration) {
        guard hidden == nil else { return }
        hidden = thread.schedule(at: .now.advanced(by: pause)) { [weak self] in
            guard let self else { return }
            hidden = nil
            try? notifications?.hide(hiddenKinds)
            handler?(.lost)
        }
        // Where it can't be set they cost what they cost.
        try? notifications?.hide(hiddenKinds)
    }

    private var hiddenKinds: [UInt8] {
        (hidesCreations ? [PathManagerEvent.created] : [])
            + (hidden == nil
                ? []
                : [PathManagerEvent.announced, PathManagerEvent.removed, PathManagerEvent.subflowPriority])
    }

    /// Listens over another socket: at once, or as soon as there is a descriptor for it.
    private func restart(_ handler: @escaping (SubflowEvent) -> Void) {
        guard start(handler) != .listening else { return }
        retry = thread.schedule(at: .now.advanced(by: .seconds(1))) { [weak self] in
            guard let self else { return }
            retry = nil
            restart(handler)
            // What the kernel told meanwhile is lost.
            if retry == nil { handler(.lost) }
        }
    }

    private func drainEvents(_ handler: @escaping (SubflowEvent) -> Void) {
        // Held: the handler may stop this.
        guard let notifications else { return }
        isDraining = true
        defer { isDraining = false }
        var hasLost = true
        do throws(SystemError) {
            hasLost = try notifications.drain { message in
                if let event = SubflowEventDecoder.event(message) { handler(event) } else { unknown += 1 }
            }
        } catch {
            // A socket that only errs would keep the thread busy for ever. The next one may do better.
            restart(handler)
        }
        if hasLost { handler(.lost) }
    }
}

extension GenericNotifications {
    /// A socket that gets the path manager's events, but for those of some kinds.
    /// - Throws: EPERM without CAP_NET_ADMIN, ENOENT where the kernel has no such events.
    static func subflowEvents(without kinds: [UInt8] = []) throws(SystemError) -> GenericNotifications {
        let family = try GenericNetlink().family(PathManagerFamily.name)
        return try GenericNotifications(family, groups: [PathManagerFamily.events], without: kinds)
    }
}

enum PathManagerFamily {
    static let name = "mptcp_pm"
    static let events = "mptcp_pm_events"
}

extension SystemError {
    /// What stands in the way of listening, as an error.
    package init(_ limit: ControlLimit) {
        self.init(
            "listen to the path manager", errno: limit == .noPrivilege ? EPERM : ENOENT,
            detail: limit.description)
    }
}

extension ControlLimit {
    /// What an error of the path manager's netlink family means.
    init(ofCommands error: SystemError) {
        switch error.errno {
        case EPERM: self = .noPrivilege
        // The family is part of the kernel's MPTCP, its events of Linux 5.11.
        case ENOENT: self = error.operation.hasPrefix("join") ? .oldKernel : .noMPTCP
        default: self = .failed("\(error)")
        }
    }
}
