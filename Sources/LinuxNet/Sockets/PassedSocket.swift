import CLinux
import Glibc
import PathCore

extension PassedSocketFacts {
    /// Looks. It may be any file: a pipe, a file of a user's own file system, a socket that its owner holds locked. So this
    /// may take as long as the sender likes, and no error of the kernel's is one of ours (EBADF is what O_PATH gives).
    package static func read(_ descriptor: borrowing Descriptor) -> PassedSocketFacts {
        let number = descriptor.number
        let domain = SocketOption.get(number, SOL_SOCKET, SO_DOMAIN)
        var facts = PassedSocketFacts()
        facts.isInternet = domain == AF_INET || domain == AF_INET6
        facts.isMPTCP =
            SocketOption.get(number, SOL_SOCKET, SO_TYPE) == CInt(SOCK_STREAM.rawValue)
            && SocketOption.isOpenedForMPTCP(number)
        guard facts.isInternet, facts.isMPTCP else { return facts }
        facts.namespace = SocketOption.cookie(number, CInt(MP_SO_NETNS_COOKIE))
        facts.cookie = SocketOption.cookie(number, SO_COOKIE)
        facts.mark = SocketOption.get(number, SOL_SOCKET, SO_MARK).map { UInt32(bitPattern: $0) } ?? 0
        facts.isInUse =
            SocketOption.get(number, SOL_SOCKET, SO_ACCEPTCONN) != 0
            || IPEndpoint.read { getpeername(number, $0, $1) } != nil || isConnecting(number)
        return facts
    }

    /// One that is neither connected nor connecting says that it has hung up; one that connects has no peer's name yet.
    private static func isConnecting(_ number: CInt) -> Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        return poll(&state, 1, 0) != 1 || state.revents & Int16(POLLHUP) == 0
    }
}

extension SocketOption {
    /// One of a socket's numbers of 64 bits.
    static func cookie(_ descriptor: CInt, _ name: CInt) -> UInt64? {
        var value: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    /// The network namespace of this thread, by a socket made for the question.
    package static func namespaceCookie() throws(SystemError) -> UInt64 {
        // Open for as long as it is asked.
        let socket = try LocalSocket.make()
        defer { extendLifetime(socket) }
        guard let cookie = cookie(socket.number, CInt(MP_SO_NETNS_COOKIE)) else {
            throw SystemError("ask which network namespace this is", errno: ENOPROTOOPT)
        }
        return cookie
    }
}
