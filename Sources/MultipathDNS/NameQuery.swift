import CAres
import Glibc
import LinuxNet
import Multipath

/// One question to c-ares, from its socket to its answer. It blocks.
struct NameQuery: Sendable {
    var host: String
    var family: IPAddress.Family
    var servers: [IPEndpoint]
    var interface: InterfaceIndex
    var timeout: Duration

    typealias Answer = Result<[IPAddress], ResolutionError>

    /// c-ares keeps a count of its users; it stays loaded.
    private static let library: CInt = ares_library_init(CInt(ARES_LIB_INIT_ALL))

    /// What the callbacks are given.
    private final class Progress {
        let interface: InterfaceIndex
        var answer: Answer?
        var bindError: CInt = 0
        init(interface: InterfaceIndex) { self.interface = interface }
    }

    func run() -> Answer {
        guard Self.library == ARES_SUCCESS else { return failure(Self.library) }
        var options = ares_options()
        options.timeout = CInt(clamping: Int64(timeout.inMilliseconds))
        options.tries = 2
        var channel: ares_channel?
        // "b": ask servers, and not /etc/hosts, which is no path's.
        let status = "b".withCString { lookups in
            options.lookups = UnsafeMutablePointer(mutating: lookups)
            return ares_init_options(
                &channel, &options,
                CInt(ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS))
        }
        guard status == ARES_SUCCESS, let channel else { return failure(status) }
        defer { ares_destroy(channel) }
        let list = servers.map(\.description).joined(separator: ",")
        let setStatus = ares_set_servers_ports_csv(channel, list)
        guard setStatus == ARES_SUCCESS else { return failure(setStatus) }

        let progress = Progress(interface: interface)
        return withExtendedLifetime(progress) {
            let context = Unmanaged.passUnretained(progress).toOpaque()
            ares_set_socket_configure_callback(channel, bindToInterface, context)
            ask(channel, context)
            wait(channel, progress)
            if progress.bindError != 0 {
                return .failure(
                    ResolutionError("no socket on this path: \(SystemError.words(progress.bindError))"))
            }
            return progress.answer ?? .failure(ResolutionError("no answer"))
        }
    }

    private func ask(_ channel: ares_channel, _ context: UnsafeMutableRawPointer) {
        var hints = ares_addrinfo_hints()
        // Each path sorts for itself.
        hints.ai_flags = CInt(ARES_AI_NOSORT)
        hints.ai_family = family == .ipv4 ? AF_INET : AF_INET6
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        ares_getaddrinfo(
            channel, host, nil, &hints,
            { context, status, _, found in
                guard let context else { return }
                let progress = Unmanaged<Progress>.fromOpaque(context).takeUnretainedValue()
                defer { if let found { ares_freeaddrinfo(found) } }
                switch status {
                case ARES_SUCCESS: progress.answer = .success(addresses(in: found))
                // The name exists, and has no address of this family.
                case ARES_ENODATA: progress.answer = .success([])
                default: progress.answer = failure(status)
                }
            }, context)
    }

    /// Polls until the answer is there. c-ares bounds it by its own timeouts; the count is for a library that
    /// would not.
    private func wait(_ channel: ares_channel, _ progress: Progress) {
        for _ in 0..<10_000 where progress.answer == nil {
            var sockets = [ares_socket_t](repeating: -1, count: Int(ARES_GETSOCK_MAXNUM))
            let mask = UInt32(bitPattern: ares_getsock(channel, &sockets, ARES_GETSOCK_MAXNUM))
            var polled: [pollfd] = []
            for (place, socket) in sockets.enumerated() {
                let (reads, writes) = (mask & (1 << place) != 0, mask & (1 << (place + 16)) != 0)
                guard reads || writes else { continue }
                let events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
                polled.append(pollfd(fd: socket, events: events, revents: 0))
            }
            if polled.isEmpty { return }
            var limit = timeval(tv_sec: 1, tv_usec: 0)
            var next = timeval()
            let pointer = ares_timeout(channel, &limit, &next)
            let wait =
                pointer.map { Int($0.pointee.tv_sec) * 1000 + Int($0.pointee.tv_usec) / 1000 + 1 } ?? 1000
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: wait))
            if count <= 0 { ares_process_fd(channel, -1, -1) }
            for entry in polled where entry.revents != 0 {
                let isReadable = entry.revents & Int16(POLLIN | POLLERR | POLLHUP) != 0
                let isWritable = entry.revents & Int16(POLLOUT) != 0
                ares_process_fd(channel, isReadable ? entry.fd : -1, isWritable ? entry.fd : -1)
            }
        }
    }

    private typealias Bind = @convention(c) (ares_socket_t, CInt, UnsafeMutableRawPointer?) -> CInt

    /// c-ares' own binding ignores errors, and would then ask over whatever path the kernel likes.
    private let bindToInterface: Bind = { socket, _, context in
        guard let context else { return -1 }
        let progress = Unmanaged<Progress>.fromOpaque(context).takeUnretainedValue()
        do throws(SystemError) {
            try SocketOption.bind(socket, toInterface: progress.interface)
            return 0
        } catch {
            progress.bindError = error.errno
            return -1
        }
    }
}

private func failure(_ status: CInt) -> NameQuery.Answer {
    .failure(ResolutionError(String(cString: ares_strerror(status))))
}

private func addresses(in found: UnsafeMutablePointer<ares_addrinfo>?) -> [IPAddress] {
    var addresses: [IPAddress] = []
    var next = found?.pointee.nodes
    while let node = next?.pointee {
        let name = UnsafeRawBufferPointer(start: node.ai_addr, count: Int(node.ai_addrlen))
        if let endpoint = IPEndpoint(name), !addresses.contains(endpoint.address) {
            addresses.append(endpoint.address)
        }
        next = node.ai_next
    }
    return addresses
}
