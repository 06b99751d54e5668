/// Writes values as D-Bus does (the specification's "Marshaling"), little-endian.
struct BusWriter {
    private(set) var bytes: [UInt8] = []

    mutating func align(_ count: Int) { while bytes.count % count != 0 { bytes.append(0) } }

    mutating func bytes(_ values: [UInt8]) { bytes += values }

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func number(_ value: UInt32) {
        align(4)
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A string or an object path.
    mutating func string(_ text: String) {
        number(UInt32(text.utf8.count))
        bytes += Array(text.utf8) + [0]
    }

    mutating func signature(_ text: String) { bytes += [UInt8(text.utf8.count)] + Array(text.utf8) + [0] }

    mutating func variant(_ type: String, _ value: (inout BusWriter) -> Void) {
        signature(type)
        value(&self)
    }

    /// - Parameter alignment: of an element: 8 for structs and dictionary entries.
    mutating func array(alignment: Int, _ elements: (inout BusWriter) -> Void) {
        number(0)
        let count = bytes.count - 4
        align(alignment)
        let start = bytes.count
        elements(&self)
        var length = BusWriter()
        length.number(UInt32(bytes.count - start))
        bytes.replaceSubrange(count..<count + 4, with: length.bytes)
    }

    mutating func dictionary(_ entries: [(String, (inout BusWriter) -> Void)]) {
        array(alignment: 8) { writer in
            for (key, value) in entries {
                writer.align(8)
                writer.string(key)
                value(&writer)
            }
        }
    }

    /// `a{sa{sv}}`: interfaces with their properties, each a type and its value.
    typealias Properties = [(name: String, type: String, value: (inout BusWriter) -> Void)]

    mutating func interfaces(_ interfaces: [(String, Properties)]) {
        dictionary(
            interfaces.map { interface, properties in (interface, { $0.properties(properties) }) })
    }

    mutating func properties(_ properties: Properties) {
        dictionary(
            properties.map { property in (property.name, { $0.variant(property.type, property.value) }) })
    }
}

extension BusWriter {
    /// A whole message: its header, then its body.
    static func message(
        type: UInt8, serial: UInt32, fields: [(code: UInt8, type: String, value: String)], replyTo: UInt32?,
        signature: String, body: [UInt8]
    ) -> [UInt8] {
        var writer = BusWriter()
        writer.bytes = [UInt8(ascii: "l"), type, 0, 1]
        writer.number(UInt32(body.count))
        writer.number(serial)
        writer.array(alignment: 8) { writer in
            for field in fields {
                writer.align(8)
                writer.byte(field.code)
                writer.variant(field.type) { $0.string(field.value) }
            }
            if let replyTo {
                writer.align(8)
                writer.byte(5)
                writer.variant("u") { $0.number(replyTo) }
            }
            if !signature.isEmpty {
                writer.align(8)
                writer.byte(8)
                writer.variant("g") { $0.signature(signature) }
            }
        }
        writer.align(8)
        return writer.bytes + body
    }
}
