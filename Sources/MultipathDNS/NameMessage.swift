import CAres
import PathCore

/// DNS messages (RFC 1035 section 4) that travel by other means than c-ares' own sockets. Their format is c-ares' business.
enum NameMessage {
    /// What is asked for, by its number (RFC 1035 section 3.2.2).
    enum RecordType: UInt16, Sendable, Hashable {
        case ipv4 = 1
        case ipv6 = 28
        /// RFC 9460.
        case services = 65
    }

    /// What the server says of the question (RFC 1035 section 4.1.1).
    enum ResponseCode: Sendable, Hashable {
        case answered
        /// NXDOMAIN.
        case noSuchName
        /// Every other code: SERVFAIL, REFUSED …
        case failed(UInt8)
    }

    /// At most so many addresses of an answer are read.
    private static let mostAddresses = 64
    private static let headerSize = 12

    /// A question, with the number 0: so equal questions are equal messages, and caches know them again (RFC 8484 section 4.1).
    ///
    /// - Returns: nil for what is no name.
    static func question(about host: String, _ type: RecordType) -> [UInt8]? {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count: CInt = 0
        // What is recursed for is what is wanted; no datagram limits the answer.
        let status = ares_create_query(
            host, ServiceMessage.internetClass, CInt(type.rawValue), 0, 1, &bytes, &count, 0)
        guard status == ARES_SUCCESS, let bytes else { return nil }
        defer { ares_free_string(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Reads an answer's header.
    ///
    /// - Parameter question: what was asked.
    /// - Returns: nil for what is no answer to it: its number, its question, its bits are others, or it is cut off.
    static func responseCode(of message: [UInt8], to question: [UInt8]) -> ResponseCode? {
        // The question stands behind the header, in both as it was asked, but for capitals.
        let asked = question[headerSize...]
        guard message.count >= question.count, question.count > headerSize, message[0] == 0, message[1] == 0,
            message[2] & 0x80 != 0, message[2] & 0x7A == 0, message[4] == 0, message[5] == 1,
            zip(asked, message[headerSize...]).allSatisfy({ lowercased($0) == lowercased($1) })
        else { return nil }
        return switch message[3] & 0x0F {
        case 0: .answered
        case 3: .noSuchName
        case let code: .failed(code)
        }
    }

    /// A length of a label (63 at most) is no capital letter, except where it says 65 to 90, which it can't.
    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    /// The addresses of an answer, aliases followed.
    ///
    /// - Returns: nil for a message that is malformed. The time to live is the shortest, in seconds.
    static func addresses(
        in message: [UInt8], _ family: IPAddress.Family
    ) -> (addresses: [IPAddress], timeToLive: UInt32?)? {
        var count = CInt(mostAddresses)
        var times: [CInt] = []
        var addresses: [IPAddress] = []
        let status: CInt
        switch family {
        case .ipv4:
            var found = [ares_addrttl](repeating: ares_addrttl(), count: mostAddresses)
            status = ares_parse_a_reply(message, CInt(message.count), nil, &found, &count)
            if status == ARES_SUCCESS {
                for entry in found.prefix(Int(count)) {
                    withUnsafeBytes(of: entry.ipaddr) { bytes in
                        if let address = IPAddress(networkBytes: bytes) { addresses.append(address) }
                    }
                    times.append(entry.ttl)
                }
            }
        case .ipv6:
            var found = [ares_addr6ttl](repeating: ares_addr6ttl(), count: mostAddresses)
            status = ares_parse_aaaa_reply(message, CInt(message.count), nil, &found, &count)
            if status == ARES_SUCCESS {
                for entry in found.prefix(Int(count)) {
                    withUnsafeBytes(of: entry.ip6addr) { bytes in
                        if let address = IPAddress(networkBytes: bytes) { addresses.append(address) }
                    }
                    times.append(entry.ttl)
                }
            }
        }
        switch status {
        // A number that is negative as 32 bits stands for 0 (RFC 2181 section 8).
        case ARES_SUCCESS: return (addresses, times.min().map { UInt32(max($0, 0)) })
        case ARES_ENODATA: return ([], nil)
        default: return nil
        }
    }
}
