// Orders to the userspace path manager, for one connection each (net/mptcp/pm_userspace.c).

import CLinux
import Glibc
import PathCore

/// Has the kernel make, prefer and give up the subflows of connections whose sockets have the userspace path
/// manager, in the network namespace this object was made in.
///
/// Each call waits for the kernel's answer, which takes some ten microseconds. An error has the errno and the
/// kernel's words: EPERM without CAP_NET_ADMIN; EINVAL for a token that names no connection, and for a socket
/// of the kernel's path manager.
package final class SubflowCommands {
    let netlink: GenericNetlink
    let family: GenericFamily

    /// - Throws: ENOENT where the kernel has no MPTCP.
    package init() throws(SystemError) {
        netlink = try GenericNetlink()
        family = try netlink.family(PathManagerFamily.name)
    }

    /// Makes another subflow. It is there when `SubflowEvent.subflowEstablished` says so.
    ///
    /// - Parameter local: the address to connect from. Its id belongs to the address for as long as the
    ///   connection lives, or until `remove`: another id for it, or it for another address, is EINVAL. 0 is
    ///   the first subflow's address.
    /// - Throws: ENOTCONN before the first data is acknowledged, EADDRNOTAVAIL for an address that this
    ///   machine hasn't got, EINVAL for families that don't fit.
    package func createSubflow(
        _ token: ConnectionToken, from local: SubflowAction.LocalAddress, isBackup: Bool = false,
        to remote: IPEndpoint
    ) throws(SystemError) {
        try request("create a subflow", PathManagerCommand.createSubflow, token) { request in
            request.nest(PathManagerAttribute.address) {
                request.put(local.address)
                request.put(PathManagerAddress.id, [local.id])
                if isBackup { request.put(PathManagerAddress.flags, PathManagerAddress.backup) }
                if let interface = local.interface { request.put(PathManagerAddress.interface, interface) }
            }
            request.put(PathManagerAttribute.remoteAddress, remote)
        }
    }

    /// Gives up a subflow: what was not acknowledged there is sent again at once, over another. The address
    /// loses its id.
    ///
    /// - Throws: ESRCH where the connection has no such subflow. The first one stays known after its end.
    package func destroySubflow(
        _ token: ConnectionToken, local: IPEndpoint, remote: IPEndpoint
    ) throws(SystemError) {
        try ofEitherKind(local, remote) { local, remote throws(SystemError) in
            try request("destroy a subflow", PathManagerCommand.destroySubflow, token) { request in
                request.put(PathManagerAttribute.address, local)
                request.put(PathManagerAttribute.remoteAddress, remote)
            }
        }
    }

    /// Takes an address back (RM_ADDR, RFC 8684 section 3.4.2): the peer closes its subflows. It is sent once,
    /// over another subflow.
    ///
    /// - Throws: EINVAL for an id that the connection doesn't use.
    package func remove(_ token: ConnectionToken, localID: UInt8) throws(SystemError) {
        try request("remove address \(localID)", PathManagerCommand.remove, token) { request in
            request.put(PathManagerAttribute.localID, [localID])
        }
    }

    /// Makes a subflow backup, or not, and tells the peer over that subflow (MP_PRIO, RFC 8684 section 3.3.8).
    ///
    /// - Throws: EINVAL where the connection has no such subflow.
    package func setBackup(
        _ token: ConnectionToken, local: IPEndpoint, remote: IPEndpoint, _ isBackup: Bool
    ) throws(SystemError) {
        try ofEitherKind(local, remote) { local, remote throws(SystemError) in
            try request("set a subflow's priority", PathManagerCommand.setFlags, token) { request in
                request.nest(PathManagerAttribute.address) {
                    request.put(local.address)
                    request.put(PathManagerAddress.port, port: local.port)
                    request.put(PathManagerAddress.flags, isBackup ? PathManagerAddress.backup : 0)
                }
                request.put(PathManagerAttribute.remoteAddress, remote)
            }
        }
    }

    /// Tells the peer of an address (ADD_ADDR, RFC 8684 section 3.4.1). The id may not be 0.
    package func announce(
        _ token: ConnectionToken, _ local: SubflowAction.LocalAddress, port: UInt16? = nil
    ) throws(SystemError) {
        try request("announce an address", PathManagerCommand.announce, token) { request in
            request.nest(PathManagerAttribute.address) {
                request.put(local.address)
                request.put(PathManagerAddress.id, [local.id])
                request.put(PathManagerAddress.flags, PathManagerAddress.signal)
                if let port { request.put(PathManagerAddress.port, port: port) }
                if let interface = local.interface { request.put(PathManagerAddress.interface, interface) }
            }
        }
    }

    /// The addresses that a connection has given ids to, beside its first.
    package func addresses(_ token: ConnectionToken) throws(SystemError) -> [PathManagerEndpoint] {
        try netlink.dump("list a connection's addresses", family, PathManagerCommand.getAddress) { request in
            request.put(PathManagerAttribute.token, token.value)
        } decode: {
            PathManagerEndpoint($0)
        }
    }

    private func request(
        _ operation: @autoclosure () -> String, _ command: UInt8, _ token: ConnectionToken,
        _ fill: (borrowing NetlinkRequest) -> Void
    ) throws(SystemError) {
        try netlink.request(operation(), family, command) { request in
            request.put(PathManagerAttribute.token, token.value)
            fill(request)
        }
    }

    /// An IPv6 socket that is connected to an IPv4 address has a first subflow with IPv4-mapped addresses, and
    /// later ones that are as they were asked for. The kernel compares them as they are, and only it can
    /// tell which is which: so the second kind is tried where there is none of the first.
    private func ofEitherKind(
        _ local: IPEndpoint, _ remote: IPEndpoint,
        _ body: (IPEndpoint, IPEndpoint) throws(SystemError) -> Void
    ) throws(SystemError) {
        do throws(SystemError) {
            try body(local, remote)
        } catch {
            // What there is not is ESRCH to one order, EINVAL to the other.
            guard error.errno == ESRCH || error.errno == EINVAL, local.address.family == .ipv4,
                remote.address.family == .ipv4
            else { throw error }
            try body(local.mapped, remote.mapped)
        }
    }
}

extension IPEndpoint {
    /// An IPv4 address as the IPv4-mapped IPv6 one.
    var mapped: IPEndpoint {
        let bits = address.networkBytes.reduce(0) { $0 << 8 | UInt64($1) }
        return IPEndpoint(IPAddress(ipv6: 0, 0xFFFF << 32 | bits), port: port)
    }
}

extension NetlinkRequest {
    /// An address's family and bytes, inside a nest.
    func put(_ address: IPAddress) {
        let family = UInt16(truncatingIfNeeded: address.kernelFamily)
        put(PathManagerAddress.family, withUnsafeBytes(of: family) { Array($0) })
        let attribute = address.family == .ipv4 ? PathManagerAddress.ipv4 : PathManagerAddress.ipv6
        put(attribute, address.networkBytes)
    }

    /// A port in host order.
    func put(_ attribute: UInt16, port: UInt16) {
        put(attribute, withUnsafeBytes(of: port) { Array($0) })
    }

    func put(_ attribute: UInt16, _ endpoint: IPEndpoint) {
        nest(attribute) {
            put(endpoint.address)
            put(PathManagerAddress.port, port: endpoint.port)
        }
    }
}
