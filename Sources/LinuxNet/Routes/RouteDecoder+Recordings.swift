import PathCore

extension RouteDecoder {
    /// The facts of a whole table, as netlink messages.
    package mutating func table(
        in messages: [UInt8]
    ) -> (links: [LinkFact], addresses: [AddressFact]) {
        var (links, addresses): ([LinkFact], [AddressFact]) = ([], [])
        withAligned(messages) { datagram, decoder in
            _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                switch decoder.fact(in: message) {
                case .link(let link): links.append(link)
                case .address(let address): addresses.append(address)
                case .linkGone, .addressGone, .defaultRoute, nil: break
                }
            }
        }
        return (links, addresses)
    }

    /// The events of a notification whose bytes stand anywhere.
    package mutating func events(copying datagram: [UInt8]) -> [KernelEvent] {
        var events: [KernelEvent] = []
        withAligned(datagram) { events = $1.events(in: $0) }
        return events
    }

    /// Netlink's structs want the alignment that the kernel's buffers have.
    private mutating func withAligned(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer, inout RouteDecoder) -> Void
    ) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(16, bytes.count), alignment: 16)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes)
        body(UnsafeRawBufferPointer(rebasing: buffer[..<bytes.count]), &self)
    }
}
