import LinuxNet

/// A connected, non-blocking stream socket, and how it came about. It closes when it goes; `takeDescriptor`
/// hands it on.
public struct ConnectedSocket: ~Copyable, Sendable {
    public let report: EstablishmentReport
    let socket: StreamSocket
    let meter: TransferMeter
    let steering: Steering

    /// Counts this connection's bytes by path. Ask for it before the descriptor is taken.
    public var transferMeter: TransferMeter { meter }

    /// The descriptor, whose owner the caller becomes.
    public consuming func takeDescriptor() -> CInt {
        socket.release()
    }
}

/// A connection that takes part in a race and still has to be confirmed. It closes when it goes.
package struct RaceEntrant: ~Copyable, Sendable {
    let socket: StreamSocket
    package let meter: TransferMeter
    let candidate: Candidate
    let transport: Transport
    let steering: Steering

    package consuming func takeDescriptor() -> CInt { socket.release() }
}
