import LinuxNet

/// What is known of a connection as it begins to be followed. All that follows it shares the one object.
final class FollowedFacts: Sendable {
    /// How a connection's path is judged.
    struct Viability: Sendable {
        /// In which the destination has addresses.
        var families: Set<IPAddress.Family>
        /// Which paths the connection may use.
        var policy: PathPolicy
        /// What happens where the path is not allowed any more.
        var whenRefused = PathRefusalAction.report
    }

    let transport: Transport
    /// How far its subflows can be steered, as far as its socket tells.
    let level: ControlLevel
    /// By which the kernel's path manager names it; nil for plain TCP.
    let token: ConnectionToken?
    let local: IPEndpoint?
    let remote: IPEndpoint?
    /// The path of the first subflow, and the interface that it led over then; nil and 0 where they are not known.
    let path: PathID?
    let interface: InterfaceIndex
    /// The destination's other addresses: what has no route to the first may have one to them.
    let otherRemotes: [IPEndpoint]
    /// When it was established.
    let established: MonotonicTime
    /// How far its packets bear the mark of their traffic class; nil for those without a wish.
    let marking: TrafficMarking?
    /// How its subflows are steered; nil for not at all.
    let steering: SteeringConfiguration?
    let permissions: SteeringRegistry.Permissions
    /// How its path is judged; nil for not at all.
    let viability: Viability?

    init(
        transport: Transport, level: ControlLevel, token: ConnectionToken?, local: IPEndpoint?,
        remote: IPEndpoint?, path: PathID? = nil, interface: InterfaceIndex = 0,
        otherRemotes: [IPEndpoint] = [], established: MonotonicTime = .now, marking: TrafficMarking? = nil,
        steering: SteeringConfiguration?,
        permissions: SteeringRegistry.Permissions = SteeringRegistry.Permissions(),
        viability: Viability? = nil
    ) {
        self.transport = transport
        self.level = level
        self.token = token
        self.local = local
        self.remote = remote
        self.path = path
        self.interface = interface
        self.otherRemotes = otherRemotes
        self.established = established
        self.marking = marking
        self.steering = steering
        self.permissions = permissions
        self.viability = viability
    }

    /// Which paths it may use; an accepted connection has no choice, and may use each.
    var policy: PathPolicy { viability?.policy ?? steering?.policy ?? PathPolicy() }

    /// The interface that it came about over.
    func interface(in snapshot: PathSnapshot) -> PathInterface? {
        path.map { snapshot.interface($0) }
            ?? local.flatMap {
                snapshot.interface(with: $0.address)
            }
    }

    /// What decides which path is told of; nil where its interface or its peer is not known.
    func makeCarrier(in snapshot: PathSnapshot, isTCP: Bool) -> CarrierMachine? {
        guard let remote, let interface = interface(in: snapshot) else { return nil }
        return CarrierMachine(
            FollowedConnection(
                interface: interface.index, local: local?.address, remote: remote.address,
                families: viability?.families ?? [], isTCP: isTCP),
            policy: policy, response: viability?.whenRefused ?? .report)
    }
}
