import CLinux
import CMnl
import PathCore

/// A request under construction: a header, a fixed part, attributes. libmnl keeps the lengths.
package struct NetlinkRequest: ~Copyable {
    private let buffer: UnsafeMutableRawBufferPointer
    private let header: UnsafeMutablePointer<nlmsghdr>

    init(type: UInt16, flags: UInt16, sequence: UInt32) {
        buffer = .allocate(byteCount: 512, alignment: 16)
        header = mnl_nlmsg_put_header(buffer.baseAddress)
        header.pointee.nlmsg_type = type
        header.pointee.nlmsg_flags = flags | MessageFlags.request
        header.pointee.nlmsg_seq = sequence
    }

    deinit { buffer.deallocate() }

    /// Calls `body` with the request's bytes, which end with the request.
    func withBytes<Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try body(UnsafeRawBufferPointer(rebasing: buffer[..<Int(header.pointee.nlmsg_len)]))
    }

    /// The fixed part, all zero but for what `fill` sets.
    package func putFixedPart<Part: BitwiseCopyable>(_ type: Part.Type, _ fill: (inout Part) -> Void) {
        guard let space = mnl_nlmsg_put_extra_header(header, MemoryLayout<Part>.size) else { return }
        fill(&space.assumingMemoryBound(to: Part.self).pointee)
    }

    package func put(_ attribute: UInt16, _ value: UInt32) {
        mnl_attr_put_u32(header, attribute, value)
    }

    package func put(_ attribute: UInt16, _ bytes: [UInt8]) {
        mnl_attr_put(header, attribute, bytes.count, bytes)
    }

    package func put(_ attribute: UInt16, _ address: IPAddress) {
        address.withNetworkBytes { mnl_attr_put(header, attribute, $0.count, $0.baseAddress) }
    }

    /// An attribute that holds what `body` puts.
    package func nest(_ attribute: UInt16, _ body: () -> Void) {
        guard let start = mnl_attr_nest_start(header, attribute) else { return }
        body()
        mnl_attr_nest_end(header, start)
    }
}
