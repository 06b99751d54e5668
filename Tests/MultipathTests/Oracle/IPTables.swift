import Foundation
import PathCore
import TestSupport
import Testing

/// What `ip -j` says of a network namespace.
struct IPTables {
    struct Link: Decodable {
        struct Address: Decodable {
            var local: String?
            var prefixlen: Int
            var scope: String
            var tentative: Bool?
            var optimistic: Bool?
            var dadfailed: Bool?
            var family: String

            var isAssigned: Bool { dadfailed != true && (tentative != true || optimistic == true) }
        }

        var ifindex: UInt32
        var ifname: String
        var flags: [String]
        var addresses: [Address]

        enum CodingKeys: String, CodingKey {
            case ifindex, ifname, flags
            case addresses = "addr_info"
        }

        /// A link that goes while it is listed is printed as an object with nothing in it.
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            ifindex = try container.decodeIfPresent(UInt32.self, forKey: .ifindex) ?? 0
            ifname = try container.decodeIfPresent(String.self, forKey: .ifname) ?? ""
            flags = try container.decodeIfPresent([String].self, forKey: .flags) ?? []
            addresses = try container.decodeIfPresent([Address].self, forKey: .addresses) ?? []
        }
    }

    /// A route, a way of a multipath route, or a nexthop object.
    struct Route: Decodable {
        struct Via: Decodable { var host: String }
        struct Member: Decodable { var id: UInt32 }

        var type: String?
        var dst: String?
        var dev: String?
        var gateway: String?
        var via: Via?
        var metric: UInt32?
        var pref: String?
        var table: String?
        var flags: [String]?
        var nexthops: [Route]?
        var nhid: UInt32?
        var id: UInt32?
        var group: [Member]?

        var isDead: Bool { flags?.contains("dead") == true }
        var router: String? { gateway ?? via?.host }
        var prefixLength: Int {
            dst == "default"
                ? 0 : dst.flatMap { $0.split(separator: "/").dropFirst().first }.flatMap { Int($0) } ?? 128
        }
    }

    struct Rule: Decodable {
        var priority: Int
        var src: String
        var dst: String?
        var dstlen: Int?
        var oif: String?
        var table: String?
        var action: String?
        var suppressedLength: Int?

        enum CodingKeys: String, CodingKey {
            case priority, src, dst, dstlen, oif, table, action
            case suppressedLength = "suppress_prefixlen"
        }
    }

    var links: [Link]
    var routes: [IPAddress.Family: [Route]]
    var rules: [IPAddress.Family: [Rule]]
    var nexthops: [Route]

    static func read() async throws -> IPTables {
        let result = try await Program.run([
            "bash", "-c",
            """
            show() { "$@" || echo '[]'; printf '\\n--\\n'; }
            show ip -j address; show ip -j nexthop
            show ip -j -4 route show table all; show ip -j -6 route show table all
            show ip -j -4 rule; show ip -j -6 rule
            """,
        ])
        let parts = result.outputText.components(separatedBy: "\n--\n")
        func list<Element: Decodable>(_ number: Int) throws -> [Element] {
            let text = parts[number].trimmingCharacters(in: .whitespacesAndNewlines)
            return text.isEmpty ? [] : try JSONDecoder().decode([Element].self, from: Data(text.utf8))
        }
        return IPTables(
            links: try list(0).filter { ($0 as Link).ifindex != 0 },
            routes: [.ipv4: try list(2), .ipv6: try list(3)],
            rules: [.ipv4: try list(4), .ipv6: try list(5)],
            nexthops: try list(1))
    }
}
