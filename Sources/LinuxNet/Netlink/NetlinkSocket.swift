import CLinux
import CMnl
import Glibc
import PathCore

/// A netlink socket of libmnl's, with one owner.
struct NetlinkSocket: ~Copyable {
    private let socket: OpaquePointer

    /// - Parameter bus: NETLINK_ROUTE or another family.
    init(bus: CInt = NETLINK_ROUTE, nonBlocking: Bool = false) throws(SystemError) {
        let flags = CInt(SOCK_CLOEXEC.rawValue) | (nonBlocking ? CInt(SOCK_NONBLOCK.rawValue) : 0)
        guard let socket = mnl_socket_open2(bus, flags) else {
            throw SystemError("open a netlink socket", errno: errno)
        }
        guard mnl_socket_bind(socket, 0, automaticPort) == 0 else {
            let number = errno
            mnl_socket_close(socket)
            throw SystemError("bind a netlink socket", errno: number)
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
        let status = program.withUnsafeMutableBufferPointer { instructions in
            var description = sock_fprog(len: count, filter: instructions.baseAddress)
            return setsockopt(
                descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &description,
                socklen_t(MemoryLayout<sock_fprog>.size))
        }
        guard status == 0 else { throw SystemError("attach a filter to a netlink socket", errno: errno) }
    }

    func send(_ request: borrowing NetlinkRequest) throws(SystemError) { try send(request.bytes) }

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

/// A request under construction: a header, a fixed part, attributes. libmnl keeps the lengths.
struct NetlinkRequest: ~Copyable {
    private let buffer: UnsafeMutableRawBufferPointer
    private let header: UnsafeMutablePointer<nlmsghdr>

    init(type: UInt16, flags: UInt16, sequence: UInt32) {
        buffer = .allocate(byteCount: 512, alignment: 16)
        header = mnl_nlmsg_put_header(buffer.baseAddress)
        header.pointee.nlmsg_type = type
        header.pointee.nlmsg_flags = flags | MessageFlags.request
        header.pointee.nlmsg_seq = sequence
    }

    deinit { buffer.deallocate() }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer[..<Int(header.pointee.nlmsg_len)])
    }

    /// The fixed part, all zero but for what `fill` sets.
    func putFixedPart<Part: BitwiseCopyable>(_ type: Part.Type, _ fill: (inout Part) -> Void) {
        guard let space = mnl_nlmsg_put_extra_header(header, MemoryLayout<Part>.size) else { return }
        fill(&space.assumingMemoryBound(to: Part.self).pointee)
    }

    func put(_ attribute: UInt16, _ value: UInt32) {
        mnl_attr_put_u32(header, attribute, value)
    }

    func put(_ attribute: UInt16, _ bytes: [UInt8]) {
        mnl_attr_put(header, attribute, bytes.count, bytes)
    }

    func put(_ attribute: UInt16, _ address: IPAddress) {
        address.withNetworkBytes { mnl_attr_put(header, attribute, $0.count, $0.baseAddress) }
    }

    /// An attribute that holds what `body` puts.
    func nest(_ attribute: UInt16, _ body: () -> Void) {
        guard let start = mnl_attr_nest_start(header, attribute) else { return }
        body()
        mnl_attr_nest_end(header, start)
    }
}

/// What an NLMSG_ERROR says: 0 is an acknowledgement.
enum NetlinkAnswer {
    /// - Returns: the error number, positive, and the kernel's own text if it gave one.
    static func error(in message: NetlinkMessage) -> (errno: CInt, detail: String?)? {
        guard let code = message.payload.number(Int32.self) else { return nil }
        var detail: String?
        if message.flags & MessageFlags.acknowledgementTLVs != 0 {
            // struct nlmsgerr: the code, then the request, of which only the header is left when capped.
            let request = message.payload.number(UInt32.self, at: 4).map(Int.init) ?? 0
            let skipped = message.flags & MessageFlags.capped != 0 ? NetlinkMessage.headerLength : request
            if skipped <= message.payload.count { detail = text(behind: 4 + skipped, in: message) }
        }
        return (code == .min ? EPROTO : -code, detail)
    }

    /// What an NLMSG_DONE says of a dump that failed; nil where it went well.
    static func failure(inEndOf message: NetlinkMessage) -> (errno: CInt, detail: String?)? {
        guard let code = message.payload.number(Int32.self), code < 0 else { return nil }
        let hasText = message.flags & MessageFlags.acknowledgementTLVs != 0
        return (code == .min ? EPROTO : -code, hasText ? text(behind: 4, in: message) : nil)
    }

    private static func text(behind offset: Int, in message: NetlinkMessage) -> String? {
        var text: String?
        NetlinkAttributes(message.payload, after: offset).visit { type, value in
            if type == 1 { text = value.text }  // NLMSGERR_ATTR_MSG
        }
        return text
    }
}
