import PathCore

/// What passes through the rtnetlink sockets, for a recorder.
package enum NetlinkTraffic {
    /// A dump begins; a repeated one takes the place of the one before, which a change interrupted.
    case dump(isRepeated: Bool)
    /// What the kernel sent: part of the dump, or notifications.
    case datagram(UnsafeRawBufferPointer)
    /// Notifications were lost; those since the queue was last empty count for nothing.
    case lost
    /// What sysfs says of a link, read for the first time.
    case device(LinkFact)
}

package typealias NetlinkTap = (NetlinkTraffic) -> Void
