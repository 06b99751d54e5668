// The state that systemd-networkd keeps of each DHCPv4 lease, in /run/systemd/netif/leases/IFINDEX. Its
// versions so far write lines of KEY=VALUE; the ones to come write JSON (src/libsystemd-network/
// sd-dhcp-lease.c, dhcp_lease_save). It calls the file private: all that is missing is left open.

extension LeaseHint {
    /// - Returns: nil for a text that is no lease: one without an address.
    package init?(networkdLease text: String) {
        let isJSON = text.utf8.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
        guard let hint = isJSON ? Self.readJSON(text) : Self.readLines(text) else { return nil }
        self = hint
    }

    private static func readLines(_ text: String) -> LeaseHint? {
        var values: [Substring: Substring] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].hasPrefix("#") { values[parts[0]] = parts[1] }
        }
        guard let address = values["ADDRESS"].flatMap({ IPAddress(String($0)) }) else { return nil }
        return LeaseHint(
            isAndroidMetered: isAndroidMetered(values["VENDOR_SPECIFIC"]),
            nameServers: (values["DNS"] ?? "").split(separator: " ").compactMap { IPAddress(String($0)) },
            address: address)
    }

    /// Addresses stand as arrays of bytes, the list of name servers as one of those.
    private static func readJSON(_ text: String) -> LeaseHint? {
        guard let lease = SmallJSON(text), let bytes = lease["Address"]?.bytes,
            let address = IPAddress(networkBytes: bytes)
        else { return nil }
        let servers = lease["Servers"]?["DNS"]?.elements ?? []
        return LeaseHint(
            isAndroidMetered: isAndroidMetered(lease["Vendor_Specific"]?.string.map { $0[...] }),
            nameServers: servers.compactMap { $0.bytes.flatMap { IPAddress(networkBytes: $0) } },
            address: address)
    }

    /// Whether option 43 (RFC 2132 section 8.4), as hexadecimal digits, holds the word by which Android's
    /// tethering tells its clients that each byte is paid for.
    private static func isAndroidMetered(_ hex: Substring?) -> Bool {
        guard let hex else { return false }
        let word = "ANDROID_METERED".utf8.map { String($0, radix: 16) }.joined()
        // A match at an odd digit is half of one byte and half of the next.
        let digits = Array(hex.lowercased().utf8)
        let wanted = Array(word.utf8)
        return stride(from: 0, through: max(digits.count - wanted.count, -1), by: 2).contains {
            digits[$0...].starts(with: wanted)
        }
    }
}
