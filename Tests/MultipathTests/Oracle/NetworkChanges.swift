import TestSupport

/// Random changes of a network, as lines for `ip -batch`. Many fail, because what they are about is not there
/// or there already; the rest is enough.
struct NetworkChanges {
    var random: SplitMix64

    /// What every world begins with.
    static let beginning = (0..<6).flatMap { number in
        [
            "link add a\(number) type veth peer name b\(number)", "link set a\(number) up",
            "link set b\(number) up", "address add 192.0.2.\(number + 10)/24 dev a\(number)",
            "route add default via 192.0.2.1 dev a\(number) metric \(100 + number) onlink",
        ]
    }

    mutating func burst() -> [String] {
        // Small ones, too: in a large one another change may hide that one was missed.
        (0..<(1 + number(pick([2, 20])))).flatMap { _ in number(30) == 0 ? halves() : [change()] }
    }

    private mutating func number(_ bound: UInt64) -> Int { Int(random.next() % bound) }
    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(UInt64(elements.count))]
    }
    private mutating func link() -> String { pick(["a0", "a1", "a2", "a3", "a4", "a5", "c0", "c1"]) }
    private mutating func host() -> String {
        pick(["192.0.2.\(10 + number(12))/24", "198.51.100.\(10 + number(4))/24", "203.0.113.7/32"])
    }
    private mutating func host6() -> String { "2001:db8:\(number(3))::\(1 + number(6))/64" }
    private mutating func router() -> String { "192.0.2.\(1 + number(5))" }
    private mutating func router6() -> String {
        pick(["fe80::\(1 + number(4))", "2001:db8:0::\(9 + number(2))"])
    }
    private mutating func metric() -> Int { 100 + number(6) }
    private mutating func verb() -> String { pick(["add", "replace", "replace", "append", "del", "del"]) }
    private mutating func table() -> String { pick(["", "", "", "table 100", "table 200"]) }

    /// As a VPN covers the default route.
    private mutating func halves() -> [String] {
        let (verb, link, table) = (pick(["replace", "replace", "del"]), link(), table())
        let halves = pick([["0.0.0.0/1", "128.0.0.0/1"], ["::/1", "8000::/1"]])
        return halves.map { "route \(verb) \($0) dev \(link) metric 90 \(table)" }
    }

    private mutating func change() -> String {
        switch number(100) {
        case 0..<5: linkChange()
        case 5..<20: "link set \(pick(["a", "b"]))\(number(6)) \(pick(["up", "up", "up", "down"]))"
        case 20..<22: "link set \(pick(["a0 name c0", "c0 name a0", "a1 name c1", "c1 name a1"]))"
        case 22..<37: "address \(pick(["add", "add", "del"])) \(host()) dev \(link())"
        case 37..<47: addressChange6()
        case 47..<49: "address flush dev \(link())"
        case 49..<66: routeChange()
        case 66..<77: routeChange6()
        case 77..<82:
            "route \(pick(["replace", "append", "del"])) default metric \(metric()) nexthop via \(router()) dev \(link()) onlink nexthop via \(router()) dev \(link()) onlink"
        case 82..<91: nexthopChange()
        default: ruleChange()
        }
    }

    private mutating func linkChange() -> String {
        let number = number(6)
        return pick(["link del a\(number)", "link add a\(number) type veth peer name b\(number)"])
    }

    private mutating func addressChange6() -> String {
        let life = pick(["", "", "", " preferred_lft 0 valid_lft 3600", " preferred_lft 3600 valid_lft 3600"])
        let detection = pick([" nodad", " nodad", " nodad", ""])
        return switch number(4) {
        case 0: "address del \(host6()) dev \(link())"
        case 1: "address replace \(host6()) dev \(link())\(life)\(detection)"
        default: "address add \(host6()) dev \(link())\(life)\(detection)"
        }
    }

    private mutating func routeChange() -> String {
        let destination = pick([
            "default", "default", "default", "default", "0.0.0.0/1", "128.0.0.0/1", "8.0.0.0/8",
            "198.18.0.0/15",
        ])
        return switch number(8) {
        case 0: "route \(pick(["add", "del"])) unreachable default metric \(metric()) \(table())"
        case 1: "route \(verb()) default via inet6 fe80::\(1 + number(3)) dev \(link()) metric \(metric())"
        case 7: "route \(verb()) \(destination) dev \(link()) metric \(metric()) \(table())"
        case 2: "route flush exact 0.0.0.0/0 dev \(link())"
        case 3: "route flush \(pick(["table 100", "table 200", "root 8.0.0.0/8", "table main metric 103"]))"
        default:
            "route \(verb()) \(destination) via \(router()) dev \(link()) metric \(metric()) onlink \(table())"
        }
    }

    private mutating func routeChange6() -> String {
        let destination = pick(["::/0", "::/0", "::/0", "::/1", "2000::/3", "2600::/12"])
        let preference = pick(["", "", " pref high", " pref low"])
        return switch number(8) {
        case 0: "route \(pick(["add", "del"])) unreachable ::/0 metric \(metric()) \(table())"
        case 1: "route \(verb()) \(destination) dev \(link()) metric \(metric()) \(table())"
        default:
            "route \(verb()) \(destination) via \(router6()) dev \(link()) metric \(metric()) onlink \(table())\(preference)"
        }
    }

    private mutating func nexthopChange() -> String {
        let identifier = 1 + number(6)
        return switch number(10) {
        case 0, 1: "nexthop replace id \(identifier) via \(router()) dev \(link()) onlink"
        case 2: "nexthop replace id \(10 + identifier) via fe80::\(identifier) dev \(link()) onlink"
        case 3: "nexthop del id \(pick([identifier, 10 + identifier, 20 + identifier]))"
        case 4: "nexthop replace id \(20 + identifier) group \(identifier)/\(1 + number(6))"
        case 5: "route \(pick(["replace", "del"])) ::/0 nhid \(10 + identifier) metric \(metric())"
        default:
            "route \(pick(["replace", "append", "del"])) default nhid \(pick([identifier, 20 + identifier])) metric \(metric())"
        }
    }

    private mutating func ruleChange() -> String {
        let priority = 100 + number(8)
        return switch number(9) {
        case 0: "rule add from 192.0.2.0/24 table 100 priority \(priority)"
        case 1: "rule add to 8.0.0.0/8 table 100 priority \(priority)"
        case 2: "rule add oif \(link()) table 200 priority \(priority)"
        case 3: "rule add table main suppress_prefixlength 0 priority \(priority)"
        case 4: "rule add to 2600::/16 table 100 priority \(priority)"
        case 5: "rule add to 200.0.0.0/8 unreachable priority \(priority)"
        case 6: "rule del to 2600::/16 priority \(priority)"
        default: "rule del priority \(priority)"
        }
    }
}
