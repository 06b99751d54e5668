// Reading netlink bytes. Nothing here trusts a length: libmnl says whether a message or an attribute is
// whole, and every field is read with a bounds check. What is wrong is skipped and counted, never trapped on.

import CLinux
import CMnl
import PathCore

/// One message of a datagram: its header, and the bytes behind it.
package struct NetlinkMessage {
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32
    /// What follows the header.
    let payload: UnsafeRawBufferPointer

    /// Calls `body` for each whole message of a datagram.
    /// - Returns: whether the datagram ended where a message did; false means that its tail was cut.
    static func forEach(
        in datagram: UnsafeRawBufferPointer, _ body: (NetlinkMessage) throws(SystemError) -> Void
    ) throws(SystemError) -> Bool {
        guard let base = datagram.baseAddress else { return true }
        // Signed: mnl_nlmsg_next takes an aligned length off, which may be more than is left.
        var remaining = CInt(clamping: datagram.count)
        var header = base.assumingMemoryBound(to: nlmsghdr.self)
        while mnl_nlmsg_ok(header, remaining) {
            let message = header.pointee
            // libmnl 1.0.4 compares the length as a signed number: one of 2 GiB and more passes it.
            guard message.nlmsg_len <= UInt32(remaining) else { return false }
            try body(
                NetlinkMessage(
                    type: message.nlmsg_type, flags: message.nlmsg_flags, sequence: message.nlmsg_seq,
                    payload: UnsafeRawBufferPointer(
                        start: UnsafeRawPointer(header) + headerLength,
                        count: Int(message.nlmsg_len) - headerLength)))
            header = UnsafePointer(mnl_nlmsg_next(header, &remaining))
        }
        return remaining <= 0
    }

    static let headerLength = MemoryLayout<nlmsghdr>.size
}

/// The attributes behind a message's fixed part.
struct NetlinkAttributes {
    private let bytes: UnsafeRawBufferPointer

    /// The attributes that begin `offset` bytes into a payload; none if it is shorter than that.
    init(_ payload: UnsafeRawBufferPointer, after offset: Int = 0) {
        let aligned = (offset + 3) & ~3
        bytes =
            aligned <= payload.count
            ? UnsafeRawBufferPointer(rebasing: payload[aligned...]) : .init(start: nil, count: 0)
    }

    /// Calls `body` with each attribute's type, without its flag bits, and value.
    /// - Returns: whether the attributes filled their space; false means that the last one was cut.
    @discardableResult
    func visit(_ body: (UInt16, UnsafeRawBufferPointer) -> Void) -> Bool {
        var rest = bytes
        while let base = rest.baseAddress, rest.count > 0 {
            let attribute = base.assumingMemoryBound(to: nlattr.self)
            guard mnl_attr_ok(attribute, CInt(clamping: rest.count)) else { return false }
            let length = Int(mnl_attr_get_len(attribute))
            body(
                mnl_attr_get_type(attribute),
                UnsafeRawBufferPointer(rebasing: rest[Self.headerLength..<length]))
            let step = (length + 3) & ~3
            guard step <= rest.count else { return true }
            rest = UnsafeRawBufferPointer(rebasing: rest[step...])
        }
        return true
    }

    private static let headerLength = MemoryLayout<nlattr>.size
}

extension UnsafeRawBufferPointer {
    /// A number at an offset, in host order, or nil where the bytes end before.
    func number<Value: FixedWidthInteger & BitwiseCopyable>(
        _ type: Value.Type = Value.self, at offset: Int = 0
    ) -> Value? {
        guard offset >= 0, count - offset >= MemoryLayout<Value>.size else { return nil }
        return loadUnaligned(fromByteOffset: offset, as: Value.self)
    }

    /// A string that ends at its first zero byte or with the bytes.
    var text: String {
        let end = firstIndex(of: 0) ?? count
        return String(decoding: UnsafeRawBufferPointer(rebasing: self[..<end]), as: UTF8.self)
    }

    /// An address of 4 or 16 bytes in network order, from an offset to the end; any other count is none.
    ///
    /// Read by words: on a machine with thousands of interfaces most of the start-up goes into this.
    func ipAddress(at offset: Int = 0) -> IPAddress? {
        switch count - offset {
        case 4: number(UInt32.self, at: offset).map { IPAddress(ipv4: UInt32(bigEndian: $0)) }
        case 16:
            number(UInt64.self, at: offset).flatMap { high in
                number(UInt64.self, at: offset + 8).map { low in
                    IPAddress(ipv6: UInt64(bigEndian: high), UInt64(bigEndian: low))
                }
            }
        default: nil
        }
    }
}
