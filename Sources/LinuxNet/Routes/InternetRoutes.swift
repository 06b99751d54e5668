// Which interfaces lead to the Internet, through which routers, and with which metric; at a cost that does
// not grow with the routes a machine has. The kernel is asked how a packet would go, once or twice for each
// interface. Routers and metrics are those of the default routes of the main table, which can't be asked for
// alone: a dump is filtered by table, protocol, type and interface, never by destination, and to walk past
// 500,000 routes costs 27 ms for IPv4 and 80 ms for IPv6. So a dump is read only as far as it is useful.

import CLinux
import Glibc
import PathCore

/// What the routing tables say about the Internet.
package struct InternetRoutes: Sendable, Hashable {
    /// The default routes of the main table.
    package var defaults: [DefaultRouteFact] = []
    package var reach = InternetReach()
}

extension RouteTables {
    /// Asks where packets to the Internet would go, by themselves and out of each of these interfaces, and
    /// reads the default routes.
    package func internetRoutes(
        through interfaces: [IPAddress.Family: [InterfaceIndex]]
    ) throws(SystemError) -> InternetRoutes {
        var routes = InternetRoutes()
        var nexthops = Nexthops()
        for family in IPAddress.Family.allCases {
            let (dumped, isWhole) = try defaultRoutes(family, &nexthops)
            var matched: [DefaultRouteFact] = []
            var chosen: [InterfaceIndex] = []
            var leading = interfaces[family] ?? []
            for probe in Self.probes(family) {
                let subjects: [InterfaceIndex?] = [nil] + leading
                leading = []
                for (interface, entry) in zip(subjects, try lookUp(probe, subjects, &nexthops)) {
                    guard case .via(let index, _) = entry.answer else { continue }
                    matched += entry.defaults
                    if interface == nil { chosen.append(index) }
                    if interface == index { leading.append(index) }
                }
            }
            if !leading.isEmpty { routes.reach.interfaces[family] = Set(leading) }
            // Where a route to some part of the Internet takes one of the probes, the others' way counts.
            routes.reach.chosen[family] =
                Set(chosen).count == 1 ? chosen[0] : chosen.first(where: leading.contains) ?? chosen.first
            routes.defaults += dumped
            // What a dump that was left early did not come to; of several routers of one interface only
            // those in use.
            if !isWhole {
                for fact in matched where !routes.defaults.contains(fact) { routes.defaults.append(fact) }
            }
        }
        return routes
    }

    /// How a packet to this address would go: by the kernel's choice, or out of one interface.
    package func route(
        to address: IPAddress, through interface: InterfaceIndex?
    ) throws(SystemError) -> RouteAnswer {
        var nexthops = Nexthops()
        let answer = try netlink.ask("read a route", RouteMessageType.getRoute) {
            Self.fill($0, address, interface)
        } body: {
            fields(in: $0)
        }
        guard let route = answer.route else { return .unreachable(SystemError.words(answer.failure)) }
        return self.answer(of: route, interface, try ways(of: route, &nexthops))
            ?? .unreachable(SystemError.words(ENETUNREACH))
    }

    /// Addresses anywhere on the Internet, to ask the routing tables about; nothing is sent to them. VPNs that
    /// leave the default route alone cover each half of the IPv4 space by a route of its own. An interface
    /// leads to the Internet if all of these go there: one alone may have a route of its own, to an office say.
    private static func probes(_ family: IPAddress.Family) -> [IPAddress] {
        switch family {
        case .ipv4: [IPAddress(ipv4: 0x0800_0001), IPAddress(ipv4: 0xC800_0001)]
        case .ipv6: [IPAddress(ipv6: 0x2600_0000_0000_0000, 1), IPAddress(ipv6: 0x2A00_0000_0000_0000, 1)]
        }
    }

    private struct Entry {
        /// Nil where there is no way; the kernel's words for that cost more than to ask for it.
        var answer: RouteAnswer?
        var failure = ENETUNREACH
        /// The ways of the entry, where it is a default route of the main table.
        var defaults: [DefaultRouteFact] = []
    }

    /// How a packet to an address would go, out of each of these interfaces.
    ///
    /// With FIB_MATCH the answer is the table's entry. Without it the kernel takes an address for on-link on
    /// an interface that has no route at all, and a connection there needs 3 s to fail.
    private func lookUp(
        _ address: IPAddress, _ interfaces: [InterfaceIndex?], _ nexthops: inout Nexthops
    ) throws(SystemError) -> [Entry] {
        var answers: [(route: RouteFields?, failure: CInt)] = []
        answers.reserveCapacity(interfaces.count)
        try netlink.ask("read a route", RouteMessageType.getRoute, about: interfaces) { interface, request in
            Self.fill(request, address, interface)
        } body: { _, answer in
            answers.append(fields(in: answer))
        }
        var entries: [Entry] = []
        entries.reserveCapacity(answers.count)
        for (interface, answer) in zip(interfaces, answers) {
            entries.append(try entry(answer.route, interface, &nexthops) ?? Entry(failure: answer.failure))
        }
        return entries
    }

    private static func fill(
        _ request: borrowing NetlinkRequest, _ destination: IPAddress, _ interface: InterfaceIndex?
    ) {
        let family = destination.family
        request.putFixedPart(rtmsg.self) {
            $0.rtm_family = family == .ipv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
            $0.rtm_dst_len = family == .ipv4 ? 32 : 128
            // IPv6 tells the table unasked, and a strict kernel does not take this flag for it.
            $0.rtm_flags = RouteFlags.fibMatch | (family == .ipv4 ? RouteFlags.lookupTable : 0)
        }
        request.put(RouteAttribute.destination, destination)
        if let interface { request.put(RouteAttribute.outputInterface, interface) }
    }

    /// What an answer says, or why there is no route.
    private func fields(in answer: NetlinkAnswer) -> (route: RouteFields?, failure: CInt) {
        switch answer {
        case .data(let message): (decoder.route(in: message), EPROTO)
        case .refusal(let refusal): (nil, refusal.errno)
        case .end: (nil, EPROTO)
        }
    }

    private func entry(
        _ route: RouteFields?, _ interface: InterfaceIndex?, _ nexthops: inout Nexthops
    ) throws(SystemError) -> Entry? {
        guard let route else { return nil }
        let ways = try ways(of: route, &nexthops)
        let answer = self.answer(of: route, interface, ways)
        guard case .via = answer else { return Entry(answer: answer) }
        return Entry(answer: answer, defaults: route.isDefaultOfMain ? route.hops(by: ways) : [])
    }

    /// - Returns: nil where there is no way.
    private func answer(
        of route: RouteFields, _ interface: InterfaceIndex?, _ ways: [RouteWay]
    ) -> RouteAnswer? {
        if route.type == RouteType.local, let index = route.interface { return .local(index) }
        // A multipath route is answered whole, whichever of its ways was asked about.
        guard let way = ways.first(where: { $0.interface == interface }) ?? ways.first else { return nil }
        return .via(way.interface, prefixLength: route.length)
    }

    /// The default routes of a family in the main table.
    /// - Returns: them, and whether these are all that there are.
    private func defaultRoutes(
        _ family: IPAddress.Family, _ nexthops: inout Nexthops
    ) throws(SystemError) -> ([DefaultRouteFact], isWhole: Bool) {
        var routes: [RouteFields] = []
        var isWhole = true
        var count = 0
        try dump("read the routes", RouteMessageType.getRoute) { request in
            request.putFixedPart(rtmsg.self) {
                $0.rtm_family = family == .ipv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
            }
            request.put(RouteAttribute.table, RouteTable.main)
        } restart: {
            (routes, isWhole, count) = ([], true, 0)
        } body: { message in
            count += 1
            // Most of a large table is told apart by its length alone.
            if family == .ipv4 || RouteFields.length(in: message) == 0,
                let route = decoder.route(in: message)
            {
                if route.isDefaultOfMain {
                    routes.append(route)
                } else if family == .ipv4, route.table == RouteTable.main, !route.beginsAtZero {
                    // IPv4's come in the order of their destinations, the default routes among the first.
                    // Were that to change, the kernel's answers about each interface would still be there.
                    isWhole = false
                    return .enough
                }
            }
            // IPv6's default routes come last.
            isWhole = count < Self.dumpLimit
            return isWhole ? .goOn : .enough
        }
        var facts: [DefaultRouteFact] = []
        for route in routes { facts += route.hops(by: try ways(of: route, &nexthops)) }
        return (facts, isWhole)
    }

    /// How many routes are read in search of default routes: 2 ms' worth.
    private static let dumpLimit = 4_096
}
