import CLinux
import Glibc
import PathCore

/// The socket on which the kernel announces changes of links, addresses and routes.
///
/// Join first (by creating it), then read the tables, then take what queued up: nothing falls in between.
package final class RouteNotifications {
    private let subscription: NetlinkSubscription
    private var decoder = RouteDecoder()
    package var tap: NetlinkTap?

    /// How often the kernel dropped notifications because the queue was full.
    package var overflows: Int { subscription.losses }

    /// - Parameter receiveBuffer: room for so many bytes of notifications; the system's default where nil.
    package init(receiveBuffer: Int? = nil) throws(SystemError) {
        subscription = try NetlinkSubscription(
            .route, groups: MulticastGroup.paths, receiveBuffer: receiveBuffer, filter: Self.filter)
    }

    /// Keeps routes that are not about the Internet from waking this process: a router changes hundreds of
    /// thousands of them. Passes all other messages, and routes whose destination has at most one bit.
    ///
    /// Classic BPF reads numbers in network order; the message's type is in this machine's.
    private static let filter: [sock_filter] = {
        let load16 = UInt16(BPF_LD | BPF_H | BPF_ABS)
        let load8 = UInt16(BPF_LD | BPF_B | BPF_ABS)
        let ifEqual = UInt16(BPF_JMP | BPF_JEQ | BPF_K)
        let ifGreater = UInt16(BPF_JMP | BPF_JGT | BPF_K)
        let end = UInt16(BPF_RET | BPF_K)
        return [
            sock_filter(code: load16, jt: 0, jf: 0, k: 4),  // nlmsghdr.nlmsg_type
            sock_filter(code: ifEqual, jt: 1, jf: 0, k: UInt32(RouteMessageType.newRoute.bigEndian)),
            sock_filter(code: ifEqual, jt: 0, jf: 2, k: UInt32(RouteMessageType.deleteRoute.bigEndian)),
            sock_filter(code: load8, jt: 0, jf: 0, k: 17),  // rtmsg.rtm_dst_len
            sock_filter(code: ifGreater, jt: 1, jf: 0, k: 1),
            sock_filter(code: end, jt: 0, jf: 0, k: .max),
            sock_filter(code: end, jt: 0, jf: 0, k: 0),
        ]
    }()

    /// For waiting until it is readable.
    package var descriptor: CInt { subscription.descriptor }

    /// Messages that could not be read.
    package var malformed: Int { decoder.malformed }

    /// All that is waiting, in order; or, after a loss, `.lost` alone, once the queue is empty.
    ///
    /// ENOBUFS comes before the older notifications that are still queued. Applied after the tables were read
    /// again, those would bring back what is gone; so they are thrown away.
    package func drain() throws(SystemError) -> [KernelEvent] {
        var events: [KernelEvent] = []
        let hasLost = try subscription.drain { datagram in
            guard !subscription.isLosing else { return }
            tap?(.datagram(datagram))
            events += decoder.events(in: datagram)
        } onLoss: {
            tap?(.lost)
        }
        if hasLost { return [.lost] }
        return subscription.isLosing ? [] : events
    }
}
