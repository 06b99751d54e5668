// What a monitor should say, worked out from `ip`'s tables alone: rules, then tables, then the longest prefix,
// as the kernel looks a route up (Documentation/networking/policy-routing.txt, ip-rule(8)). The monitor asks
// the kernel itself instead, so that the two have nothing in common but the kernel's state.

import PathCore

struct PathOracle {
    let tables: IPTables

    /// Each interface as one line, paths first and in order.
    var lines: [String] {
        let described = tables.links.map(describe)
        let paths = described.filter { $0.reason == nil }.sorted {
            ($0.metric ?? .max, $0.index) < ($1.metric ?? .max, $1.index)
        }
        let others = described.filter { $0.reason != nil }.sorted { $0.index < $1.index }
        return (paths + others).map(\.description)
    }

    /// The same lines from a monitor's snapshot.
    static func lines(of snapshot: PathSnapshot) -> [String] {
        let paths = snapshot.interfaces.map { Line($0, reason: nil) }
        let others = snapshot.excluded.map { Line($0.interface, reason: $0.reason) }
        return (paths + others.sorted { $0.index < $1.index }).map(\.description)
    }

    fileprivate struct Line: CustomStringConvertible {
        var index: UInt32
        var name: String
        var reason: ExcludedInterface.Reason?
        var families: [IPAddress.Family]
        var addresses: [String]
        var gateways: [String]
        var metric: UInt32?

        var description: String {
            "\(index) \(name): \(reason?.description ?? "path") \(families) \(addresses) via \(gateways) metric "
                + (metric.map(String.init) ?? "none")
        }
    }

    private func describe(_ link: IPTables.Link) -> Line {
        let isUp = link.flags.contains("UP")
        let hasCarrier = link.flags.contains("LOWER_UP")
        let routes = IPAddress.Family.allCases.flatMap { defaultRoutes(link.ifname, $0) }
        let families = IPAddress.Family.allCases.filter { family in
            isUp && hasCarrier && hasGlobalAddress(link, family) && leads(link, family)
        }
        let lacksAddress = IPAddress.Family.allCases.contains { family in
            !hasUsableAddress(link, family) && !defaultRoutes(link.ifname, family).isEmpty
        }
        let reason: ExcludedInterface.Reason? =
            if link.flags.contains("LOOPBACK") {
                .loopback
            } else if !isUp {
                .down
            } else if !hasCarrier {
                .noCarrier
            } else if !families.isEmpty {
                nil
            } else {
                lacksAddress ? .noAddress : .noDefaultRoute
            }
        var gateways: [String] = []
        for gateway in routes.compactMap({ $0.router.flatMap(Self.canonical) })
        where !gateways.contains(gateway) {
            gateways.append(gateway)
        }
        return Line(
            index: link.ifindex, name: link.ifname, reason: reason, families: families,
            addresses: link.addresses.filter(\.isAssigned).compactMap { address in
                address.local.flatMap(Self.canonical).map { "\($0)/\(address.prefixlen)" }
            }.sorted(), gateways: gateways, metric: routes.map { $0.metric ?? 0 }.min())
    }

    private static func canonical(_ text: String) -> String? { IPAddress(text).map { "\($0.inZone(0))" } }

    // MARK: Addresses

    private func usable(_ link: IPTables.Link, _ family: IPAddress.Family) -> [IPTables.Link.Address] {
        link.addresses.filter { address in
            address.family == (family == .ipv4 ? "inet" : "inet6")
                && !["link", "host"].contains(address.scope)
                && address.isAssigned
        }
    }

    private func hasUsableAddress(_ link: IPTables.Link, _ family: IPAddress.Family) -> Bool {
        !usable(link, family).isEmpty
    }

    private func hasGlobalAddress(_ link: IPTables.Link, _ family: IPAddress.Family) -> Bool {
        usable(link, family).contains { $0.local.flatMap(IPAddress.init)?.isLinkLocal == false }
    }

    // MARK: Default routes of the main table

    private struct DefaultRoute {
        var router: String?
        var metric: UInt32?
        var preference: Int
    }

    /// Those through an interface, as the kernel would take them.
    private func defaultRoutes(_ name: String, _ family: IPAddress.Family) -> [DefaultRoute] {
        let all = (tables.routes[family] ?? []).filter { route in
            route.dst == "default" && (route.table ?? "main") == "main"
                && ["unicast", nil].contains(route.type) && !route.isDead
        }
        let found = all.flatMap { route in
            ways(of: route).filter { $0.dev == name }.map { way in
                DefaultRoute(
                    router: way.router, metric: route.metric,
                    preference: ["high": 0, "low": 2][route.pref ?? ""] ?? 1)
            }
        }
        // A stable order: by number where the rest is equal.
        return found.enumerated().sorted {
            ($0.element.metric ?? 0, $0.element.preference, $0.offset)
                < ($1.element.metric ?? 0, $1.element.preference, $1.offset)
        }.map(\.element)
    }

    /// A route's ways that are alive.
    private func ways(of route: IPTables.Route) -> [IPTables.Route] {
        if let nexthops = route.nexthops { return nexthops.filter { !$0.isDead } }
        if let identifier = route.nhid, route.dev == nil { return ways(ofNexthop: identifier) }
        return route.isDead ? [] : [route]
    }

    private func ways(ofNexthop identifier: UInt32) -> [IPTables.Route] {
        guard let object = tables.nexthops.first(where: { $0.id == identifier }) else { return [] }
        if let group = object.group { return group.flatMap { ways(ofNexthop: $0.id) } }
        return object.dev == nil || object.isDead ? [] : [object]
    }

    // MARK: Looking up

    /// Whether packets bound to an interface go to all parts of the Internet.
    private func leads(_ link: IPTables.Link, _ family: IPAddress.Family) -> Bool {
        let probes = family == .ipv4 ? ["8.0.0.1", "200.0.0.1"] : ["2600::1", "2a00::1"]
        return probes.allSatisfy { isReachable(IPAddress($0)!, link.ifname, family) }
    }

    private func isReachable(_ address: IPAddress, _ name: String, _ family: IPAddress.Family) -> Bool {
        for rule in tables.rules[family] ?? [] where matches(rule, address, name) {
            // "unreachable", "prohibit", "blackhole".
            guard rule.action == nil else { return false }
            let table = rule.table ?? "main"
            let routes = (tables.routes[family] ?? []).filter {
                ($0.table ?? "main") == table && contains($0.dst ?? "", address)
            }
            let ordered = routes.enumerated().sorted {
                (-$0.element.prefixLength, $0.element.metric ?? 0, $0.offset)
                    < (-$1.element.prefixLength, $1.element.metric ?? 0, $1.offset)
            }.map(\.element)
            for route in ordered {
                let isReject = ["unreachable", "prohibit", "blackhole"].contains(route.type)
                // IPv6 takes such a route for one through loopback, which is not asked about.
                if isReject, family == .ipv6 { continue }
                let isThere = ways(of: route).contains { $0.dev == name }
                // A refusal is an answer, which no rule suppresses.
                if isReject { return false }
                guard isThere else { continue }
                if let limit = rule.suppressedLength, route.prefixLength <= limit { break }
                return true
            }
        }
        return false
    }

    private func matches(_ rule: IPTables.Rule, _ address: IPAddress, _ name: String) -> Bool {
        // The question names no source.
        guard rule.src == "all", rule.oif == nil || rule.oif == name else { return false }
        guard let destination = rule.dst, destination != "all" else { return true }
        return contains("\(destination)/\(rule.dstlen ?? (address.family == .ipv4 ? 32 : 128))", address)
    }

    private func contains(_ prefix: String, _ address: IPAddress) -> Bool {
        if prefix == "default" { return true }
        let parts = prefix.split(separator: "/")
        guard let network = parts.first.flatMap({ IPAddress(String($0)) }), network.family == address.family
        else { return false }
        let width = address.family == .ipv4 ? 32 : 128
        let length = parts.count > 1 ? Int(parts[1]) ?? width : width
        return zip(bits(network), bits(address)).prefix(length).allSatisfy { $0 == $1 }
    }

    private func bits(_ address: IPAddress) -> [Bool] {
        address.networkBytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } }
    }
}

extension PathOracle.Line {
    fileprivate init(_ interface: PathInterface, reason: ExcludedInterface.Reason?) {
        self.init(
            index: interface.index, name: interface.name, reason: reason,
            families: IPAddress.Family.allCases.filter(interface.supports),
            addresses: interface.addresses.map(\.description).sorted(),
            gateways: interface.gateways.map { "\($0.inZone(0))" }, metric: interface.metric)
    }
}
