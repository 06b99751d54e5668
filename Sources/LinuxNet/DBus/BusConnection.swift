import CLinux
import Glibc
import PathCore

/// A client's connection to a message bus, which lives on an event thread.
///
/// It never waits: the connection opens, authenticates and sends as its descriptor allows. Subscriptions and
/// calls may be made right after `init`; they leave once the bus has let us in. No
/// closure of its owner's runs after `close`, which the owner calls even where `ended` was called before.
final class BusConnection {
    /// What an answer is delivered to. Its owner drops it to get no answer any more.
    final class Call {
        fileprivate let handler: Handler
        fileprivate var slot: SystemdLibrary.Slot?

        fileprivate init(_ handler: Handler) { self.handler = handler }

        /// - Note: before the connection closes, on the event thread.
        func cancel() {
            if let slot { _ = handler.library.slotUnref(slot) }
            slot = nil
        }
    }

    /// What sd-bus gets as the context of a callback.
    fileprivate final class Handler {
        let library: SystemdLibrary
        let body: (BusMessage) -> Void

        init(_ library: SystemdLibrary, _ body: @escaping (BusMessage) -> Void) {
            self.library = library
            self.body = body
        }
    }

    /// So many messages are handled before others get their turn on the thread.
    private static let batch = 64

    private let library: SystemdLibrary
    private let bus: SystemdLibrary.Bus
    private let thread: EventThread
    private let batchEnded: () -> Void
    private let ended: (SystemError) -> Void
    private var handlers: [Handler] = []
    private var registration: (token: EventThread.Token, descriptor: CInt, events: CInt)?
    private var timer: (token: EventThread.Token, deadline: UInt64)?
    private var isProcessing = false
    private var isClosed = false

    /// - Parameters:
    ///   - address: of a Unix socket; see `BusAddress`.
    ///   - thread: where this is called.
    ///   - batchEnded: called after messages were handled.
    ///   - ended: called once, when the connection is lost or was not let in.
    init(
        _ library: SystemdLibrary, address: String, on thread: EventThread,
        batchEnded: @escaping () -> Void, ended: @escaping (SystemError) -> Void
    ) throws(SystemError) {
        thread.checkIsolated()
        var made: SystemdLibrary.Bus?
        try Self.check("make a bus connection", library.new(&made))
        guard let bus = made else { throw SystemError("make a bus connection", errno: ENOMEM) }
        do throws(SystemError) {
            try Self.check("use bus address \(address)", library.setAddress(bus, address))
            try Self.check("use bus address \(address)", library.setBusClient(bus, 1))
            try Self.check("connect to the bus at \(address)", library.start(bus))
        } catch {
            library.close(bus)
            _ = library.unref(bus)
            throw error
        }
        (self.library, self.bus, self.thread) = (library, bus, thread)
        (self.batchEnded, self.ended) = (batchEnded, ended)
    }

    /// Calls a handler for every message that a D-Bus match rule fits. A rule the bus refuses ends the
    /// connection.
    func subscribe(_ rule: String, _ body: @escaping (BusMessage) -> Void) throws(SystemError) {
        let handler = Handler(library, body)
        try Self.check(
            "subscribe to \(rule)",
            library.addMatch(
                bus, nil, rule, Self.trampoline, nil, Unmanaged.passUnretained(handler).toOpaque()))
        handlers.append(handler)
        update()
    }

    /// Calls a method without arguments. Nothing is started for it that does not run.
    ///
    /// - Parameter body: gets the answer, or an error message in its place, also where none came in time.
    /// - Returns: to be kept until then.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, timeout: Duration,
        _ body: @escaping (BusMessage) -> Void
    ) throws(SystemError) -> Call {
        var made: SystemdLibrary.Message?
        try Self.check(
            "make a call of \(member)",
            library.newCall(bus, &made, destination, path, interface, member))
        guard let message = made else { throw SystemError("make a call of \(member)", errno: ENOMEM) }
        defer { _ = library.messageUnref(message) }
        try Self.check("make a call of \(member)", library.setAutoStart(message, 0))
        let call = Call(Handler(library, body))
        try Self.check(
            "call \(member)",
            library.call(
                bus, &call.slot, message, Self.trampoline,
                Unmanaged.passUnretained(call.handler).toOpaque(),
                UInt64(timeout.wholeNanoseconds / 1000)))
        update()
        return call
    }

    /// Ends the connection at once; what was not sent yet is dropped. Calls are cancelled before.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        if let registration { thread.remove(registration.token) }
        if let timer { thread.cancelTimer(timer.token) }
        (registration, timer) = (nil, nil)
        // Within a callback sd-bus still needs it.
        if !isProcessing { release() }
    }

    private func release() {
        library.close(bus)
        _ = library.unref(bus)
    }

    deinit { precondition(isClosed, "a bus connection is closed before it goes") }

    // MARK: Driving sd-bus

    private func process() {
        guard !isClosed else { return }
        var status: CInt = 1
        var count = 0
        isProcessing = true
        while status > 0, count < Self.batch, !isClosed {
            // Each step takes or sends one message at most.
            status = library.process(bus, nil)
            count += 1
        }
        isProcessing = false
        if isClosed { return release() }
        if count > 1 || status < 0 { batchEnded() }
        guard !isClosed else { return }
        if status < 0 {
            stopWatching()
            ended(SystemError("talk to the bus", errno: -status))
        } else if status > 0 {
            processLater()
        } else {
            update()
        }
    }

    /// Waits for what sd-bus waits for: its descriptor and events change as the connection opens, and whenever
    /// something is left to be sent.
    private func update() {
        guard !isClosed, !isProcessing else { return }
        let (descriptor, events) = (library.descriptor(bus), library.events(bus))
        var deadline = UInt64.max
        guard descriptor >= 0, events >= 0, library.deadline(bus, &deadline) >= 0 else {
            // It has closed already; processing tells why.
            return processLater()
        }
        if registration?.descriptor != descriptor || registration?.events != events {
            if let registration { thread.remove(registration.token) }
            registration = nil
            do throws(SystemError) {
                let token = try thread.add(
                    descriptor, for: EventThread.Readiness(rawValue: UInt32(truncatingIfNeeded: events))
                ) { [unowned self] _ in process() }
                registration = (token, descriptor, events)
            } catch {
                // Only when out of memory or of watches. Tried again with the next message or timer of ours;
                // a lost connection would not be better.
                deadline = min(deadline, Self.microseconds(.now.advanced(by: .seconds(1))))
            }
        }
        setTimer(deadline)
    }

    private func processLater() { setTimer(0) }

    private func setTimer(_ deadline: UInt64) {
        guard timer?.deadline != deadline else { return }
        if let timer { thread.cancelTimer(timer.token) }
        timer = nil
        guard deadline != .max else { return }
        let time = MonotonicTime.zero.advanced(by: .microseconds(Int64(clamping: deadline)))
        // Not before now, so that other timers that are due have their turn.
        let token = thread.schedule(at: max(time, .now)) { [unowned self] in
            timer = nil
            process()
        }
        timer = (token, deadline)
    }

    private func stopWatching() {
        if let registration { thread.remove(registration.token) }
        if let timer { thread.cancelTimer(timer.token) }
        (registration, timer) = (nil, nil)
    }

    private static func microseconds(_ time: MonotonicTime) -> UInt64 {
        UInt64(max(0, time.nanoseconds) / 1000)
    }

    private static let trampoline: SystemdLibrary.Handler = { message, context, _ in
        guard let message, let context else { return 0 }
        let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
        handler.body(BusMessage(message, handler.library))
        // Zero lets other subscriptions see the message too.
        return 0
    }

    private static func check(_ operation: @autoclosure () -> String, _ status: CInt) throws(SystemError) {
        if status < 0 { throw SystemError(operation(), errno: -status) }
    }
}
