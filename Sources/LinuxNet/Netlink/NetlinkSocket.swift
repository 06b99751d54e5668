import CLinux
import CMnl
import Glibc

/// A netlink socket of libmnl's, with one owner.
struct NetlinkSocket: ~Copyable {
    private let socket: OpaquePointer

    init(_ bus: NetlinkBus, nonBlocking: Bool = false) throws(SystemError) {
        let flags = CInt(SOCK_CLOEXEC.rawValue) | (nonBlocking ? CInt(SOCK_NONBLOCK.rawValue) : 0)
        var opened: OpaquePointer?
        try systemCall("open a netlink socket") {
            opened = mnl_socket_open2(bus.rawValue, flags)
            return opened == nil ? -1 : 0
        }
        guard let socket = opened else { throw SystemError("open a netlink socket", errno: ENOMEM) }
        do throws(SystemError) {
            try systemCall("bind a netlink socket") { mnl_socket_bind(socket, 0, automaticPort) }
        } catch {
            mnl_socket_close(socket)
            throw error
        }
        self.socket = socket
    }

    deinit { _ = mnl_socket_close(socket) }

    var descriptor: CInt { mnl_socket_get_fd(socket) }

    /// Sets one of SOL_NETLINK's options.
    func set(_ option: CInt, to value: UInt32, _ name: StaticString) throws(SystemError) {
        var value = value
        try systemCall("set \(name)") {
            mnl_socket_setsockopt(socket, option, &value, socklen_t(MemoryLayout<UInt32>.size))
        }
    }

    /// Has `receive` give up after a while.
    func setReceiveTimeout(seconds: Int) throws(SystemError) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        try systemCall("set a netlink socket's receive timeout") {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Asks for room for so many bytes of notifications. The kernel doubles it for its own bookkeeping, and
    /// gives an unprivileged process no more than net.core.rmem_max.
    func setReceiveBuffer(bytes: Int) throws(SystemError) {
        var bytes = CInt(clamping: bytes)
        try systemCall("set a netlink socket's receive buffer") {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    /// Receives the notifications of a group from now on.
    func join(_ group: UInt32) throws(SystemError) {
        try set(NETLINK_ADD_MEMBERSHIP, to: group, "netlink group membership")
    }

    /// Has the kernel drop datagrams before they are queued (SO_ATTACH_FILTER).
    func attachFilter(_ program: [sock_filter]) throws(SystemError) {
        var program = program
        let count = UInt16(program.count)
        try systemCall("attach a filter to a netlink socket") {
            program.withUnsafeMutableBufferPointer { instructions in
                var description = sock_fprog(len: count, filter: instructions.baseAddress)
                return setsockopt(
                    descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &description,
                    socklen_t(MemoryLayout<sock_fprog>.size))
            }
        }
    }

    /// Sends one or more requests.
    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        try systemCall("send a netlink request") { mnl_socket_sendto(socket, bytes.baseAddress, bytes.count) }
    }

    /// Receives one datagram of the kernel's. Datagrams of other processes are dropped.
    ///
    /// - Returns: the datagram's bytes inside `buffer`; nil where nothing is waiting on a non-blocking socket,
    ///   or where nothing came before the timeout.
    /// - Throws: ENOBUFS where notifications were lost, ENOSPC where `buffer` was too small for one.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> UnsafeRawBufferPointer? {
        while true {
            var sender = sockaddr_nl()
            var senderLength = socklen_t(MemoryLayout<sockaddr_nl>.size)
            let count: Int
            do throws(SystemError) {
                count = try systemCall("receive from netlink") {
                    withUnsafeMutablePointer(to: &sender) { sender in
                        sender.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            recvfrom(
                                descriptor, buffer.baseAddress, buffer.count, CInt(MSG_TRUNC), $0,
                                &senderLength)
                        }
                    }
                }
            } catch {
                if error.errno == EAGAIN { return nil }
                throw error
            }
            guard sender.nl_pid == 0 else { continue }
            guard count <= buffer.count else { throw SystemError("receive from netlink", errno: ENOSPC) }
            return UnsafeRawBufferPointer(rebasing: buffer[..<count])
        }
    }
}

/// MNL_SOCKET_AUTOPID: the kernel picks the port.
private let automaticPort: pid_t = 0
