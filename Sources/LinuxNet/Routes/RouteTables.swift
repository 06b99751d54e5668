import CLinux
import Glibc
import PathCore

/// Asks rtnetlink for its tables, and how a packet would go. Each call waits for the kernel's answer, which
/// it gives in the same breath: a few microseconds, or milliseconds where the tables are large.
package final class RouteTables {
    let netlink: NetlinkConnection
    var decoder = RouteDecoder()

    package init() throws(SystemError) {
        netlink = try NetlinkConnection(.route)
    }

    package var tap: NetlinkTap? {
        get { netlink.tap }
        set { netlink.tap = newValue }
    }

    /// Messages that could not be read.
    package var malformed: Int { decoder.malformed + netlink.malformed }

    /// Dumps that a change interrupted, and that were asked for again.
    package var interrupted: Int { netlink.interruptedDumps }

    /// All links, without what only sysfs knows (`DeviceFiles`).
    package func links() throws(SystemError) -> [LinkFact] {
        var links: [LinkFact] = []
        try dump("read the links", RouteMessageType.getLink) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            request.put(UInt16(IFLA_EXT_MASK), 1 << 3)  // RTEXT_FILTER_SKIP_STATS
        } restart: {
            links = []
        } body: { message in
            if case .link(let link) = decoder.fact(in: message) { links.append(link) }
            return .goOn
        }
        return links
    }

    package func addresses() throws(SystemError) -> [AddressFact] {
        var addresses: [AddressFact] = []
        try dump("read the addresses", RouteMessageType.getAddress) { request in
            request.putFixedPart(ifaddrmsg.self) { _ in }
        } restart: {
            addresses = []
        } body: { message in
            if case .address(let address) = decoder.fact(in: message) { addresses.append(address) }
            return .goOn
        }
        return addresses
    }

    /// Dumps a table. One that nothing was ever put into does not exist, and is empty.
    func dump(
        _ operation: StaticString, _ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void,
        restart: () -> Void, body: (NetlinkMessage) -> NetlinkConnection.Progress
    ) throws(SystemError) {
        do throws(SystemError) {
            try netlink.dump("\(operation)", type, fill, restart: restart, body: body)
        } catch  where error.errno == ENOENT {
        }
    }
}
