/// The machine's paths to the Internet at one moment. Immutable; the next change makes the next one.
public struct PathSnapshot: Sendable, Hashable {
    /// Counts the snapshots a monitor has made, from 1.
    public var generation: UInt64
    /// Interfaces the kernel routes Internet traffic through, the preferred one first.
    public var interfaces: [PathInterface]
    /// Every other interface, and what disqualifies it.
    public var excluded: [ExcludedInterface]
    /// The system's name servers (resolv.conf), in their order. A path's own are in its `nameServers`.
    public var nameServers: [IPAddress]
    /// How often the machine woke from sleep since the monitor started.
    public var resumes: UInt64
    /// What differs from the snapshot this consumer got before.
    public var changes: [PathChange]

    /// A value of these parts.
    public init(
        generation: UInt64 = 0, interfaces: [PathInterface] = [], excluded: [ExcludedInterface] = [],
        nameServers: [IPAddress] = [], resumes: UInt64 = 0, changes: [PathChange] = []
    ) {
        self.generation = generation
        self.interfaces = interfaces
        self.excluded = excluded
        self.nameServers = nameServers
        self.resumes = resumes
        self.changes = changes
    }

    /// Whether there is a path.
    public enum Status: String, Sendable, Hashable {
        /// There is at least one path.
        case satisfied
        /// There is none; `excluded` says why, for each interface.
        case unsatisfied
    }

    /// Whether there is a path.
    public var status: Status { interfaces.isEmpty ? .unsatisfied : .satisfied }
    /// The preferred path.
    public var primary: PathInterface? { interfaces.first }
    /// Whether the preferred path is expensive.
    public var isExpensive: Bool { primary?.isExpensive ?? false }
    /// Whether the preferred path is constrained.
    public var isConstrained: Bool { primary?.isConstrained ?? false }
    /// Whether any path supports IPv4.
    public var supportsIPv4: Bool { supports(.ipv4) }
    /// Whether any path supports IPv6.
    public var supportsIPv6: Bool { supports(.ipv6) }

    /// Whether any path supports an address family.
    public func supports(_ family: IPAddress.Family) -> Bool {
        interfaces.contains { $0.supports(family) }
    }

    /// An interface by its index, whether it is a path or not.
    public func interface(_ index: InterfaceIndex) -> PathInterface? {
        if let path = path(index) { return path }
        return excluded.indices.first { excluded[$0].interface.index == index }.map { excluded[$0].interface }
    }

    /// A path by its interface's index.
    public func path(_ index: InterfaceIndex) -> PathInterface? {
        // By places: a path has a dozen references to count, and the others are only looked at.
        interfaces.indices.first { interfaces[$0].index == index }.map { interfaces[$0] }
    }

    /// The interface that a connection's path leads over, whether it is a path to the Internet now or not.
    public func interface(_ id: PathID) -> PathInterface? { interface(named: id.name) }

    /// An interface by its name, whether it is a path or not.
    public func interface(named name: String) -> PathInterface? {
        interfaces.first { $0.name == name } ?? excluded.first { $0.interface.name == name }?.interface
    }

    /// The interface that has this address.
    public func interface(with address: IPAddress) -> PathInterface? {
        let all = interfaces + excluded.map(\.interface)
        return all.first { $0.addresses.contains { $0.address.inZone(0) == address.inZone(0) } }
    }

    /// Whether nothing differs that a consumer should be woken for.
    ///
    /// Left out: the number and the reasons; signal and link speed, which never stand still; whether an
    /// address is deprecated just now, which router advertisements flip every few seconds; and interfaces
    /// made by software that lead nowhere, which come and go by the hundred where containers run.
    public func hasSameContent(as other: PathSnapshot) -> Bool {
        interfaces.map(\.significant) == other.interfaces.map(\.significant)
            && significantExcluded == other.significantExcluded
            && nameServers == other.nameServers && resumes == other.resumes
    }

    /// The same with budgets that are spent, each at the paths that it covers.
    package func withSpent(_ budgets: Set<PathBudget>) -> PathSnapshot {
        guard !budgets.isEmpty else { return self }
        func mark(_ interface: inout PathInterface) {
            let covering = budgets.filter { $0.covers(interface) }
            interface.spentBudgets.formUnion(covering)
        }
        var snapshot = self
        for place in snapshot.interfaces.indices { mark(&snapshot.interfaces[place]) }
        for place in snapshot.excluded.indices { mark(&snapshot.excluded[place].interface) }
        return snapshot
    }

    var significantExcluded: [ExcludedInterface] {
        excluded.filter { $0.interface.type.value != .virtual }
            .map { ExcludedInterface($0.interface.significant, reason: $0.reason) }
    }
}

/// An interface with all that is known of it as a path.
public struct PathInterface: Sendable, Hashable, Identifiable {
    /// Names the paths that lead over this interface.
    public var id: PathID { PathID(name) }
    /// The kernel's number of the interface.
    public var index: InterfaceIndex {
        get { facts.value.index }
        set { facts.value.index = newValue }
    }
    /// The interface's name.
    public var name: String {
        get { facts.value.name }
        set { facts.value.name = newValue }
    }
    /// The interface's type, and where that is known from.
    public var type: Verdict<InterfaceType> {
        get { facts.value.type }
        set { facts.value.type = newValue }
    }
    /// Whether traffic costs money or uses up an allowance: cellular, a telephone's hotspot.
    public var expensive: Verdict<Expense> {
        get { facts.value.expensive }
        set { facts.value.expensive = newValue }
    }
    /// Whether the user asked to save data here.
    public var constrained: Verdict<Bool> {
        get { facts.value.constrained }
        set { facts.value.constrained = newValue }
    }
    /// The addresses of the interface.
    public var addresses: [InterfaceAddress] {
        get { facts.value.addresses }
        set { facts.value.addresses = newValue }
    }
    /// The routers of its default routes.
    public var gateways: [IPAddress] {
        get { facts.value.gateways }
        set { facts.value.gateways = newValue }
    }
    /// The lowest metric among its default routes; nil without one.
    public var metric: UInt32? {
        get { facts.value.metric }
        set { facts.value.metric = newValue }
    }
    /// The name servers that belong to this path, where a source names them.
    public var nameServers: [IPAddress] {
        get { facts.value.nameServers }
        set { facts.value.nameServers = newValue }
    }
    /// The name of the Wi-Fi network.
    public var ssid: String? {
        get { facts.value.ssid }
        set { facts.value.ssid = newValue }
    }
    /// The interfaces that carry a tunnel's packets, the nearest first; none for one that needs no other.
    public var carriers: [Carrier] {
        get { facts.value.carriers }
        set { facts.value.carriers = newValue }
    }
    /// What is known of the link below IP.
    public var quality: PathQuality {
        get { facts.value.quality }
        set { facts.value.quality = newValue }
    }
    /// Whether the kernel has both a default route and a usable address here.
    public var supportsIPv4: Bool {
        get { facts.value.supportsIPv4 }
        set { facts.value.supportsIPv4 = newValue }
    }
    /// Whether the path supports IPv6: it has an address and a default route.
    public var supportsIPv6: Bool {
        get { facts.value.supportsIPv6 }
        set { facts.value.supportsIPv6 = newValue }
    }
    /// The budgets that cover this path and are spent, of those that this process has asked about by a policy.
    public var spentBudgets: Set<PathBudget> {
        get { facts.value.spentBudgets }
        set { facts.value.spentBudgets = newValue }
    }

    /// Shared: each snapshot, race and connection has copies, and to copy the parts would be to count a dozen references.
    private var facts: CopyOnWrite<Facts>

    private struct Facts: Sendable, Hashable {
        var index: InterfaceIndex
        var name: String
        var type: Verdict<InterfaceType>
        var expensive: Verdict<Expense>
        var constrained: Verdict<Bool>
        var addresses: [InterfaceAddress]
        var gateways: [IPAddress]
        var metric: UInt32?
        var nameServers: [IPAddress]
        var ssid: String?
        var carriers: [Carrier]
        var quality: PathQuality
        var supportsIPv4: Bool
        var supportsIPv6: Bool
        var spentBudgets: Set<PathBudget>
    }

    /// A value of these parts.
    public init(
        index: InterfaceIndex, name: String, type: Verdict<InterfaceType>,
        expensive: Verdict<Expense> = Verdict(.unknown, .assumed),
        constrained: Verdict<Bool> = Verdict(false, .assumed), addresses: [InterfaceAddress] = [],
        gateways: [IPAddress] = [], metric: UInt32? = nil, nameServers: [IPAddress] = [],
        ssid: String? = nil, carriers: [Carrier] = [], quality: PathQuality = PathQuality(),
        supportsIPv4: Bool = false, supportsIPv6: Bool = false, spentBudgets: Set<PathBudget> = []
    ) {
        facts = CopyOnWrite(
            Facts(
                index: index, name: name, type: type, expensive: expensive, constrained: constrained,
                addresses: addresses, gateways: gateways, metric: metric, nameServers: nameServers,
                ssid: ssid, carriers: carriers, quality: quality, supportsIPv4: supportsIPv4,
                supportsIPv6: supportsIPv6, spentBudgets: spentBudgets))
    }

    /// Whether it is known or guessed to be expensive.
    public var isExpensive: Bool { expensive.value.isExpensive }
    /// Whether data is to be saved on it (Low Data Mode).
    public var isConstrained: Bool { constrained.value }
    /// The name of the interface that carries a tunnel's packets.
    public var carrier: String? { carriers.first?.name }

    /// An interface below another one.
    public struct Carrier: Sendable, Hashable {
        /// The kernel's number of the interface.
        public var index: InterfaceIndex
        /// The interface's name.
        public var name: String
        /// The interface's type.
        public var type: InterfaceType

        /// A value of these parts.
        public init(index: InterfaceIndex, name: String, type: InterfaceType) {
            self.index = index
            self.name = name
            self.type = type
        }
    }

    /// Whether the path supports an address family.
    public func supports(_ family: IPAddress.Family) -> Bool {
        family == .ipv4 ? supportsIPv4 : supportsIPv6
    }
}

extension PathInterface {
    /// The interface without what changes all the time and matters to no next connection.
    var significant: PathInterface {
        var copy = self
        copy.quality = PathQuality(isFading: quality.isFading)
        copy.addresses = addresses.map { InterfaceAddress($0.address, prefixLength: $0.prefixLength) }
        return copy
    }
}

/// An address with the length of its network's prefix.
public struct InterfaceAddress: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The address.
    public var address: IPAddress
    /// The length of its network's prefix, in bits.
    public var prefixLength: UInt8
    /// Whether it may be used.
    public var state: State
    /// Made up for privacy, and replaced after a while (RFC 8981).
    public var isTemporary: Bool

    /// Whether an address may be used (RFC 4862 section 2).
    public enum State: String, Sendable, Hashable {
        /// It may be used.
        case preferred
        /// Not for new connections, where there is another (RFC 4862 section 5.5.4).
        case deprecated
        /// Duplicate detection still runs; until it ends nothing can be sent from it.
        case tentative
    }

    /// A value of these parts.
    public init(
        _ address: IPAddress, prefixLength: UInt8, state: State = .preferred, isTemporary: Bool = false
    ) {
        self.address = address
        self.prefixLength = prefixLength
        self.state = state
        self.isTemporary = isTemporary
    }

    public var description: String { "\(address.inZone(0))/\(prefixLength)" }

    public static func < (left: InterfaceAddress, right: InterfaceAddress) -> Bool {
        (left.address.family, left.address.high, left.address.low, left.prefixLength)
            < (right.address.family, right.address.high, right.address.low, right.prefixLength)
    }
}

/// An interface that is no path to the Internet now.
public struct ExcludedInterface: Sendable, Hashable {
    /// The interface.
    public var interface: PathInterface
    /// Why it is no path.
    public var reason: Reason

    /// A value of these parts.
    public init(_ interface: PathInterface, reason: Reason) {
        self.interface = interface
        self.reason = reason
    }

    /// Why an interface is no path to the Internet.
    public enum Reason: Sendable, Hashable, CustomStringConvertible {
        /// It is this machine itself.
        case loopback
        /// The administrator has it down.
        case down
        /// It is up, but the hardware has no link.
        case noCarrier
        /// No address with which traffic could leave the link.
        case noAddress
        /// The kernel would send no Internet traffic through it, by whichever table or rule.
        case noDefaultRoute
        /// A tunnel takes the default traffic; going around it would leak what it is there to hide.
        case behindTunnel(String)

        public var description: String {
            switch self {
            case .loopback: "loopback"
            case .down: "down"
            case .noCarrier: "no carrier"
            case .noAddress: "no usable address"
            case .noDefaultRoute: "no default route"
            case .behindTunnel(let name): "behind the tunnel \(name)"
            }
        }
    }
}
