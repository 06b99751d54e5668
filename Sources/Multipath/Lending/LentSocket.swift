import CLinux
import Glibc
import LinuxNet

/// A look at another program's socket, by a duplicate that is closed a moment later. What only its owner may read stays unread:
/// its error (SO_ERROR) among it.
package enum LentSocket {
    /// What a look at a socket that was told to connect shows.
    package enum Look: Sendable {
        case connecting
        /// The kernel gave up, or the program did.
        case failed
        case connected(Facts)
    }

    /// A connection as it has come about.
    package struct Facts: Sendable {
        package var transport: Transport
        /// By which the kernel's path manager names it; nil for plain TCP.
        package var token: ConnectionToken?
        package var local: IPEndpoint?
        package var remote: IPEndpoint
        package var sample: TransportSample?
    }

    package static func look(_ descriptor: CInt) -> Look {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&state, 1, 0) >= 0 else { return .failed }
        guard let remote = SocketOption.remoteEndpoint(of: descriptor) else {
            return state.revents & Int16(POLLHUP | POLLERR) == 0 ? .connecting : .failed
        }
        let sample = TransportSample.read(descriptor)
        var token: ConnectionToken?
        if case .mptcp(let value)? = sample?.kind { token = ConnectionToken(value) }
        return .connected(
            Facts(
                transport: Transport(of: descriptor, sample, fallbackReason: nil), token: token,
                local: SocketOption.localEndpoint(of: descriptor), remote: remote, sample: sample))
    }

    /// The token of an MPTCP connection, which it has from the moment on in which its handshake begins.
    package static func token(of descriptor: CInt) -> ConnectionToken? {
        TransportSample.connection(descriptor)?.token
    }
}

extension SocketSupply {
    /// Has `mpathd` take orders for a connection whose socket it has prepared.
    package func attach(_ token: ConnectionToken, by descriptor: CInt) {
        runtime.steering.attach(token, by: descriptor)
    }
}
