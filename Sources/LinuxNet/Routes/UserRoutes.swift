import CLinux
import Glibc
import PathCore

extension RouteTables {
    /// Whether a user's packets may go so: by the rules for that user (`ip rule … uidrange`), from an address of this
    /// machine, out of an interface. A subflow is otherwise routed as that of the user who gives the order.
    ///
    /// - Throws: what the kernel says against it: EACCES for `prohibit`, EHOSTUNREACH, ENETUNREACH, EINVAL for `blackhole`
    ///   and for an address that this machine has not.
    package func checkRoute(
        of user: UInt32, from source: IPAddress, to destination: IPAddress, through interface: InterfaceIndex?
    ) throws(SystemError) {
        let isIPv4 = destination.family == .ipv4
        let failure: CInt = try netlink.ask("ask for a user's route", RouteMessageType.getRoute) { request in
            request.putFixedPart(rtmsg.self) {
                $0.rtm_family = isIPv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
                $0.rtm_dst_len = isIPv4 ? 32 : 128
                $0.rtm_src_len = isIPv4 ? 32 : 128
                // Without it the kernel takes the destination for on-link where the rules forbid the interface.
                $0.rtm_flags = RouteFlags.fibMatch
            }
            request.put(RouteAttribute.destination, destination)
            request.put(RouteAttribute.source, source)
            request.put(RouteAttribute.user, user)
            if let interface { request.put(RouteAttribute.outputInterface, interface) }
        } body: { answer in
            switch answer {
            // An unreachable or prohibited route of IPv6 is told as a route with its error (rt6_fill_node).
            case .data(let message):
                switch message.payload.number(UInt8.self, at: 7) {
                case UInt8(RTN_UNICAST)?, UInt8(RTN_LOCAL)?: 0
                case UInt8(RTN_PROHIBIT)?: EACCES
                default: ENETUNREACH
                }
            case .refusal(let refusal): refusal.errno
            case .end: EPROTO
            }
        }
        if failure != 0 { throw SystemError("route from \(source) to \(destination)", errno: failure) }
    }
}
