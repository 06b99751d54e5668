/// The name servers of a resolv.conf (resolv.conf(5)).
package struct ResolverText: Sendable, Hashable {
    package var nameServers: [NameServer]

    /// An address, and the name of the interface where a link-local one is meant.
    package struct NameServer: Sendable, Hashable {
        package var address: IPAddress
        package var zone: String?

        package init(_ address: IPAddress, zone: String? = nil) {
            self.address = address
            self.zone = zone
        }
    }

    package init(nameServers: [NameServer] = []) { self.nameServers = nameServers }

    /// Reads lines of `nameserver ADDRESS`, as the C library does: the word stands first on its line, a blank
    /// behind it. What can't be read is left out.
    package init(parsing text: String) {
        nameServers = []
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split { $0 == " " || $0 == "\t" }
            guard line.hasPrefix("nameserver"), words.count >= 2, words[0] == "nameserver",
                let server = NameServer(parsing: words[1]), !nameServers.contains(server)
            else { continue }
            nameServers.append(server)
            // More than any resolver asks; a file of nothing else is a mistake.
            if nameServers.count == 32 { return }
        }
    }

    /// Whether all it names is systemd-resolved on this machine, which keeps the real list elsewhere.
    package var isResolvedStub: Bool {
        !nameServers.isEmpty
            && nameServers.allSatisfy { $0.address == Self.stub || $0.address == Self.stubWithoutExtras }
    }

    /// 127.0.0.53 and .54: systemd-resolved(8).
    private static let stub = IPAddress(ipv4: 0x7F00_0035)
    private static let stubWithoutExtras = IPAddress(ipv4: 0x7F00_0036)

    /// The addresses, with the zones that these links have the names of. An address in the zone of a link
    /// that is not there is none.
    package func addresses(on links: some Sequence<LinkFact>) -> [IPAddress] {
        guard nameServers.contains(where: { $0.zone != nil }) else { return nameServers.map(\.address) }
        let indexes = Dictionary(links.map { ($0.name, $0.index) }) { $1 }
        return nameServers.compactMap { server in
            guard let zone = server.zone else { return server.address }
            return indexes[zone].map { server.address.inZone($0) }
        }
    }
}

extension ResolverText.NameServer {
    fileprivate init?(parsing text: Substring) {
        if let address = IPAddress(String(text)) {
            self.init(address)
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), address.family == .ipv6 else {
            return nil
        }
        // Any other address is the same on every link, and glibc takes no notice of its zone.
        self.init(address, zone: address.isLinkLocal ? String(parts[1]) : nil)
    }
}
