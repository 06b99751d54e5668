// The kernel's own path manager: a list of endpoints for each network namespace, which goes for all of its
// connections (net/mptcp/pm_kernel.c).

import CLinux
import PathCore

/// An address that a path manager knows.
package struct PathManagerEndpoint: Sendable, Hashable {
    /// What is done with it.
    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The peer is told of it (ADD_ADDR).
        package static let signal = Flags(rawValue: PathManagerAddress.signal)
        /// Connections make a subflow from it.
        package static let subflow = Flags(rawValue: PathManagerAddress.subflow)
        /// Its subflows carry data only when no other is left.
        package static let backup = Flags(rawValue: PathManagerAddress.backup)
        /// Connections make a subflow from it to each address of the peer's.
        package static let fullMesh = Flags(rawValue: PathManagerAddress.fullMesh)
        /// The kernel added it by itself, for a subflow from an address without one.
        package static let implicit = Flags(rawValue: PathManagerAddress.implicit)
        /// Connections answer an announced address from it (Linux 6.18).
        package static let laminar = Flags(rawValue: PathManagerAddress.laminar)
    }

    package var address: IPAddress
    /// 0 lets the kernel choose one.
    package var id: UInt8
    package var port: UInt16?
    package var flags: Flags
    /// What its subflows are bound to.
    package var interface: InterfaceIndex?

    package init(
        _ address: IPAddress, id: UInt8 = 0, port: UInt16? = nil, flags: Flags,
        interface: InterfaceIndex? = nil
    ) {
        self.address = address
        self.id = id
        self.port = port
        self.flags = flags
        self.interface = interface
    }

    /// nil for a message without an address.
    init?(_ message: GenericMessage) {
        var endpoint: PathManagerEndpoint?
        message.attributes.visit { type, value in
            if type == PathManagerAttribute.address {
                endpoint = PathManagerEndpoint(NetlinkAttributes(value))
            }
        }
        guard let endpoint else { return nil }
        self = endpoint
    }

    private init?(_ attributes: NetlinkAttributes) {
        var address: IPAddress?
        var endpoint = PathManagerEndpoint(IPAddress(ipv4: 0), flags: [])
        attributes.visit { type, value in
            switch type {
            case PathManagerAddress.ipv4, PathManagerAddress.ipv6: address = value.ipAddress()
            case PathManagerAddress.id: endpoint.id = value.number() ?? 0
            case PathManagerAddress.port:
                endpoint.port = value.number(UInt16.self).flatMap { $0 == 0 ? nil : $0 }
            case PathManagerAddress.flags: endpoint.flags = Flags(rawValue: value.number() ?? 0)
            case PathManagerAddress.interface:
                endpoint.interface = value.number(Int32.self).flatMap { $0 > 0 ? InterfaceIndex($0) : nil }
            default: break
            }
        }
        guard let address else { return nil }
        endpoint.address = address
        self = endpoint
    }
}

/// How much the kernel's path manager does for each connection.
package struct PathManagerLimits: Sendable, Hashable {
    /// Subflows beside the first, made or accepted.
    package var subflows: UInt32
    /// Announced addresses that are connected to.
    package var acceptedAddresses: UInt32

    package init(subflows: UInt32, acceptedAddresses: UInt32) {
        self.subflows = subflows
        self.acceptedAddresses = acceptedAddresses
    }
}

extension SubflowCommands {
    /// The kernel's endpoints. Reading them needs no right.
    package func endpoints() throws(SystemError) -> [PathManagerEndpoint] {
        try netlink.dump("list the MPTCP endpoints", family, PathManagerCommand.getAddress) {
            PathManagerEndpoint($0)
        }
    }

    /// Adds an endpoint. Connections that are fully established make their subflows at once.
    ///
    /// - Throws: EBUSY for an id that is there, EEXIST for an address, ERANGE beyond the eighth.
    package func add(_ endpoint: PathManagerEndpoint) throws(SystemError) {
        try change("add the MPTCP endpoint \(endpoint.address)", PathManagerCommand.addAddress, endpoint)
    }

    /// Deletes an endpoint: connections send RM_ADDR, close its subflows, and send again what was on its way.
    ///
    /// - Parameter address: needed for id 0, which means the connections whose first subflow is from there.
    /// - Throws: EINVAL where there is no such endpoint.
    package func deleteEndpoint(id: UInt8, address: IPAddress? = nil) throws(SystemError) {
        try netlink.request(
            "delete the MPTCP endpoint \(id)", family, PathManagerCommand.deleteAddress
        ) { request in
            request.nest(PathManagerAttribute.address) {
                if let address { request.put(address) }
                request.put(PathManagerAddress.id, [id])
            }
        }
    }

    /// Changes an endpoint's backup flag and that of all its subflows, and tells their peers (MP_PRIO). Of the
    /// other flags only fullMesh may change.
    package func setFlags(_ endpoint: PathManagerEndpoint) throws(SystemError) {
        try change("change the MPTCP endpoint \(endpoint.address)", PathManagerCommand.setFlags, endpoint)
    }

    package func limits() throws(SystemError) -> PathManagerLimits {
        var limits = PathManagerLimits(subflows: 0, acceptedAddresses: 0)
        try netlink.request("read the MPTCP limits", family, PathManagerCommand.getLimits) { _ in
        } answer: { message in
            message.attributes.visit { type, value in
                switch type {
                case PathManagerAttribute.subflows: limits.subflows = value.number() ?? 0
                case PathManagerAttribute.acceptedAddresses: limits.acceptedAddresses = value.number() ?? 0
                default: break
                }
            }
        }
        return limits
    }

    /// Sets the limits, for connections made from now on; each is 8 at most.
    package func setLimits(_ limits: PathManagerLimits) throws(SystemError) {
        try netlink.request("set the MPTCP limits", family, PathManagerCommand.setLimits) { request in
            request.put(PathManagerAttribute.subflows, limits.subflows)
            request.put(PathManagerAttribute.acceptedAddresses, limits.acceptedAddresses)
        }
    }

    private func change(
        _ operation: @autoclosure () -> String, _ command: UInt8, _ endpoint: PathManagerEndpoint
    ) throws(SystemError) {
        try netlink.request(operation(), family, command) { request in
            request.nest(PathManagerAttribute.address) {
                request.put(endpoint.address)
                if endpoint.id != 0 { request.put(PathManagerAddress.id, [endpoint.id]) }
                if let port = endpoint.port { request.put(PathManagerAddress.port, port: port) }
                request.put(PathManagerAddress.flags, endpoint.flags.rawValue)
                if let interface = endpoint.interface { request.put(PathManagerAddress.interface, interface) }
            }
        }
    }
}
