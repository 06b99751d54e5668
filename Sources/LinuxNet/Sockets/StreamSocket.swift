import CLinux
import Glibc
import PathCore
import Synchronization

/// A stream socket of TCP or MPTCP, non-blocking, with one owner.
package struct StreamSocket: ~Copyable, Sendable {
    package let descriptor: Descriptor

    /// Makes a socket that has TCP_NODELAY on: callers of this library write messages, and those that write
    /// streams fill their packets anyway.
    ///
    /// - Throws: ENOPROTOOPT or EPROTONOSUPPORT where MPTCP is switched off or not built in.
    package init(_ family: IPAddress.Family, _ transport: TransportProtocol) throws(SystemError) {
        try self.init(settingOptionsOf: Self.makeDescriptor(family, transport))
    }

    /// socket(2) and nothing else.
    static func makeDescriptor(
        _ family: IPAddress.Family, _ transport: TransportProtocol
    ) throws(SystemError) -> Descriptor {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        return Descriptor(
            owning: try systemCall("make a socket") {
                socket(
                    family == .ipv4 ? AF_INET : AF_INET6, type,
                    transport == .mptcp ? CInt(MP_IPPROTO_MPTCP) : 0)
            })
    }

    /// Takes a socket that is not connected back to the state in which it was made; an MPTCP socket's path manager is
    /// chosen anew (mptcp_disconnect, net/mptcp/protocol.c). Its options stay.
    static func disconnect(_ number: CInt) throws(SystemError) {
        try systemCall("disconnect a socket") { mp_disconnect(number) }
    }

    init(settingOptionsOf descriptor: consuming Descriptor) throws(SystemError) {
        try SocketOption.set(descriptor.number, CInt(IPPROTO_TCP), TCP_NODELAY, 1, "TCP_NODELAY")
        self.descriptor = descriptor
    }

    /// Whether the kernel would make MPTCP sockets in this network namespace.
    ///
    /// A yes is remembered for a second: to make such a socket and close it costs as much as half a connection.
    /// In that second the kernel may still refuse one (`SystemError.meansNoMPTCP`).
    package static var kernelSpeaksMPTCP: Bool {
        let now = MonotonicTime.now.nanoseconds
        let known = mptcpMade.load(ordering: .relaxed)
        if known != 0, now - known < 1_000_000_000 { return true }
        do throws(SystemError) {
            _ = try makeDescriptor(.ipv4, .mptcp)
            mptcpMade.store(now, ordering: .relaxed)
            return true
        } catch {
            return false
        }
    }

    /// When the kernel last made an MPTCP socket for `kernelSpeaksMPTCP`, in nanoseconds; 0 for never.
    private static let mptcpMade = Atomic<Int64>(0)

    /// Binds the socket to an interface, for good: neither retransmissions nor a lost route move it to another.
    /// The kernel allows this to every process, once for each socket.
    package func bind(toInterface index: InterfaceIndex) throws(SystemError) {
        try SocketOption.bind(descriptor.number, toInterface: index)
    }

    /// Starts the handshake with an IPv4 host from an IPv6 socket: to be joined by subflows of either family, a
    /// connection has to have been made like that (mptcp_pm_addr_families_match, net/mptcp/pm.c).
    /// - Returns: whether it is complete already.
    package func connect(toMapped endpoint: IPEndpoint) throws(SystemError) -> Bool {
        try SocketOption.set(descriptor.number, CInt(IPPROTO_IPV6), IPV6_V6ONLY, 0, "IPV6_V6ONLY")
        return try connect(to: endpoint.mapped)
    }

    /// Has a handshake stay half open, for a socket that is closed as soon as the peer has answered: the answer to the
    /// peer's SYN-ACK waits for data (TCP_DEFER_ACCEPT at the connecting end; tcp_rcv_synsent_state_process in
    /// net/ipv4/tcp_input.c, for up to 200 ms), and the end is a reset (SO_LINGER of 0 s). So the program that listens
    /// there never gets a connection to accept.
    package func staysHalfOpen() throws(SystemError) {
        try SocketOption.set(
            descriptor.number, CInt(IPPROTO_TCP), TCP_DEFER_ACCEPT, 1, "TCP_DEFER_ACCEPT")
        // Repeated once, or twice since Linux 6.5, and ended after three seconds: many may be under way over a dead path.
        try SocketOption.set(descriptor.number, CInt(IPPROTO_TCP), TCP_SYNCNT, 1, "TCP_SYNCNT")
        var linger = linger(l_onoff: 1, l_linger: 0)
        try systemCall("set SO_LINGER") {
            setsockopt(
                descriptor.number, SOL_SOCKET, SO_LINGER, &linger,
                socklen_t(MemoryLayout.size(ofValue: linger)))
        }
    }

    /// Starts the handshake.
    /// - Returns: whether it is complete already.
    package func connect(to endpoint: IPEndpoint) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try systemCall("connect") {
                endpoint.withSocketAddress { Glibc.connect(descriptor.number, $0, $1) }
            }
            return true
        } catch {
            if error.errno == EINPROGRESS { return false }
            throw error
        }
    }

    /// The error with which the handshake ended, if it did (SO_ERROR, which reading clears).
    package func consumeError() -> SystemError? {
        let number = SocketOption.get(descriptor.number, SOL_SOCKET, SO_ERROR) ?? 0
        return number == 0 ? nil : SystemError("connect", errno: number)
    }

    /// Listens on an endpoint; `::` takes IPv4 too.
    package func listen(on endpoint: IPEndpoint, backlog: CInt = 128) throws(SystemError) {
        try SocketOption.set(descriptor.number, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR")
        if endpoint.address.family == .ipv6 {
            try SocketOption.set(
                descriptor.number, CInt(IPPROTO_IPV6), IPV6_V6ONLY, endpoint.address.isUnspecified ? 0 : 1,
                "IPV6_V6ONLY")
        }
        try systemCall("bind") { endpoint.withSocketAddress { Glibc.bind(descriptor.number, $0, $1) } }
        try systemCall("listen") { Glibc.listen(descriptor.number, backlog) }
    }

    /// Ends both directions: those that wait on the descriptor wake up, and its number stays in use.
    package func shutDown() { _ = shutdown(descriptor.number, CInt(SHUT_RDWR)) }

    /// Gives the descriptor away.
    package consuming func release() -> CInt { descriptor.release() }

    package var localEndpoint: IPEndpoint? { SocketOption.localEndpoint(of: descriptor.number) }
}

/// Options of a socket by its number, which may be another owner's.
package enum SocketOption {
    /// Has a socket send and receive over one interface only.
    package static func bind(_ descriptor: CInt, toInterface index: InterfaceIndex) throws(SystemError) {
        try set(
            descriptor, SOL_SOCKET, CInt(MP_SO_BINDTOIFINDEX), CInt(bitPattern: index), "SO_BINDTOIFINDEX")
    }

    package static func set(
        _ descriptor: CInt, _ level: CInt, _ name: CInt, _ value: CInt, _ what: StaticString
    ) throws(SystemError) {
        var value = value
        try systemCall("set \(what)") {
            setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    package static func get(_ descriptor: CInt, _ level: CInt, _ name: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
    }

    /// Whether a socket was opened for MPTCP, whatever became of it.
    package static func isOpenedForMPTCP(_ descriptor: CInt) -> Bool {
        get(descriptor, SOL_SOCKET, SO_PROTOCOL) == CInt(MP_IPPROTO_MPTCP)
    }

    package static func localEndpoint(of descriptor: CInt) -> IPEndpoint? {
        IPEndpoint.read { getsockname(descriptor, $0, $1) }?.unmapped
    }

    package static func remoteEndpoint(of descriptor: CInt) -> IPEndpoint? {
        IPEndpoint.read { getpeername(descriptor, $0, $1) }?.unmapped
    }
}
