import PathCore
import TestSupport

/// A kernel's tables, changed as the kernel changes them, and announced as it announces them: with nothing
/// said about the IPv4 routes that go with a link or with a last address (measured on Linux 6.18).
struct ModelKernel {
    private(set) var links: [LinkFact] = []
    private(set) var addresses: [AddressFact] = []
    private(set) var routes: [DefaultRouteFact] = []
    private var nextIndex: InterfaceIndex = 2
    private var unread: [KernelEvent] = []

    /// The notifications since the last call.
    mutating func notifications() -> [KernelEvent] {
        defer { unread = [] }
        return unread
    }

    /// The named tables, read into a reducer.
    func read(_ tables: KernelTables, into reducer: inout SnapshotReducer) {
        if tables.contains(.links) { reducer.replaceLinks(links) }
        if tables.contains(.addresses) { reducer.replaceAddresses(addresses) }
        if tables.contains(.routes) { reducer.replaceRoutes(routes) }
    }

    // MARK: What administrators, cables and radios do

    mutating func plug(_ name: String, kind: LinkFact) {
        guard !links.contains(where: { $0.name == name }) else { return }
        var link = kind
        (link.index, link.name, link.flags) = (nextIndex, name, [])
        nextIndex += 1
        links.append(link)
        unread.append(.link(link))
    }

    mutating func unplug(_ index: InterfaceIndex) {
        setFlags([], of: index)
        for address in addresses where address.interface == index { remove(address) }
        links.removeAll { $0.index == index }
        unread.append(.linkGone(index))
    }

    mutating func setFlags(_ flags: LinkFact.Flags, of index: InterfaceIndex) {
        change(index) { $0.flags = flags }
        guard !flags.contains(.up) else { return }
        routes.removeAll { $0.interface == index && $0.family == .ipv4 }
        dropIPv6Routes(of: index)
        for address in addresses where address.interface == index && address.address.family == .ipv6 {
            remove(address)
        }
    }

    mutating func rename(_ index: InterfaceIndex, to name: String) {
        guard !links.contains(where: { $0.name == name }) else { return }
        change(index) { $0.name = name }
    }

    mutating func assign(_ address: AddressFact) {
        addresses.removeAll {
            ($0.interface, $0.address, $0.prefixLength)
                == (address.interface, address.address, address.prefixLength)
        }
        addresses.append(address)
        unread.append(.address(address))
    }

    mutating func remove(_ address: AddressFact) {
        addresses.removeAll { $0 == address }
        unread.append(.addressGone(address))
        let hasAnother = addresses.contains {
            $0.interface == address.interface && $0.address.family == address.address.family
        }
        guard !hasAnother else { return }
        if address.address.family == .ipv6 { return dropIPv6Routes(of: address.interface) }
        routes.removeAll { $0.interface == address.interface && $0.family == .ipv4 }
    }

    /// Sets a default route in the place of one with the same family, metric and interface.
    mutating func route(_ route: DefaultRouteFact) {
        guard links.contains(where: { $0.index == route.interface && $0.flags.contains(.up) }) else { return }
        routes.removeAll {
            ($0.family, $0.metric, $0.interface) == (route.family, route.metric, route.interface)
        }
        routes.append(route)
        unread.append(.defaultRouteChanged)
    }

    mutating func removeRoute(_ route: DefaultRouteFact) {
        routes.removeAll { $0 == route }
        unread.append(.defaultRouteChanged)
    }

    /// The socket's buffer was full: what was not read is gone.
    mutating func loseNotifications() {
        unread = [.lost]
    }

    private mutating func change(_ index: InterfaceIndex, _ body: (inout LinkFact) -> Void) {
        guard let place = links.firstIndex(where: { $0.index == index }) else { return }
        body(&links[place])
        unread.append(.link(links[place]))
    }

    private mutating func dropIPv6Routes(of index: InterfaceIndex) {
        guard routes.contains(where: { $0.interface == index && $0.family == .ipv6 }) else { return }
        routes.removeAll { $0.interface == index && $0.family == .ipv6 }
        unread.append(.defaultRouteChanged)
    }
}

extension ModelKernel {
    /// Something that happens to a machine.
    mutating func happen(_ random: inout SplitMix64) {
        let names = ["eth0", "wlan0", "wwan0", "tun0", "eth1"]
        guard let link = links.randomElement(using: &random), !random.oneIn(12) else {
            let kinds: [LinkFact] = [.wired(), .wifi(), .cellular(), .tunnel()]
            return plug(names.randomElement(using: &random)!, kind: kinds.randomElement(using: &random)!)
        }
        let states: [LinkFact.Flags] = [[], [.up], [.up, .lowerUp], [.up, .lowerUp], [.up, .lowerUp]]
        let hosts = [
            "192.0.2.2/24", "192.0.2.2/16", "192.0.2.3/24", "2001:db8::2/64", "2001:db8::3/64",
        ]
        switch random.next() % 16 {
        case 0: unplug(link.index)
        case 1: rename(link.index, to: names.randomElement(using: &random)!)
        case 2: loseNotifications()
        case 3..<6: setFlags(states.randomElement(using: &random)!, of: link.index)
        case 6..<9:
            let flags: [AddressFact.Flags] = [[], [], .tentative, .duplicate, .deprecated]
            assign(
                .on(
                    link.index, hosts.randomElement(using: &random)!,
                    flags.randomElement(using: &random)!))
        case 9, 10: if let address = addresses.randomElement(using: &random) { remove(address) }
        case 11: if let route = routes.randomElement(using: &random) { removeRoute(route) }
        default:
            let metric = UInt32(random.next() % 3)
            route(
                random.oneIn(2)
                    ? .ipv4(link.index, via: random.oneIn(2) ? "192.0.2.1" : nil, metric: metric)
                    : .ipv6(link.index, via: random.oneIn(2) ? "2001:db8::1" : nil, metric: metric))
        }
    }
}
