import CLinux
import Glibc
import PathCore

/// Asks rtnetlink for its tables, and how a packet would go. Each call waits for the kernel's answer, which
/// it gives in the same breath: a few microseconds, or milliseconds where the tables are large.
package final class RouteTables {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0
    private var decoder = RouteDecoder()
    private let devices: DeviceFiles

    /// Dumps that a change interrupted, and that were asked for again.
    package private(set) var interrupted = 0

    package init(devices: DeviceFiles = DeviceFiles()) throws(SystemError) {
        self.devices = devices
        socket = try NetlinkSocket()
        // Dump datagrams grow only to the largest buffer they were read with, 32 KiB at most.
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
        // Without strict checking the kernel ignores a dump's filter and sends everything.
        try? socket.set(CInt(MP_NETLINK_GET_STRICT_CHK), to: 1, "strict checking")
        try? socket.set(CInt(MP_NETLINK_EXT_ACK), to: 1, "extended acknowledgements")
    }

    deinit { buffer.deallocate() }

    /// Messages that could not be read.
    package var malformed: Int { decoder.malformed }

    package func links() throws(SystemError) -> [LinkFact] {
        var links: [LinkFact] = []
        try dump("the links", RouteMessageType.getLink) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            request.put(UInt16(IFLA_EXT_MASK), 1 << 3)  // RTEXT_FILTER_SKIP_STATS
        } restart: {
            links = []
        } body: { fact in
            if case .link(let link) = fact { links.append(link) }
        }
        return links.map { devices.completed($0) }
    }

    package func addresses() throws(SystemError) -> [AddressFact] {
        var addresses: [AddressFact] = []
        try dump("the addresses", RouteMessageType.getAddress) { request in
            request.putFixedPart(ifaddrmsg.self) { _ in }
        } restart: {
            addresses = []
        } body: { fact in
            if case .address(let address) = fact { addresses.append(address) }
        }
        return addresses
    }

    /// The default routes of the main table.
    package func defaultRoutes() throws(SystemError) -> [DefaultRouteFact] {
        var all: [DefaultRouteFact] = []
        for family in [AddressFamily.ipv4, AddressFamily.ipv6] {
            var routes: [DefaultRouteFact] = []
            try dump("the routes", RouteMessageType.getRoute) { request in
                request.putFixedPart(rtmsg.self) { $0.rtm_family = family }
                request.put(RouteAttribute.table, RouteTable.main)
            } restart: {
                routes = []
            } body: { fact in
                if case .defaultRoute(let hops) = fact { routes += hops }
            }
            all += routes
        }
        return all
    }

    /// How a packet to this address would go: by the kernel's choice, or out of one interface.
    ///
    /// With FIB_MATCH the answer is the table's entry. Without it the kernel takes an address for on-link on
    /// an interface that has no route at all, and a connection there needs 3 s to fail.
    package func route(
        to address: IPAddress, through interface: InterfaceIndex?
    ) throws(SystemError) -> RouteAnswer {
        sequence &+= 1
        let request = NetlinkRequest(type: RouteMessageType.getRoute, flags: 0, sequence: sequence)
        request.putFixedPart(rtmsg.self) {
            $0.rtm_family = address.family == .ipv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
            $0.rtm_dst_len = address.family == .ipv4 ? 32 : 128
            $0.rtm_flags = RouteFlags.fibMatch
        }
        request.put(RouteAttribute.destination, address.networkBytes)
        if let interface { request.put(RouteAttribute.outputInterface, interface) }
        try socket.send(request)
        var answer: RouteAnswer?
        while answer == nil {
            guard let datagram = try socket.receive(into: buffer) else { continue }
            _ = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                guard message.sequence == sequence else { return }
                answer = Self.answer(in: message, through: interface)
            }
        }
        return answer ?? .unreachable("no answer")
    }

    /// Asks where packets to the Internet would go: by themselves, and out of each of these interfaces.
    package func internetReach(through interfaces: [InterfaceIndex]) throws(SystemError) -> InternetReach {
        var reach = InternetReach()
        for (family, probes) in Self.probes {
            for probe in probes {
                if case .via(let index, _) = try route(to: probe, through: nil), reach.chosen[family] == nil {
                    reach.chosen[family] = index
                }
                for interface in interfaces {
                    if case .via(interface, _) = try route(to: probe, through: interface) {
                        reach.interfaces[family, default: []].insert(interface)
                    }
                }
            }
        }
        return reach
    }

    /// Addresses anywhere on the Internet, to ask the routing tables about; nothing is sent to them. VPNs that
    /// leave the default route alone cover each half of the IPv4 space by a route of its own.
    private static let probes: [(IPAddress.Family, [IPAddress])] = [
        (.ipv4, [IPAddress(ipv4: 0x0800_0001), IPAddress(ipv4: 0xC800_0001)]),
        (.ipv6, [IPAddress(ipv6: 0x2600_0000_0000_0000, 1)]),
    ]

    private static func answer(in message: NetlinkMessage, through interface: InterfaceIndex?) -> RouteAnswer
    {
        if message.type == RouteMessageType.error {
            let error = NetlinkAnswer.error(in: message)
            return .unreachable(SystemError.words(error?.errno ?? EPROTO))
        }
        let payload = message.payload
        guard message.type == RouteMessageType.newRoute, let length = payload.number(UInt8.self, at: 1),
            let type = payload.number(UInt8.self, at: 7)
        else { return .unreachable("an answer that can't be read") }
        var fields = RouteFields(family: .ipv4, table: 0)
        _ = fields.read(NetlinkAttributes(payload, after: MemoryLayout<rtmsg>.size))
        // A multipath route is answered whole, whichever of its ways was asked about.
        let ways = fields.interface.map { [$0] } ?? fields.hops.map(\.interface)
        guard let index = ways.first(where: { $0 == interface }) ?? ways.first else {
            return .unreachable(SystemError.words(ENETUNREACH))
        }
        switch type {
        case RouteType.unicast: return .via(index, prefixLength: length)
        case RouteType.local: return .local(index)
        default: return .unreachable(SystemError.words(ENETUNREACH))
        }
    }

    /// Dumps one table, again from the start where a change interrupted it.
    private func dump(
        _ what: StaticString, _ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void,
        restart: () -> Void, body: (RouteDecoder.Fact) -> Void
    ) throws(SystemError) {
        // An interrupted dump may lack entries. On a machine where every dump is interrupted the last one is
        // taken: what changed meanwhile has been announced, and leads here again.
        for _ in 0..<Self.dumpAttempts {
            restart()
            sequence &+= 1
            let request = NetlinkRequest(type: type, flags: MessageFlags.dump, sequence: sequence)
            fill(request)
            try socket.send(request)
            if try !receiveDump(what, body) { return }
            interrupted += 1
        }
    }

    private static let dumpAttempts = 10

    /// Reads to the dump's end, even of one that was interrupted: what stays in the queue would answer the
    /// next request with EBUSY.
    /// - Returns: whether it was interrupted.
    private func receiveDump(
        _ what: StaticString, _ body: (RouteDecoder.Fact) -> Void
    ) throws(SystemError) -> Bool {
        var wasInterrupted = false
        var isDone = false
        var failure: SystemError?
        while !isDone {
            guard let datagram = try socket.receive(into: buffer) else { continue }
            _ = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                guard message.sequence == sequence else { return }
                if message.flags & MessageFlags.dumpInterrupted != 0 { wasInterrupted = true }
                switch message.type {
                case RouteMessageType.done:
                    isDone = true
                    // A dump's own error stands in DONE.
                    if let code = message.payload.number(Int32.self), code < 0, code != .min {
                        failure = SystemError("read \(what)", errno: -code)
                    }
                case RouteMessageType.error:
                    isDone = true
                    let error = NetlinkAnswer.error(in: message)
                    failure = SystemError(
                        "read \(what)", errno: error?.errno ?? EPROTO, detail: error?.detail)
                default:
                    if let fact = decoder.fact(in: message) { body(fact) }
                }
            }
        }
        // A table that nothing was ever put into does not exist, and is empty.
        if let failure, failure.errno != ENOENT { throw failure }
        return wasInterrupted
    }
}
