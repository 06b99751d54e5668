// One link of the client: its interface, addresses and routes, as NetworkManager would keep them, and what a
// fault does to them.

import LabNet
import LinuxNet
import PathCore

/// The hosts' networks, and the hands that change them.
final class LabHosts: Sendable {
    let client: NetworkNamespace
    let router: NetworkNamespace
    let server: NetworkNamespace
    // Safe because only the lab's thread uses them.
    nonisolated(unsafe) let clientControl: NetworkControl
    nonisolated(unsafe) let routerControl: NetworkControl
    nonisolated(unsafe) let serverControl: NetworkControl
    /// The network this process itself is in: where the emulated wires' ends are.
    nonisolated(unsafe) let wireControl: NetworkControl

    init() throws(SystemError) {
        let client = try NetworkNamespace.make()
        let router = try NetworkNamespace.make()
        let server = try NetworkNamespace.make()
        clientControl = try client.run { () throws(SystemError) in try NetworkControl() }
        routerControl = try router.run { () throws(SystemError) in try NetworkControl() }
        serverControl = try server.run { () throws(SystemError) in try NetworkControl() }
        wireControl = try NetworkControl()
        self.client = client
        self.router = router
        self.server = server
    }
}

/// Only the lab's thread touches it.
struct ClientLink {
    let plan: LabPlan.Link
    let number: Int
    let families: [IPAddress.Family]
    private(set) var conditions: LinkConditions
    private var host = 2
    private var metric: UInt32
    private var isPlugged = false
    private var isUp = true
    private var hasAddresses = true
    private var hasRoutes = true
    private var index: InterfaceIndex = 0
    private var tap: TapPort?

    /// The ends of the link's cables in the wires' network.
    private var nearEnd: String { "near\(number)" }
    private var farEnd: String { "far\(number)" }

    init(_ plan: LabPlan.Link, number: Int, families: [IPAddress.Family], metric: UInt32) {
        self.plan = plan
        self.number = number
        self.families = families
        self.metric = metric
        conditions = LinkConditions()
    }

    // MARK: Building

    /// Lays the router's half, and the interface with all it has, onto a wire that does nothing yet.
    mutating func build(_ hosts: LabHosts, _ wire: Wire, seed: UInt64) throws(SystemError) {
        try hosts.wireControl.addVeth(
            .init(farEnd), to: .init(plan.name, hardwareAddress: hardwareAddress(end: 1)), in: hosts.router)
        try hosts.wireControl.setLink(farEnd, up: true)
        let name = plan.name
        let index = try hosts.router.run { () throws(SystemError) in
            try Offloads.switchOff(name)
            return try NetworkControl.index(of: name)
        }
        try hosts.routerControl.setLink(name, up: true)
        for family in families {
            try hosts.routerControl.addAddress(
                LabAddresses.onLink(number, host: 1, family), prefix: LabAddresses.linkPrefix(family),
                to: index)
        }
        routerIndex = index
        let near = try plug(hosts)
        let far = try PacketSocket(farEnd)
        try wire.add(
            name, near: near, far: far, natAddress: LabAddresses.nat(number), seed: seed &+ UInt64(number))
        try configure(hosts)
    }

    private var routerIndex: InterfaceIndex = 0

    private func hardwareAddress(end: UInt8) -> [UInt8] { [0x02, 0x00, 0x5E, 0x00, UInt8(number), end] }

    /// Makes the interface in the client's network.
    private mutating func plug(_ hosts: LabHosts) throws(SystemError) -> any FramePort {
        let name = plan.name
        let address = hardwareAddress(end: 2)
        let port: any FramePort
        if plan.isTap {
            let tap = try hosts.client.run { () throws(SystemError) in try TapPort(name) }
            try hosts.clientControl.setHardwareAddress(name, address)
            self.tap = tap
            port = tap
        } else {
            try hosts.wireControl.addVeth(
                .init(nearEnd), to: .init(name, hardwareAddress: address), in: hosts.client)
            try hosts.client.run { () throws(SystemError) in try Offloads.switchOff(name) }
            try hosts.wireControl.setLink(nearEnd, up: true)
            port = try PacketSocket(nearEnd)
        }
        index = try hosts.client.run { () throws(SystemError) in try NetworkControl.index(of: name) }
        isPlugged = true
        return port
    }

    /// Gives the interface everything it should have now.
    private mutating func configure(_ hosts: LabHosts) throws(SystemError) {
        guard isPlugged else { return }
        try hosts.clientControl.setLink(plan.name, up: isUp)
        guard isUp, hasAddresses else { return }
        for family in families {
            try hosts.clientControl.addAddress(
                address(family), prefix: LabAddresses.linkPrefix(family), to: index)
            if hasRoutes { try hosts.clientControl.addRoute(defaultRoute(family)) }
            if family == .ipv4 {
                try hosts.routerControl.addRoute(
                    .init(
                        to: (IPAddress(ipv4: LabAddresses.nat(number)), 32), via: address(.ipv4),
                        index: routerIndex))
            }
        }
    }

    private func address(_ family: IPAddress.Family) -> IPAddress {
        LabAddresses.onLink(number, host: host, family)
    }

    private func defaultRoute(_ family: IPAddress.Family) -> NetworkControl.Route {
        .init(via: LabAddresses.onLink(number, host: 1, family), index: index, metric: metric)
    }

    // MARK: What happens to it

    mutating func perform(
        _ action: LinkAction, _ hosts: LabHosts, _ wire: Wire
    ) throws(SystemError) {
        switch action {
        case .change(let change):
            conditions = change.applied(to: conditions)
            wire.change(plan.name, conditions)
        case .fault(let fault): try perform(fault, hosts, wire)
        case .tag: preconditionFailure("what a user says of a link is the settings' (LabSettings)")
        }
    }

    mutating func set(_ conditions: LinkConditions, _ wire: Wire) {
        self.conditions = conditions
        wire.change(plan.name, conditions)
    }

    private mutating func perform(
        _ fault: LinkAction.Fault, _ hosts: LabHosts, _ wire: Wire
    ) throws(SystemError) {
        switch fault {
        case .up(let up):
            isUp = up
            if up { (hasAddresses, hasRoutes) = (true, true) }
            try configure(hosts)
        case .plugged(true):
            guard !isPlugged else { return }
            (isUp, hasAddresses, hasRoutes) = (true, true, true)
            try wire.replaceNearPort(plan.name, plug(hosts))
            try configure(hosts)
        case .plugged(false):
            guard isPlugged else { return }
            try wire.replaceNearPort(plan.name, nil)
            isPlugged = false
            // A tap goes when its last descriptor does.
            if tap == nil { try hosts.wireControl.removeLink(nearEnd) }
            tap = nil
        case .carrier(let on):
            guard isPlugged else { return }
            if let tap { try tap.setCarrier(on) } else { try hosts.wireControl.setLink(nearEnd, up: on) }
        case .addresses(let on):
            if on == hasAddresses { return }
            hasAddresses = on
            if on { try configure(hosts) } else { try removeAddresses(hosts) }
        case .routes(let on):
            if on == hasRoutes { return }
            if !on { try withdrawRoutes(hosts) }
            hasRoutes = on
            try configure(hosts)
        case .renumber:
            if hasAddresses, isPlugged, isUp { try removeAddresses(hosts) }
            host = host < LabAddresses.lastHost ? host + 1 : 2
            hasAddresses = true
            try configure(hosts)
        case .metric(let new):
            if hasRoutes { try withdrawRoutes(hosts) }
            metric = new
            try configure(hosts)
        case .forgetFlows: wire.forgetFlows(plan.name)
        }
    }

    private func removeAddresses(_ hosts: LabHosts) throws(SystemError) {
        guard isPlugged else { return }
        // With its last address an IPv4 interface loses its routes; IPv6's have to be taken.
        if hasRoutes { try withdrawRoutes(hosts) }
        for family in families {
            try hosts.clientControl.removeAddress(
                address(family), prefix: LabAddresses.linkPrefix(family), from: index)
        }
    }

    private func withdrawRoutes(_ hosts: LabHosts) throws(SystemError) {
        guard isPlugged, isUp else { return }
        for family in families {
            do throws(SystemError) {
                try hosts.clientControl.removeRoute(defaultRoute(family))
            } catch  where error.isMissing {
                // The kernel or the command took it before.
            }
        }
    }
}
