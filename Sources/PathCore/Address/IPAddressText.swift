// Text forms: dotted decimal for IPv4, RFC 4291 section 2.2 read and RFC 5952 written for IPv6. They are
// here, and not left to inet_ntop, because PathCore's descriptions must not need a syscall module.

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Reads an address as `inet_pton` does: no leading zeros, no shortened IPv4, brackets or zone names.
    /// A numeric zone (`fe80::1%2`) is kept for a link-local address and refused for any other.
    public init?(_ text: String) {
        let percent = text.utf8.firstIndex(of: UInt8(ascii: "%"))
        let number = text[..<(percent ?? text.endIndex)]
        guard let address = Self.readIPv4(number) ?? Self.readIPv6(number) else { return nil }
        guard let percent else {
            self = address
            return
        }
        let digits = text[text.utf8.index(after: percent)...]
        guard address.family == .ipv6, address.isLinkLocal, digits.utf8.allSatisfy(\.isDigit),
            let zone = UInt32(digits)
        else { return nil }
        self = address.inZone(zone)
    }

    public var description: String {
        switch family {
        case .ipv4: networkBytes.map(String.init).joined(separator: ".")
        case .ipv6: ipv6Description + (zone == 0 ? "" : "%\(zone)")
        }
    }

    private var ipv6Description: String {
        if high == 0, low >> 32 == 0xFFFF { return "::ffff:\(unmapped)" }
        let groups = networkBytes.chunked(by: 2).map { UInt16($0[0]) << 8 | UInt16($0[1]) }
        // RFC 5952 section 4.2: the longest run of two zero groups or more, the first of equals.
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(1, longest.count) { longest = start..<end }
            start = end + 1
        }
        func hex(_ slice: ArraySlice<UInt16>) -> String {
            slice.map { String($0, radix: 16) }.joined(separator: ":")
        }
        return longest.isEmpty
            ? hex(groups[...])
            : hex(groups[..<longest.lowerBound]) + "::" + hex(groups[longest.upperBound...])
    }

    private static func readIPv4(_ text: Substring) -> IPAddress? {
        var bits: UInt32 = 0
        var field: (value: UInt32, digits: Int) = (0, 0)
        var dots = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: ".") {
                guard field.digits > 0, dots < 3 else { return nil }
                bits = bits << 8 | field.value
                field = (0, 0)
                dots += 1
            } else {
                // No leading zero: some read those as octal.
                guard byte.isDigit, field.digits == 0 || field.value > 0 else { return nil }
                field = (field.value * 10 + UInt32(byte - 0x30), field.digits + 1)
                guard field.value <= 255 else { return nil }
            }
        }
        guard dots == 3, field.digits > 0 else { return nil }
        return IPAddress(ipv4: bits << 8 | field.value)
    }

    private static func readIPv6(_ text: Substring) -> IPAddress? {
        // Most of what is asked about is a name.
        guard text.utf8.contains(UInt8(ascii: ":")) else { return nil }
        // "::" may stand once; what is on either side of it is read alone.
        guard let gap = text.firstDoubleColon else {
            return readGroups(text).flatMap { $0.count == 8 ? address($0) : nil }
        }
        let before = text[..<gap.lowerBound]
        let after = text[gap.upperBound...]
        guard after.firstDoubleColon == nil, !after.hasPrefix(":"),
            let head = before.isEmpty ? [] : readGroups(before), !before.contains("."),
            let tail = after.isEmpty ? [] : readGroups(after), head.count + tail.count < 8
        else { return nil }
        return address(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private static func readGroups(_ text: Substring) -> [UInt16]? {
        var groups: [UInt16] = []
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        for (position, field) in fields.enumerated() {
            if field.contains(".") {
                guard position == fields.count - 1, let tail = readIPv4(field) else { return nil }
                groups += [UInt16(truncatingIfNeeded: tail.low >> 16), UInt16(truncatingIfNeeded: tail.low)]
            } else {
                guard (1...4).contains(field.utf8.count), field.utf8.allSatisfy(\.isHexDigit),
                    let group = UInt16(field, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    private static func address(_ groups: [UInt16]) -> IPAddress {
        let words = groups.chunked(by: 4).map { $0.reduce(UInt64(0)) { $0 << 16 | UInt64($1) } }
        return IPAddress(ipv6: words[0], words[1])
    }
}

extension Array {
    fileprivate func chunked(by size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

extension Substring {
    fileprivate var firstDoubleColon: Range<Index>? {
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            if self[index] == ":", next < endIndex, self[next] == ":" {
                return index..<self.index(after: next)
            }
            index = next
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }

    fileprivate var isHexDigit: Bool {
        isDigit || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}
