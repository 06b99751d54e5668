// The file of `mppaths record`: what the monitor was told, in the order in which it was told it.
//
//   header   8 bytes  89 4D 50 50 0D 0A 1A 01   "MPP" between bytes that a transfer as text would change, and
//                                               the format's version, 1
//   then records, each
//            u32      length of the payload
//            u32      FNV-1a of all that follows in this record
//            u64      nanoseconds since the recording began
//            u8       kind
//            payload
//
// Numbers are little-endian, except in netlink messages, which stand as the kernel gave them: in the byte
// order of the machine that made the recording. A record is written whole, so a recording may end after any.
//
// kinds     1 overrides      what the program and its environment say of interfaces
//           2 hints          what others than rtnetlink say, whole, when it changed (`InterfaceHints`)
//           3 device         what sysfs says of a link, when it was first read
//           4 notification   one netlink datagram
//           5 taken          the notifications since the last such record were applied; u8: 1 if the kernel
//                            dropped some, so that all was read again instead
//           6 links          a whole table, as netlink messages: it replaces what was known before
//           7 addresses
//           8 routes         the main table's default routes, and which interfaces lead to the Internet: what
//                            was concluded from dumps that are left early and from the kernel's answers for
//                            each interface
//           9 told           here the monitor looked at it all and told its consumers, if anything differed
//
// How changes were gathered depends on when each of them came, to the microsecond. So the moments of telling
// are recorded, and not decided again.

/// Why a recording can't be read on.
package struct RecordingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where in the file, in bytes from its start.
    package var offset: Int
    package var reason: String

    package init(offset: Int, _ reason: String) {
        self.offset = offset
        self.reason = reason
    }

    package var description: String { "byte \(offset): \(reason)" }
}

/// One record of a recording.
package struct PathRecord: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case overrides = 1
        case hints, device, notification, taken, links, addresses, routes, told
    }

    package var kind: Kind
    /// Since the recording began.
    package var time: Duration
    package var payload: [UInt8]
    /// Where the payload stands in the file.
    package var offset = 0

    package init(_ kind: Kind, at time: Duration, _ payload: [UInt8] = []) {
        self.kind = kind
        self.time = time
        self.payload = payload
    }

    /// What a recording begins with.
    package static let header: [UInt8] = [0x89, 0x4D, 0x50, 0x50, 0x0D, 0x0A, 0x1A, 0x01]

    private static let headLength = 17

    /// The record as it stands in the file.
    package var bytes: [UInt8] {
        var tail: [UInt8] = []
        tail.reserveCapacity(9 + payload.count)
        let nanoseconds = UInt64(max(0, time.wholeNanoseconds))
        for shift in stride(from: 0, to: 64, by: 8) {
            tail.append(UInt8(truncatingIfNeeded: nanoseconds >> shift))
        }
        tail.append(kind.rawValue)
        tail += payload
        var writer = RecordingWriter()
        writer.put(UInt32(payload.count))
        writer.put(Self.checksum(tail[...]))
        return writer.bytes + tail
    }

    /// The records of a file.
    package struct Reader: Sendable {
        private let bytes: [UInt8]
        private var position: Int

        /// - Throws: `RecordingError` where this is no recording, or one of another version.
        package init(_ bytes: [UInt8]) throws(RecordingError) {
            guard bytes.prefix(7).elementsEqual(header.prefix(7)), bytes.count >= header.count else {
                throw RecordingError(offset: 0, "this is no recording of mppaths")
            }
            guard bytes[7] == header[7] else {
                throw RecordingError(offset: 7, "this recording is of version \(bytes[7]), not \(header[7])")
            }
            self.bytes = bytes
            position = header.count
        }

        /// The next record; nil at the end.
        /// - Throws: where the file is cut or changed. Nothing can be read from there on.
        package mutating func next() throws(RecordingError) -> PathRecord? {
            guard position < bytes.count else { return nil }
            let start = position
            guard bytes.count - start >= headLength else {
                throw RecordingError(offset: start, "the file ends within a record")
            }
            func number(_ offset: Int, _ count: Int) -> UInt64 {
                (0..<count).reduce(0) { $0 | UInt64(bytes[start + offset + $1]) << UInt64(8 * $1) }
            }
            let length = Int(number(0, 4))
            guard length <= bytes.count - start - headLength else {
                throw RecordingError(offset: start, "the file ends within a record")
            }
            let end = start + headLength + length
            guard checksum(bytes[(start + 8)..<end]) == UInt32(number(4, 4)) else {
                throw RecordingError(offset: start, "the record's checksum does not fit its bytes")
            }
            guard let kind = Kind(rawValue: bytes[start + 16]) else {
                throw RecordingError(
                    offset: start + 16,
                    "no record is of kind \(bytes[start + 16]); a newer mppaths may know it")
            }
            position = end
            var record = PathRecord(
                kind, at: .nanoseconds(Int64(clamping: number(8, 8))),
                Array(bytes[(start + headLength)..<end]))
            record.offset = start + headLength
            return record
        }
    }

    /// FNV-1a, 32 bits: against bad media and editors, not against forgery.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBufferPointer { $0.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 } }
    }
}
