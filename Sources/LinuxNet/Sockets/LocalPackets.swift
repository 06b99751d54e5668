// Sockets of sequenced packets (AF_UNIX, SOCK_SEQPACKET) between processes of one machine: each packet comes whole or not
// at all, with the descriptors that were passed with it (SCM_RIGHTS, unix(7)). Their names are files.

import CLinux
import Glibc
import PathCore

/// What is known of the process that connected.
package struct LocalPeer: Sendable {
    /// Its user, as the kernel noted it when the process connected (SO_PEERCRED).
    package let user: UInt32
    /// Its number then. Another process may have it by now.
    package let process: Int32
}

/// A packet as it came.
package struct LocalPacket: ~Copyable {
    package let bytes: [UInt8]
    /// The descriptors that came with it, which nothing is known of. To close one may take as long as its sender likes.
    package var descriptors: PassedDescriptors
    /// Whether the packet was longer than the buffer, or had descriptors for which this process has no room.
    package let isCut: Bool

    /// Leaves the bytes.
    package consuming func takeDescriptors() -> PassedDescriptors { descriptors }
}

/// Descriptors of another process's choice.
package struct PassedDescriptors: ~Copyable {
    private var numbers: [CInt]

    init(_ numbers: [CInt]) { self.numbers = numbers }

    package var count: Int { numbers.count }

    /// The last one, whose owner the caller is from now on.
    package mutating func takeLast() -> Descriptor? { numbers.popLast().map { Descriptor(owning: $0) } }

    deinit { for number in numbers { _ = close(number) } }
}

/// Makes and uses sockets of sequenced packets.
package enum LocalPackets {
    private static let kind = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue)

    /// Listens under the name of a file. A socket that an earlier process left there is removed first.
    ///
    /// - Parameter mode: the file's, for who may connect: 0o666 for everyone.
    /// - Throws: EADDRINUSE where a process listens there, ENAMETOOLONG beyond 107 bytes, EEXIST where another kind of
    ///   file has the name.
    package static func listen(
        at path: String, mode: UInt32, backlog: CInt = 128
    ) throws(SystemError) -> Descriptor {
        let socket = Descriptor(
            owning: try systemCall("make a local socket") { Glibc.socket(AF_UNIX, kind, 0) })
        try removeStale(path)
        // The mode counts from the beginning: no other thread makes files meanwhile, or they have too few rights.
        let mask = umask(0o777 & ~mode)
        defer { umask(mask) }
        try withAddress(path) { address, length throws(SystemError) in
            try systemCall("listen at \(path)") { bind(socket.number, address, length) }
        }
        try systemCall("listen at \(path)") { Glibc.listen(socket.number, backlog) }
        return socket
    }

    private static func removeStale(_ path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(
                "listen at \(path)", errno: EEXIST, detail: "a file that is no socket has the name")
        }
        do throws(SystemError) {
            _ = try connect(to: path)
        } catch {
            if error.isRefusal {
                try systemCall("remove the old socket \(path)") { unlink(path) }
            }
            return
        }
        throw SystemError("listen at \(path)", errno: EADDRINUSE, detail: "a process listens there")
    }

    /// Connects, without waiting.
    ///
    /// - Throws: ENOENT where there is no such file, ECONNREFUSED where no process listens, EAGAIN where too many wait to be
    ///   accepted, EACCES where this user may not.
    package static func connect(to path: String) throws(SystemError) -> Descriptor {
        let socket = Descriptor(
            owning: try systemCall("make a local socket") {
                Glibc.socket(AF_UNIX, kind | CInt(SOCK_NONBLOCK.rawValue), 0)
            })
        try withAddress(path) { address, length throws(SystemError) in
            try systemCall("connect to \(path)") { Glibc.connect(socket.number, address, length) }
        }
        return socket
    }

    /// Waits for a process that connects, and accepts it.
    ///
    /// - Throws: EMFILE without a descriptor, EINVAL where the listener was shut down.
    package static func accept(on listener: borrowing Descriptor) throws(SystemError) -> Descriptor {
        let number = listener.number
        return Descriptor(
            owning: try systemCall("accept a local connection") {
                mp_accept_waiting(number)
            })
    }

    /// Whether a descriptor that another program made is such a socket, and listens.
    package static func isListener(_ number: CInt) -> Bool {
        SocketOption.get(number, SOL_SOCKET, SO_DOMAIN) == AF_UNIX
            && SocketOption.get(number, SOL_SOCKET, SO_TYPE) == CInt(SOCK_SEQPACKET.rawValue)
            && SocketOption.get(number, SOL_SOCKET, SO_ACCEPTCONN) == 1
    }

    /// Sends one packet at once or not at all.
    ///
    /// - Parameter passed: a descriptor of this process for the other to have, too.
    /// - Throws: EAGAIN where the other does not read, EPIPE or ECONNRESET where it has gone.
    package static func send(
        _ bytes: [UInt8], passing passed: CInt? = nil, over socket: borrowing Descriptor
    ) throws(SystemError) {
        let number = socket.number
        try systemCall("send a local packet") {
            bytes.withUnsafeBytes { mp_send_packet(number, $0.baseAddress, $0.count, passed ?? -1) }
        }
    }

    /// Receives one packet. One that the other sent before it left is there also where the other left something unread: the
    /// kernel tells that first, and once.
    ///
    /// - Parameters:
    ///   - limit: the longest one; of a longer one the rest is lost, and `isCut` says so.
    ///   - waits: whether to wait for one.
    /// - Returns: nil at the end, where the other has closed its socket. A packet without bytes looks the same.
    /// - Throws: EAGAIN where there is none.
    package static func receive(
        from socket: borrowing Descriptor, limit: Int, waits: Bool
    ) throws(SystemError) -> LocalPacket? {
        do throws(SystemError) {
            return try receiveOnce(from: socket, limit, waits)
        } catch {
            guard error.isReset else { throw error }
            return try receiveOnce(from: socket, limit, waits)
        }
    }

    private static func receiveOnce(
        from socket: borrowing Descriptor, _ limit: Int, _ waits: Bool
    ) throws(SystemError) -> LocalPacket? {
        var bytes = [UInt8](repeating: 0, count: limit)
        var passed = [CInt](repeating: -1, count: Int(MP_MOST_PASSED))
        var (count, flags): (CInt, CInt) = (0, 0)
        let number = socket.number
        let length = try systemCall("receive a local packet") {
            bytes.withUnsafeMutableBytes { bytes in
                passed.withUnsafeMutableBufferPointer { passed in
                    mp_receive_packet(
                        number, bytes.baseAddress, bytes.count, passed.baseAddress, &count, &flags,
                        waits ? 0 : CInt(MSG_DONTWAIT))
                }
            }
        }
        // Owned from here on, however this ends.
        let descriptors = PassedDescriptors(Array(passed.prefix(Int(count))))
        guard length > 0 else { return nil }
        bytes.removeLast(bytes.count - length)
        return LocalPacket(
            bytes: bytes, descriptors: descriptors,
            // Of descriptors, one too many is known to be too many, however many more there were.
            isCut: flags & CInt(MSG_TRUNC) != 0)
    }

    /// Whether others may pass descriptors over a socket, and over those that are accepted of a listener. A descriptor that
    /// waits in a socket is closed with it, which may take as long as the sender likes.
    ///
    /// - Returns: false where the kernel is too old to say (before Linux 6.16): then they may.
    @discardableResult
    package static func allowDescriptors(_ isAllowed: Bool, on socket: borrowing Descriptor) -> Bool {
        do throws(SystemError) {
            try SocketOption.set(
                socket.number, SOL_SOCKET, CInt(MP_SO_PASSRIGHTS), isAllowed ? 1 : 0, "SO_PASSRIGHTS")
            return true
        } catch {
            return false
        }
    }

    /// How much memory may wait for the other end to read it: of the kernel's, which takes 768 bytes for a packet of 100.
    /// Beyond the system's limit where this process may (SO_SNDBUFFORCE), up to that otherwise.
    package static func setSendBuffer(of socket: borrowing Descriptor, toBytes count: Int) {
        // The kernel doubles what it is told (socket(7)).
        let count = CInt(clamping: count / 2)
        do throws(SystemError) {
            try SocketOption.set(socket.number, SOL_SOCKET, SO_SNDBUFFORCE, count, "SO_SNDBUFFORCE")
        } catch {
            try? SocketOption.set(socket.number, SOL_SOCKET, SO_SNDBUF, count, "SO_SNDBUF")
        }
    }

    /// How much memory the packets take that the other end has not read. It is this process's, also where the socket is shut
    /// down or closed here: until the other end reads them, or has closed its socket.
    package static func unreadBytes(of socket: borrowing Descriptor) -> Int {
        Int(mp_unread_bytes(socket.number))
    }

    /// Receives all packets of a connection that is shut down, and closes what was passed with them, which may take as long as
    /// their sender likes. What a packet passes stays open while it waits: the other end of this very socket, too.
    package static func discardAll(from socket: borrowing Descriptor) {
        // With it each packet brings its sender's credentials, for which there is no room (MSG_CTRUNC). So a packet without bytes is
        // not taken for the end of the queue.
        try? SocketOption.set(socket.number, SOL_SOCKET, SO_PASSCRED, 1, "SO_PASSCRED")
        while true {
            var message = msghdr()
            let isReceived = recvmsg(socket.number, &message, CInt(MSG_DONTWAIT)) >= 0
            if isReceived, message.msg_flags & CInt(MSG_CTRUNC) == 0 { return }
            // ECONNRESET is told once, before the packets.
            if !isReceived, errno != ECONNRESET, errno != EINTR { return }
        }
    }

    /// Which process connected.
    package static func peer(of socket: borrowing Descriptor) throws(SystemError) -> LocalPeer {
        var (user, process): (UInt32, CInt) = (0, 0)
        let number = socket.number
        try systemCall("ask for a local peer") { mp_peer_credentials(number, &user, &process) }
        return LocalPeer(user: user, process: process)
    }

    /// A descriptor of the process that connected, which becomes readable when that ends: unlike a number it never means
    /// another process (Linux 6.5). Nil on an older kernel, and where the process is gone.
    package static func peerProcess(of socket: borrowing Descriptor) -> Descriptor? {
        SocketOption.get(socket.number, SOL_SOCKET, CInt(MP_SO_PEERPIDFD)).map { Descriptor(owning: $0) }
    }

    /// Ends a connection both ways: a thread that waits for a packet finds the end.
    package static func shutDown(_ socket: borrowing Descriptor) {
        _ = shutdown(socket.number, CInt(SHUT_RDWR))
    }

    /// What a wait ended with.
    package enum Wake: Sendable {
        /// A packet waits to be received.
        case packet
        /// The other has closed its socket, or its process has ended.
        case end
    }

    /// Waits until a packet is there, or until the connection or the process at its other end is over. Packets that the
    /// other left behind are not received any more.
    package static func wait(for socket: borrowing Descriptor, process: CInt?) -> Wake {
        var states = [pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)]
        if let process { states.append(pollfd(fd: process, events: Int16(POLLIN), revents: 0)) }
        while true {
            let count = poll(&states, nfds_t(states.count), -1)
            if count < 0, errno == EINTR { continue }
            guard count > 0, states[0].revents & Int16(POLLHUP | POLLERR | POLLNVAL) == 0,
                states.dropFirst().allSatisfy({ $0.revents == 0 })
            else { return .end }
            return .packet
        }
    }

    /// Waits until a packet, or the end, is there.
    /// - Returns: false where the deadline came first.
    package static func wait(for socket: borrowing Descriptor, until deadline: MonotonicTime) -> Bool {
        var state = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        while true {
            let rest = MonotonicTime.now.duration(to: deadline).wholeNanoseconds / 1_000_000
            let count = poll(&state, 1, CInt(clamping: max(0, rest)))
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }

    /// Removes a listener's file.
    package static func remove(_ path: String) { _ = unlink(path) }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isTooLong = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard bytes.count < place.count else { return true }
            place.copyBytes(from: bytes)
            return false
        }
        if isTooLong { throw SystemError("use the socket \(path)", errno: ENAMETOOLONG) }
        try withUnsafePointer(to: &address) { pointer throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(SystemError) in
                try body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
