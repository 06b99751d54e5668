import LinuxNet

// Connections of programs that know nothing of paths, over sockets that this process has made for them. The program's close has
// to send its FIN, so no descriptor is kept: samples come from sock_diag, orders go to the kernel or to mpathd by the
// connection's token.

/// Gets a descriptor of a socket that another program holds, as pidfd_getfd(2) does, and calls a closure with it: at once or
/// later, on the event thread; not at all where there is none to be had. It is closed behind the closure.
package typealias DescriptorLoan = @Sendable (_ body: @escaping (CInt) -> Void) -> Void

extension ConnectionFollower {
    /// Follows a connection that another program holds, as soon as `begin(nil)` is said, and stops by itself when that program
    /// has closed it. `didSend`, `didReceive` and `expectsData` are not said of it: it is looked at every 10 ms while its
    /// data moves, and then ever less often, up to once a second.
    ///
    /// - Parameters:
    ///   - descriptor: the connected socket's, for the moment of this call.
    ///   - level: what its socket was made with (`SteeringRegistry.makeSocket`).
    ///   - configuration: its mode, and its rules about paths.
    ///   - borrow: is called on the event thread: where the connection is to be attached to `mpathd` and is not, or not any
    ///     more; where the peer is asked what it has; and for `abort`.
    /// - Returns: nil where the socket is not connected, and for any file that is no TCP socket.
    package convenience init?(
        lent descriptor: CInt, madeWith level: ControlLevel, _ configuration: ConnectionConfiguration,
        monitor: PathMonitor, borrow: @escaping DescriptorLoan = { _ in }
    ) {
        guard var socket = DiagnosedSocket(of: descriptor, by: monitor.runtime.diagnosis) else { return nil }
        let sample = TransportSample.read(descriptor)
        let remote = SocketOption.remoteEndpoint(of: descriptor)
        let local = SocketOption.localEndpoint(of: descriptor)
        let interface = local.flatMap { monitor.latestPath?.interface(with: $0.address) }
        let facts = FollowedFacts(
            transport: Transport(of: descriptor, sample, fallbackReason: nil), level: level,
            token: socket.token, local: local, remote: remote, path: interface?.id,
            interface: interface?.index ?? 0,
            steering: socket.token == nil
                ? nil
                : SteeringConfiguration(
                    mode: configuration.mode, policy: configuration.policy,
                    pathLossTimeout: configuration.pathLossTimeout, isLent: true),
            viability: FollowedFacts.Viability(
                families: remote.map { [$0.address.family] } ?? [], policy: configuration.policy,
                whenRefused: configuration.whenPathIsRefused))
        // What the books begin with: its subflows have the numbers of later samples.
        let first = socket.sample()
        self.init(FollowedSocket(socket, borrow: borrow), facts, sample: first, monitor: monitor)
    }
}
