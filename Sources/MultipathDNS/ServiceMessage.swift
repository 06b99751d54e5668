import CAres
import PathCore

/// Reads the HTTPS records (RFC 9460) out of a DNS message (RFC 1035 section 4.1). c-ares has no parser for them before
/// 1.28; what it does have expands the names, compressed ones too, and knows loops when it sees them.
enum ServiceMessage {
    static let internetClass: CInt = 1
    static let httpsType: CInt = 65
    private static let aliasType: UInt16 = 5
    private static let headerSize = 12
    /// At most so many records are read.
    static let mostRecords = 16
    /// What is larger, or says that it answers more, is not read at all.
    private static let mostBytes = 16_384
    private static let mostAnswers: UInt16 = 128

    /// - Returns: nil for a message that is cut short, and where any HTTPS record is malformed (RFC 9460 section 2.2): then
    ///   none of them may be used. The time to live is the shortest, in seconds; nil without a record.
    static func read(_ message: UnsafeRawBufferPointer) -> (records: [ServiceRecord], timeToLive: UInt32?)? {
        guard message.count > headerSize else { return nil }
        var place = 4
        func word() -> UInt16? {
            guard place + 2 <= message.count else { return nil }
            defer { place += 2 }
            return UInt16(message[place]) << 8 | UInt16(message[place + 1])
        }
        func long() -> UInt32? {
            guard let high = word(), let low = word() else { return nil }
            return UInt32(high) << 16 | UInt32(low)
        }
        func name() -> String? {
            guard let (name, length) = expand(place, message) else { return nil }
            place += length
            return name
        }
        // More than any honest answer has: each name may take as many steps as the message has room for.
        guard message.count <= mostBytes, let questions = word(), questions <= 1, let answers = word(),
            answers <= mostAnswers
        else { return nil }
        place = headerSize
        var owner: String?
        for _ in 0..<questions {
            guard let asked = name(), word() != nil, word() != nil else { return nil }
            owner = owner ?? asked
        }
        var found: [(owner: String, record: ServiceRecord, timeToLive: UInt32)] = []
        for _ in 0..<answers {
            guard let holder = name(), let type = word(), let kind = word(), let time = long(),
                let length = word(),
                place + Int(length) <= message.count
            else { return nil }
            let end = place + Int(length)
            if type == aliasType, holder == owner {
                guard let target = name(), place == end else { return nil }
                owner = target
            } else if type == UInt16(httpsType), kind == UInt16(internetClass), found.count < mostRecords {
                guard let priority = word(), let target = name(), place <= end,
                    let record = ServiceRecord(
                        priority: priority, target: target.isEmpty || target == holder ? "." : target,
                        parameters: message[place..<end])
                else { return nil }
                // A number that is negative as 32 bits stands for 0 (RFC 2181 section 8).
                found.append((holder, record, time > UInt32(Int32.max) ? 0 : time))
            }
            place = end
        }
        // What belongs to another name was not asked for.
        let own = found.filter { $0.owner == owner }
        return (own.map(\.record).sorted { $0.priority < $1.priority }, own.map(\.timeToLive).min())
    }

    /// The name at a place, in lower case, and how many bytes it takes there.
    private static func expand(
        _ place: Int, _ message: UnsafeRawBufferPointer
    ) -> (name: String, length: Int)? {
        guard place < message.count, let start = message.bindMemory(to: UInt8.self).baseAddress else {
            return nil
        }
        var text: UnsafeMutablePointer<CChar>?
        var length = 0
        guard ares_expand_name(start + place, start, CInt(message.count), &text, &length) == ARES_SUCCESS,
            let text
        else { return nil }
        defer { ares_free_string(text) }
        guard length > 0, place + length <= message.count else { return nil }
        return (String(cString: text).lowercased(), length)
    }
}
