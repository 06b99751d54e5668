import LinuxNet

/// A connected, non-blocking stream socket, and how it came about. It closes when it goes; `takeDescriptor`
/// hands it on.
public struct ConnectedSocket: ~Copyable, Sendable {
    /// How the connection came about.
    public let report: EstablishmentReport
    let pending: PendingConnection

    /// The descriptor, whose owner the caller becomes.
    public consuming func takeDescriptor() -> CInt { pending.takeDescriptor() }
}
