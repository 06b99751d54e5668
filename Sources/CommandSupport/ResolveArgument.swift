import Multipath

/// Addresses that a user knows of a name, as curl's `--resolve` takes them: `HOST:PORT:ADDRESS[,ADDRESS]…`.
/// IPv6 addresses may stand in brackets.
public struct ResolveArgument: Sendable, Hashable {
    public var host: String
    public var port: UInt16
    public var addresses: [IPAddress]

    /// What is wrong with a text.
    public struct Malformed: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    public init(parsing text: String) throws(Malformed) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty else {
            throw Malformed(description: "'\(text)' is not of the form HOST:PORT:ADDRESS")
        }
        guard IPAddress(String(parts[0])) == nil, !parts[0].hasPrefix("[") else {
            throw Malformed(description: "'\(parts[0])' is an address already; --resolve is for names")
        }
        guard let port = UInt16(parts[1]), port > 0, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            throw Malformed(description: "'\(parts[1])' in '\(text)' is no port")
        }
        (host, self.port, addresses) = (String(parts[0]), port, [])
        for word in parts[2].split(separator: ",", omittingEmptySubsequences: false) {
            let isBracketed = word.hasPrefix("[") && word.hasSuffix("]") && word.contains(":")
            guard let address = IPAddress(String(isBracketed ? word.dropFirst().dropLast() : word)) else {
                throw Malformed(description: "'\(word)' in '\(text)' is no address")
            }
            addresses.append(address)
        }
    }

    /// A resolver that answers a destination by these, and all else by another one.
    public static func resolver(
        _ arguments: [ResolveArgument], for destination: HostPort, otherwise other: any Resolver
    ) -> any Resolver {
        var table: [String: [IPAddress]] = [:]
        for argument in arguments where argument.port == destination.port {
            table[argument.host.lowercased(), default: []] += argument.addresses
        }
        return table.isEmpty ? other : StaticResolver(table, otherwise: other)
    }
}
