// How the values of a recording become bytes: numbers little-endian, lists and texts behind their count (u32),
// what may be missing behind a byte that says whether it is there.

/// Writes values.
package struct RecordingWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func put<Number: FixedWidthInteger & UnsignedInteger>(_ value: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    package mutating func put(_ value: Bool) { put(UInt8(value ? 1 : 0)) }

    package mutating func put(_ value: String) { put(Array(value.utf8)) }

    package mutating func put(_ value: [UInt8]) {
        put(UInt32(value.count))
        bytes += value
    }

    package mutating func put(_ value: IPAddress) {
        put(value.networkBytes)
        put(value.zone)
    }

    package mutating func put<Value>(_ value: Value?, _ write: (inout Self, Value) -> Void) {
        put(value != nil)
        if let value { write(&self, value) }
    }

    package mutating func put<Value>(_ values: [Value], _ write: (inout Self, Value) -> Void) {
        put(UInt32(values.count))
        for value in values { write(&self, value) }
    }

    /// In the order of the keys, so that equal dictionaries give equal bytes.
    package mutating func put<Key: Comparable, Value>(
        _ values: [Key: Value], _ write: (inout Self, Key, Value) -> Void
    ) {
        put(values.sorted { $0.key < $1.key }) { write(&$0, $1.key, $1.value) }
    }
}

/// Reads them back. What is cut or makes no sense is an error with its place, never a trap.
package struct RecordingReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0
    /// Where the bytes stand in the file.
    private let start: Int

    package init(_ bytes: [UInt8], at start: Int = 0) {
        self.bytes = bytes
        self.start = start
    }

    package init(_ record: PathRecord) { self.init(record.payload, at: record.offset) }

    package func failure(_ reason: String) -> RecordingError {
        RecordingError(offset: start + position, reason)
    }

    private mutating func next(_ count: Int) throws(RecordingError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw failure("a value is cut") }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    package mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
        _ type: Number.Type = Number.self
    ) throws(RecordingError) -> Number {
        try next(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    package mutating func flag() throws(RecordingError) -> Bool { try number(UInt8.self) != 0 }

    package mutating func block() throws(RecordingError) -> [UInt8] {
        Array(try next(Int(try number(UInt32.self))))
    }

    package mutating func text() throws(RecordingError) -> String {
        String(decoding: try block(), as: UTF8.self)
    }

    package mutating func address() throws(RecordingError) -> IPAddress {
        let bytes = try block()
        let zone = try number(UInt32.self)
        guard let address = IPAddress(networkBytes: bytes, zone: zone) else {
            throw failure("\(bytes.count) bytes are no address")
        }
        return address
    }

    package mutating func optional<Value>(
        _ read: (inout Self) throws(RecordingError) -> Value
    ) throws(RecordingError) -> Value? {
        try flag() ? try read(&self) : nil
    }

    package mutating func list<Value>(
        _ read: (inout Self) throws(RecordingError) -> Value
    ) throws(RecordingError) -> [Value] {
        // No element takes less than a byte, so a count beyond that is wrong, and reserves nothing.
        let count = Int(try number(UInt32.self))
        guard count <= bytes.count - position else { throw failure("a list is cut") }
        var values: [Value] = []
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }

    package mutating func dictionary<Key: Hashable, Value>(
        _ read: (inout Self) throws(RecordingError) -> (Key, Value)
    ) throws(RecordingError) -> [Key: Value] {
        Dictionary(try list(read)) { _, last in last }
    }

    /// Whether nothing is left: what a later version of the format adds to a record may be missing.
    package var isAtEnd: Bool { position == bytes.count }

    /// - Throws: where something is left: the writer meant more.
    package func end() throws(RecordingError) {
        if position < bytes.count { throw failure("\(bytes.count - position) bytes too many") }
    }
}
