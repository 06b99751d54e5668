import Glibc
import PathCore

/// Follows what NetworkManager says about interfaces, without ever needing it.
///
/// A machine without NetworkManager, without a bus or without a D-Bus library is an ordinary one: it just has
/// nothing to say, and `status` tells why. Where NetworkManager or the bus goes, its facts go; where one comes
/// back, so do they.
///
/// It is for one run: `start()` once, `stop()` once, and it lives in between. It has one connection to the bus,
/// which its owner shares among all who want to know.
package actor NetworkManagerWatch {
    package enum Status: Sendable, Hashable {
        /// Not started, or stopped.
        case idle
        /// Nothing is known yet.
        case connecting
        /// The bus answers, and NetworkManager is not there.
        case absent
        /// What was delivered last is what NetworkManager says.
        case live
        /// No library, no bus, or no answer; and why. All but a missing library are tried again.
        case unavailable(String)
    }

    package struct Counters: Sendable, Hashable {
        /// Properties of an unexpected type, and messages that could not be read.
        package var malformed = 0
        /// Signals in the name of NetworkManager or of the bus that another client sent.
        package var forged = 0
        /// Complete readings.
        package var readings = 0
        /// Connections that could not be made or were lost, and readings that failed.
        package var failures = 0
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private struct Shared {
        var status = Status.idle
        var counters = Counters()
        var isStopped = false
    }

    /// What can be asked from any thread.
    private nonisolated let shared = Locked(Shared())
    private nonisolated let thread: EventThread
    private let addresses: [String]
    private let onChange: @Sendable ([String: NetworkManagerDevice]) -> Void

    private var library: SystemdLibrary?
    private var connection: BusConnection?
    private var reading: BusConnection.Call?
    private var attempts = 0
    private var decoder = NetworkManagerDecoder()
    /// Nil until they were read once, and whenever they no longer hold.
    private var objects: NetworkManagerObjects?
    /// The unique name of the NetworkManager that answered the reading.
    private var manager: String?
    /// What the owner knows; nil before it was told anything.
    private var delivered: [String: NetworkManagerDevice]?
    /// Something changed that the owner is told of once the messages that have arrived are read.
    private var isNews = false
    /// The one thing that is to be tried later: to connect, or to read.
    private var retry: EventThread.Token?
    private var retryDelay = RetryDelay()
    /// Limits how long a bus may take to let us in and to answer.
    private var patience: EventThread.Token?

    /// - Parameters:
    ///   - address: of the bus; nil for the system's, or what DBUS_SYSTEM_BUS_ADDRESS says.
    ///   - thread: where the connection lives.
    ///   - onChange: called on that thread with all devices by the names of their interfaces, first when
    ///     it is known what NetworkManager says or that there is nothing to be known, then at every change.
    package init(
        address: String? = nil, on thread: EventThread,
        onChange: @escaping @Sendable ([String: NetworkManagerDevice]) -> Void
    ) {
        addresses = BusAddress.candidates(address)
        self.thread = thread
        self.onChange = onChange
    }

    package nonisolated var status: Status { shared.withLock { $0.status } }
    package nonisolated var counters: Counters { shared.withLock { $0.counters } }

    package nonisolated func start() {
        setStatus(.connecting)
        thread.submit {
            self.assumeIsolated { $0.loadLibrary() }
        }
    }

    /// Reading a library's files is nothing for the event thread.
    private func loadLibrary() {
        guard !isStopped else { return }
        do throws(SystemError) {
            try BlockingCalls.resolver.submit {
                let library = Result { () throws(SystemdLibrary.Missing) in try SystemdLibrary.load() }
                self.thread.submit {
                    self.assumeIsolated { $0.begin(library) }
                }
            }
        } catch {
            failed(error.description) { $0.loadLibrary() }
        }
    }

    /// After this returns no call of `onChange` begins, unless one was under way on the event thread.
    package nonisolated func stop() {
        shared.withLock { shared in
            shared.isStopped = true
            shared.status = .idle
        }
        thread.submit {
            self.assumeIsolated { $0.disconnect() }
        }
    }

    private nonisolated var isStopped: Bool { shared.withLock { $0.isStopped } }

    private nonisolated func setStatus(_ status: Status) {
        shared.withLock { if !$0.isStopped { $0.status = status } }
    }

    // MARK: The connection

    private func begin(_ library: Result<SystemdLibrary, SystemdLibrary.Missing>) {
        switch library {
        case .failure(let missing):
            setStatus(.unavailable(missing.reason))
            deliver()
        case .success where addresses.isEmpty:
            setStatus(.unavailable("the bus address names no Unix socket"))
            deliver()
        case .success(let library):
            self.library = library
            connect()
        }
    }

    private func connect() {
        guard !isStopped, let library else { return }
        let address = addresses[attempts % addresses.count]
        attempts += 1
        do throws(SystemError) {
            // The connection keeps this object, until `disconnect`.
            let connection = try BusConnection(
                library, address: address, on: thread, batchEnded: { self.batchEnded() },
                ended: { self.lost($0) })
            self.connection = connection
            try subscribe(connection)
            // Asked for after the subscriptions: a change that is not in the answer comes as a signal.
            try read()
            patience = later(Self.answerLimit) { $0.lost(SystemError("wait for the bus", errno: ETIMEDOUT)) }
        } catch {
            lost(error)
        }
    }

    private func lost(_ error: SystemError) {
        disconnect()
        failed(error.description) { $0.connect() }
    }

    private func disconnect() {
        cancel(&retry)
        cancel(&patience)
        reading?.cancel()
        connection?.close()
        (reading, connection, objects) = (nil, nil, nil)
    }

    /// Forgets what was known, and tries again later.
    private func failed(_ reason: String, _ again: @escaping @Sendable (isolated NetworkManagerWatch) -> Void)
    {
        objects = nil
        shared.withLock { $0.counters.failures += 1 }
        setStatus(.unavailable(reason))
        deliver()
        retryLater(retryDelay.next(), again)
    }

    private func retryLater(
        _ delay: Duration, _ again: @escaping @Sendable (isolated NetworkManagerWatch) -> Void
    ) {
        guard !isStopped, retry == nil else { return }
        retry = later(delay) { watch in
            watch.retry = nil
            again(watch)
        }
    }

    /// Runs something on the event thread after a while. The timer keeps this object.
    private func later(
        _ delay: Duration, _ body: @escaping @Sendable (isolated NetworkManagerWatch) -> Void
    ) -> EventThread.Token {
        thread.schedule(at: MonotonicTime.now.advanced(by: delay)) { body(self) }
    }

    private func cancel(_ timer: inout EventThread.Token?) {
        if let token = timer { thread.cancelTimer(token) }
        timer = nil
    }

    private func batchEnded() {
        if isNews { deliver() }
    }

    private func deliver() {
        isNews = false
        let devices = objects?.devices ?? [:]
        guard !isStopped, delivered != devices else { return }
        delivered = devices
        onChange(devices)
    }

    // MARK: What is asked

    private static let service = "org.freedesktop.NetworkManager"
    private static let bus = "org.freedesktop.DBus"
    /// For the bus to let us in and to pass on an answer, or to say that the service is not there.
    private static let answerLimit = Duration.seconds(20)
    private static let readLimit = Duration.seconds(10)
    /// For a reading that a signal makes necessary: there may be many of those.
    private static let rereadDelay = Duration.seconds(1)

    private func subscribe(_ connection: BusConnection) throws(SystemError) {
        try connection.subscribe(
            "type='signal',sender='\(Self.bus)',path='/org/freedesktop/DBus',interface='\(Self.bus)',"
                + "member='NameOwnerChanged',arg0='\(Self.service)'"
        ) { self.ownerChanged($0) }
        try connection.subscribe(
            "type='signal',sender='\(Self.service)',path='/org/freedesktop',"
                + "interface='\(Self.bus).ObjectManager'"
        ) { signal in
            self.apply(signal) { $0.apply(objectSignal: signal, to: &$1) }
        }
        // One by one: the statistics and the many other things NetworkManager tells of wake no thread here.
        for interface in NetworkManagerObjects.Interface.allCases {
            try connection.subscribe(
                "type='signal',sender='\(Self.service)',path_namespace='/org/freedesktop/NetworkManager',"
                    + "interface='\(Self.bus).Properties',member='PropertiesChanged',"
                    + "arg0='\(interface.rawValue)'"
            ) { signal in
                self.apply(signal) { $0.apply(propertiesChanged: signal, to: &$1) }
            }
        }
    }

    /// Asks for everything. The answer to an earlier question is not waited for any more.
    private func read() throws(SystemError) {
        reading?.cancel()
        reading = nil
        reading = try connection?.call(
            Self.service, "/org/freedesktop", "\(Self.bus).ObjectManager", "GetManagedObjects",
            timeout: Self.readLimit
        ) { self.ingest($0) }
    }

    private func readNow() {
        do throws(SystemError) {
            try read()
        } catch {
            failed(error.description) { $0.readNow() }
        }
    }

    // MARK: What is heard

    private func ingest(_ answer: BusMessage) {
        reading?.cancel()
        reading = nil
        cancel(&patience)
        if let error = answer.errorName {
            let isAbsent = ["ServiceUnknown", "NameHasNoOwner"].contains {
                error == "\(Self.bus).Error.\($0)"
            }
            guard isAbsent else { return failed("NetworkManager: \(error)") { $0.readNow() } }
            return absent()
        }
        let read = decoder.objects(answer)
        shared.withLock { shared in
            shared.counters.malformed = decoder.malformed
            if read != nil { shared.counters.readings += 1 }
        }
        guard let read else { return failed("NetworkManager: an answer of another form") { $0.readNow() } }
        cancel(&retry)
        retryDelay.reset()
        (objects, manager) = (read, answer.sender)
        setStatus(.live)
        isNews = true
    }

    private func absent() {
        cancel(&retry)
        retryDelay.reset()
        objects = nil
        setStatus(.absent)
        isNews = true
    }

    /// NetworkManager came, went, or was replaced.
    private func ownerChanged(_ signal: BusMessage) {
        guard signal.sender == Self.bus else { return forged() }
        do throws(BusMessage.Malformed) {
            _ = try (signal.string(), signal.string())
            if try signal.string().isEmpty {
                reading?.cancel()
                reading = nil
                return absent()
            }
        } catch {
            // Only the bus itself sends these, so this is as good as never. Reading tells how things are.
            shared.withLock { $0.counters.malformed += 1 }
        }
        // What the one before said no longer changes; what the new one says replaces it.
        cancel(&retry)
        objects = nil
        readNow()
    }

    private func forged() { shared.withLock { $0.counters.forged += 1 } }

    private func apply(
        _ signal: BusMessage, _ body: (inout NetworkManagerDecoder, inout NetworkManagerObjects) -> Bool
    ) {
        // Before the answer to a reading, signals tell what the answer will tell.
        guard var known = objects else { return }
        guard signal.sender == manager else { return forged() }
        objects = nil
        let isComplete = body(&decoder, &known)
        objects = known
        shared.withLock { $0.counters.malformed = decoder.malformed }
        isNews = true
        if !isComplete { retryLater(Self.rereadDelay) { $0.readNow() } }
    }
}
