// The one small epoll thread: what no Swift event loop can serve waits here (netlink, sockets that connect,
// timers of the machines). It is a serial executor as well, so an actor can live on it and take its events
// without a lock and without a change of thread.

import CLinux
import Glibc
import PathCore
import Synchronization

/// A thread that waits for descriptors and timers and runs the actors that live on it.
package final class EventThread: SerialExecutor {
    /// The process's own. It starts when first used and ends with the process.
    package static let shared = EventThread(name: "multipath")

    /// Names a registration or a timer. A number is never used again.
    package typealias Token = UInt64

    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
        package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
        /// Always reported, asked for or not.
        package static let error = Readiness(rawValue: EPOLLERR.rawValue)
        package static let hangup = Readiness(rawValue: EPOLLHUP.rawValue)
    }

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var closures: [@Sendable () -> Void] = []
        var isEmpty: Bool { jobs.isEmpty && closures.isEmpty }

        /// Its memory stays for what comes next.
        mutating func empty() {
            jobs.removeAll(keepingCapacity: true)
            closures.removeAll(keepingCapacity: true)
        }
    }

    /// What only the thread itself touches.
    private struct Confined {
        var handlers: [Token: (descriptor: CInt, body: (Readiness) -> Void)] = [:]
        /// Latest first, so that the next one due is at the end; of one deadline the newest first.
        var timers: [(deadline: MonotonicTime, token: Token)] = []
        var timerBodies: [Token: (deadline: MonotonicTime, body: () -> Void)] = [:]
        var nextToken: Token = 1
        /// An empty inbox, to be exchanged for the full one.
        var spare = Inbox()
    }

    /// For calls of drivers, which may wait. Its threads are made when this one first needs them, in its network namespace.
    let drivers = BlockingCalls(limit: 1, mostExtra: 3)
    private let name: String
    // Written once, before the thread runs.
    private nonisolated(unsafe) var epoll: CInt = -1
    private nonisolated(unsafe) var wake: CInt = -1
    #if DEBUG
        private let watchdog: EventThreadWatchdog?
    #endif
    private let isRunning = Atomic(false)
    private let starting = Locked(())
    /// The thread's pthread_t; 0 until it runs.
    private let thread = Atomic<pthread_t>(0)
    private let inbox = Locked(Inbox())
    // Safe because only the thread touches it: each method that does checks that first.
    private nonisolated(unsafe) var confined = Confined()

    /// Starts the thread, which is in the network namespace of the caller's. Where that fails, its first use tries again.
    ///
    /// - Parameter mayWait: whether what runs there may wait for as long as it takes: no connection lives there.
    package init(name: String, mayWait: Bool = false) {
        self.name = name
        #if DEBUG
            watchdog = mayWait ? nil : EventThreadWatchdog(name)
        #endif
        try? start()
    }

    /// Starts the thread where it does not run yet. What was submitted before waits for that.
    ///
    /// - Throws: EMFILE, ENFILE or ENOMEM without a descriptor for it, EAGAIN without a thread. The next use tries again.
    package func start() throws(SystemError) {
        if isRunning.load(ordering: .acquiring) { return }
        try starting.withLock { _ throws(SystemError) in
            if isRunning.load(ordering: .acquiring) { return }
            let epoll = Descriptor(
                owning: try systemCall("make the event thread's epoll") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
            )
            let wake = Descriptor(
                owning: try systemCall("make the event thread's eventfd") {
                    eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
                })
            var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 0))
            try systemCall("epoll_ctl") { epoll_ctl(epoll.number, EPOLL_CTL_ADD, wake.number, &event) }
            (self.epoll, self.wake) = (epoll.number, wake.number)
            try makeThread()
            _ = (epoll.release(), wake.release())
            isRunning.store(true, ordering: .releasing)
        }
    }

    private func makeThread() throws(SystemError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let this = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread, &attributes,
            { context in
                let this = Unmanaged<EventThread>.fromOpaque(context!).takeRetainedValue()
                mp_name_this_thread(this.name)
                this.run()
            }, this.toOpaque())
        guard failure == 0 else {
            this.release()
            throw SystemError("make the event thread", errno: failure)
        }
    }

    // MARK: From any thread

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        post { $0.jobs.append(job) }
    }

    /// Runs a closure on the thread, after what was submitted before.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        post { $0.closures.append(body) }
    }

    private func post(_ add: (inout Inbox) -> Void) {
        let wasEmpty = inbox.withLock { inbox in
            let wasEmpty = inbox.isEmpty
            add(&inbox)
            return wasEmpty
        }
        var mustWake = wasEmpty
        if !isRunning.load(ordering: .acquiring) {
            // Where it can't start, the next use tries again. It may have looked into the inbox before this was there.
            guard (try? start()) != nil else { return }
            mustWake = true
        }
        if mustWake {
            var one: UInt64 = 1
            _ = write(wake, &one, 8)
        }
    }

    package func checkIsolated() {
        precondition(isCurrent, "this runs on the \(name) thread only")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    // MARK: On the thread

    /// Calls a handler whenever the descriptor is ready, level-triggered, until `remove`.
    package func add(
        _ descriptor: CInt, for readiness: Readiness, _ body: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Token {
        checkIsolated()
        let token = newToken()
        var event = epoll_event(events: readiness.rawValue, data: epoll_data_t(u64: token))
        try systemCall("epoll_ctl") { epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) }
        confined.handlers[token] = (descriptor, body)
        return token
    }

    /// Ends a registration; call it before the descriptor is closed. A second call does nothing.
    package func remove(_ token: Token) {
        checkIsolated()
        guard let handler = confined.handlers.removeValue(forKey: token) else { return }
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, handler.descriptor, nil)
    }

    /// Calls a closure once, at the deadline or soon after it.
    package func schedule(at deadline: MonotonicTime, _ body: @escaping () -> Void) -> Token {
        checkIsolated()
        let token = newToken()
        confined.timers.insert((deadline, token), at: place(of: (deadline, token)))
        confined.timerBodies[token] = (deadline, body)
        return token
    }

    /// Ends a timer; one that has run is ended already.
    package func cancelTimer(_ token: Token) {
        checkIsolated()
        guard let (deadline, _) = confined.timerBodies.removeValue(forKey: token) else { return }
        confined.timers.remove(at: place(of: (deadline, token)))
    }

    /// Where a timer stands, or is to stand, in the order.
    private func place(of timer: (deadline: MonotonicTime, token: Token)) -> Int {
        var (low, high) = (0, confined.timers.count)
        while low < high {
            let middle = (low + high) / 2
            let other = confined.timers[middle]
            if (other.deadline, other.token) > timer { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func newToken() -> Token {
        defer { confined.nextToken += 1 }
        return confined.nextToken
    }

    private func run() -> Never {
        thread.store(pthread_self(), ordering: .relaxed)
        #if DEBUG
            watchdog?.start()
        #endif
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        runInbox()
        while true {
            let count = mp_epoll_wait(epoll, &events, CInt(events.count), nanosecondsToNextTimer ?? -1)
            precondition(count >= 0 || errno == EINTR, "epoll_wait: \(SystemError.words(errno))")
            for event in events.prefix(Int(max(0, count))) {
                // The fields are packed: copy before use.
                let (token, ready) = (event.data.u64, Readiness(rawValue: event.events))
                if token == 0 {
                    var drained: UInt64 = 0
                    _ = read(wake, &drained, 8)
                } else {
                    if let handler = confined.handlers[token] { watched { handler.body(ready) } }
                }
            }
            runTimers()
            runInbox()
        }
    }

    private var nanosecondsToNextTimer: Int64? {
        guard let deadline = confined.timers.last?.deadline else { return nil }
        let now = MonotonicTime.now
        return deadline <= now ? 0 : deadline.nanoseconds - now.nanoseconds
    }

    /// Runs one body, which the watchdog of a debug build times.
    @inline(__always)
    private func watched(_ body: () -> Void) {
        #if DEBUG
            watchdog?.begins()
            defer { watchdog?.ends() }
        #endif
        body()
    }

    private func runTimers() {
        guard !confined.timers.isEmpty else { return }
        let now = MonotonicTime.now
        while let timer = confined.timers.last, timer.deadline <= now {
            confined.timers.removeLast()
            if let timer = confined.timerBodies.removeValue(forKey: timer.token) { watched { timer.body() } }
        }
    }

    private func runInbox() {
        var taken = Inbox()
        swap(&taken, &confined.spare)
        inbox.withLock { swap(&$0, &taken) }
        for closure in taken.closures { watched { closure() } }
        for job in taken.jobs { watched { job.runSynchronously(on: asUnownedSerialExecutor()) } }
        taken.empty()
        swap(&taken, &confined.spare)
    }
}
