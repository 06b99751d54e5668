import CAres
import Glibc
import LinuxNet
import Multipath

/// One question to c-ares, from its sockets to its answer. It lives on the event thread, which waits for c-ares'
/// sockets and timeouts beside everything else.
final class NameQuery: @unchecked Sendable {
    typealias Answer = Result<Found, ResolutionError>

    /// What is asked for.
    enum Kind: Sendable, Hashable {
        case addresses(IPAddress.Family)
        /// HTTPS records (RFC 9460).
        case services
    }

    /// What was found; nothing is an answer too.
    struct Found: Sendable {
        var addresses: [IPAddress] = []
        var records: [ServiceRecord] = []
        /// The shortest one of the answer's records.
        var timeToLive: Duration?
    }

    private let host: String
    private let kind: Kind
    private let servers: [IPEndpoint]
    private let interface: InterfaceIndex
    private let timeout: Duration

    // The event thread's, once the question is asked.
    private var channel: ares_channel?
    private var waiting: CheckedContinuation<Answer, Never>?
    private var answer: Answer?
    private var bindError: CInt = 0
    private var registrations: [ares_socket_t: EventThread.Token] = [:]
    private var timer: EventThread.Token?
    private var deadline = MonotonicTime.zero

    /// c-ares keeps a count of its users; it stays loaded.
    private static let library: CInt = ares_library_init(CInt(ARES_LIB_INIT_ALL))

    init(
        host: String, _ kind: Kind, servers: [IPEndpoint], interface: InterfaceIndex,
        timeout: Duration
    ) {
        self.host = host
        self.kind = kind
        self.servers = servers
        self.interface = interface
        self.timeout = timeout
    }

    deinit { if let channel { ares_destroy(channel) } }

    /// Asks, once. A cancelled task has its answer at once, and nothing more is sent.
    func run() async -> Answer {
        let status = open()
        guard status == ARES_SUCCESS else { return failure(status) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                EventThread.shared.submit { self.start(continuation) }
            }
        } onCancel: {
            EventThread.shared.submit { self.end(.failure(ResolutionError("cancelled"))) }
        }
    }

    // MARK: Before

    /// Here and not on the event thread: c-ares reads resolv.conf for its search list.
    private func open() -> CInt {
        guard Self.library == ARES_SUCCESS else { return Self.library }
        var options = ares_options()
        options.timeout = CInt(clamping: Int64(timeout.inMilliseconds))
        options.tries = 2
        options.sock_state_cb = { context, socket, reads, writes in
            NameQuery.from(context)?.wait(for: socket, reads: reads != 0, writes: writes != 0)
        }
        options.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
        // "b": ask servers, and not /etc/hosts, which is no path's.
        let status = "b".withCString { lookups in
            options.lookups = UnsafeMutablePointer(mutating: lookups)
            return ares_init_options(
                &channel, &options,
                CInt(ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB))
        }
        guard status == ARES_SUCCESS else { return status }
        // Without their zones, which c-ares does not read: the socket is bound to the interface anyway.
        let list = servers.map { IPEndpoint($0.address.inZone(0), port: $0.port).description }
            .joined(separator: ",")
        return ares_set_servers_ports_csv(channel, list)
    }

    // MARK: On the event thread

    private func start(_ continuation: CheckedContinuation<Answer, Never>) {
        waiting = continuation
        if let answer { return end(answer) }
        // c-ares gives up by its own timeouts; this is for a server that keeps it busy with what is no answer.
        deadline = .now.advanced(by: timeout * 4 * servers.count + .seconds(5))
        let context = Unmanaged.passUnretained(self).toOpaque()
        ares_set_socket_configure_callback(
            channel,
            { socket, _, context in
                // c-ares' own binding ignores errors, and would then ask over whatever path the kernel likes.
                NameQuery.from(context)?.bind(socket) ?? -1
            }, context)
        switch kind {
        case .addresses(let family): askForAddresses(family, context)
        case .services: askForServices(context)
        }
        settle()
    }

    private func askForAddresses(_ family: IPAddress.Family, _ context: UnsafeMutableRawPointer) {
        var hints = ares_addrinfo_hints()
        // Each path sorts for itself.
        hints.ai_flags = CInt(ARES_AI_NOSORT)
        hints.ai_family = family == .ipv4 ? AF_INET : AF_INET6
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        ares_getaddrinfo(
            channel, host, nil, &hints,
            { context, status, _, found in
                NameQuery.from(context)?.answered(status, found)
                if let found { ares_freeaddrinfo(found) }
            }, context)
    }

    private func askForServices(_ context: UnsafeMutableRawPointer) {
        ares_query(
            channel, host, ServiceMessage.internetClass, ServiceMessage.httpsType,
            { context, status, _, bytes, count in
                NameQuery.from(context)?.answered(
                    status,
                    message: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count)))
            }, context)
    }

    private func bind(_ socket: ares_socket_t) -> CInt {
        do throws(SystemError) {
            try SocketOption.bind(socket, toInterface: interface)
            return 0
        } catch {
            bindError = error.errno
            return -1
        }
    }

    /// c-ares is asked for nothing here: it is in the middle of something.
    private func answered(_ status: CInt, _ found: UnsafeMutablePointer<ares_addrinfo>?) {
        switch status {
        case ARES_SUCCESS: answer = .success(NameQuery.Found(found))
        // The name exists, and has no address of this family.
        case ARES_ENODATA: answer = .success(Found(addresses: []))
        default: answer = failure(status)
        }
    }

    private func answered(_ status: CInt, message: UnsafeRawBufferPointer) {
        switch status {
        case ARES_SUCCESS:
            guard let read = ServiceMessage.read(message) else {
                answer = .failure(ResolutionError("the HTTPS records are malformed"))
                return
            }
            answer = .success(
                Found(records: read.records, timeToLive: read.timeToLive.map { .seconds(Int64($0)) }))
        // A host without such records is an ordinary one, and its name for another port need not exist.
        case ARES_ENODATA, ARES_ENOTFOUND: answer = .success(Found())
        default: answer = failure(status)
        }
    }

    /// What c-ares waits for on a socket; nothing any more just before it closes that.
    private func wait(for socket: ares_socket_t, reads: Bool, writes: Bool) {
        if let token = registrations.removeValue(forKey: socket) { EventThread.shared.remove(token) }
        guard reads || writes else { return }
        var readiness: EventThread.Readiness = []
        if reads { readiness.insert(.readable) }
        if writes { readiness.insert(.writable) }
        // Without a registration c-ares' timeout is the answer.
        registrations[socket] = try? EventThread.shared.add(socket, for: readiness) { ready in
            self.process(
                ready.isDisjoint(with: [.readable, .error, .hangup]) ? ARES_SOCKET_BAD : socket,
                ready.contains(.writable) ? socket : ARES_SOCKET_BAD)
        }
    }

    private func process(_ readable: ares_socket_t, _ writable: ares_socket_t) {
        ares_process_fd(channel, readable, writable)
        settle()
    }

    /// After each call into c-ares: is there an answer, and if not, when does it want to be called again?
    private func settle() {
        guard let channel else { return }
        if bindError != 0 {
            let words = SystemError.words(bindError)
            return end(.failure(ResolutionError("no socket on this path: \(words)")))
        }
        if let answer { return end(answer) }
        let now = MonotonicTime.now
        var next = timeval()
        guard now < deadline, ares_timeout(channel, nil, &next) != nil else {
            return end(.failure(ResolutionError("no answer")))
        }
        if let timer { EventThread.shared.cancelTimer(timer) }
        // c-ares' clock has microseconds: a timer that runs a little early would run twice.
        let wait = Duration.seconds(next.tv_sec) + .microseconds(next.tv_usec + 500)
        timer = EventThread.shared.schedule(at: min(deadline, now.advanced(by: wait))) {
            self.timer = nil
            self.process(ARES_SOCKET_BAD, ARES_SOCKET_BAD)
        }
    }

    /// The first end counts. Never from inside a callback of c-ares, for it closes all that c-ares has.
    private func end(_ answer: Answer) {
        self.answer = answer
        if let timer { EventThread.shared.cancelTimer(timer) }
        timer = nil
        if let channel {
            self.channel = nil
            // It calls back for what is still open, and for each socket.
            ares_destroy(channel)
        }
        waiting?.resume(returning: answer)
        waiting = nil
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> NameQuery? {
        context.map { Unmanaged<NameQuery>.fromOpaque($0).takeUnretainedValue() }
    }
}

private func failure(_ status: CInt) -> NameQuery.Answer {
    .failure(
        ResolutionError(String(cString: ares_strerror(status)), isNoSuchName: status == ARES_ENOTFOUND))
}

extension NameQuery.Found {
    fileprivate init(_ found: UnsafeMutablePointer<ares_addrinfo>?) {
        var next = found?.pointee.nodes
        while let node = next?.pointee {
            let name = UnsafeRawBufferPointer(start: node.ai_addr, count: Int(node.ai_addrlen))
            if let endpoint = IPEndpoint(name), !addresses.contains(endpoint.address) {
                addresses.append(endpoint.address)
                shorten(node.ai_ttl)
            }
            next = node.ai_next
        }
        var alias = found?.pointee.cnames
        while let record = alias?.pointee {
            shorten(record.ttl)
            alias = record.next
        }
    }

    private mutating func shorten(_ seconds: CInt) {
        // A number that is negative as 32 bits stands for 0 (RFC 2181 section 8).
        let time = Duration.seconds(Int64(max(seconds, 0)))
        timeToLive = min(timeToLive ?? time, time)
    }
}
