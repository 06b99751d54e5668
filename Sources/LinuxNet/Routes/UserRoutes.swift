import CLinux
import Glibc
import PathCore

/// Where packets go: the interface and the gateways of a route. Two that are equal lead the same way.
package struct UserRoute: Sendable, Hashable {
    fileprivate var kind: UInt8
    /// The attributes that say it, as the kernel gives them.
    fileprivate var attributes: [UInt16: [UInt8]] = [:]

    fileprivate init(_ message: NetlinkMessage) {
        kind = message.payload.number(UInt8.self, at: 7) ?? 0
        NetlinkAttributes(message.payload, after: MemoryLayout<rtmsg>.size).visit { type, value in
            switch type {
            case RouteAttribute.outputInterface, RouteAttribute.gateway, RouteAttribute.via,
                RouteAttribute.multipath, RouteAttribute.nexthop:
                attributes[type] = Array(value)
            default: break
            }
        }
    }
}

extension RouteTables {
    /// Where a user's packets go: by the rules for that user (`ip rule … uidrange`), from an address of this machine, out of an
    /// interface. A subflow is otherwise routed as that of the user who gives the order.
    ///
    /// - Parameters:
    ///   - user: nil for this process's.
    ///   - mark: the socket's (SO_MARK; `ip rule … fwmark`).
    /// - Throws: what the kernel says against it: EACCES for `prohibit`, EHOSTUNREACH, ENETUNREACH, EINVAL for `blackhole`
    ///   and for an address that this machine has not.
    package func route(
        of user: UInt32?, mark: UInt32, from source: IPAddress, to destination: IPAddress,
        through interface: InterfaceIndex?
    ) throws(SystemError) -> UserRoute {
        let isIPv4 = destination.family == .ipv4
        let answer: Result<UserRoute, Refused> = try netlink.ask(
            "ask for a user's route", RouteMessageType.getRoute
        ) { request in
            request.putFixedPart(rtmsg.self) {
                $0.rtm_family = isIPv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
                $0.rtm_dst_len = isIPv4 ? 32 : 128
                $0.rtm_src_len = isIPv4 ? 32 : 128
                // Without it the kernel takes the destination for on-link where the rules forbid the interface.
                $0.rtm_flags = RouteFlags.fibMatch
            }
            request.put(RouteAttribute.destination, destination)
            request.put(RouteAttribute.source, source)
            if let user { request.put(RouteAttribute.user, user) }
            if mark != 0 { request.put(RouteAttribute.mark, mark) }
            if let interface { request.put(RouteAttribute.outputInterface, interface) }
        } body: { answer in
            switch answer {
            // An unreachable or prohibited route of IPv6 is told as a route with its error (rt6_fill_node).
            case .data(let message):
                let route = UserRoute(message)
                return switch route.kind {
                case UInt8(RTN_UNICAST), UInt8(RTN_LOCAL): .success(route)
                case UInt8(RTN_PROHIBIT): .failure(Refused(errno: EACCES))
                default: .failure(Refused(errno: ENETUNREACH))
                }
            case .refusal(let refusal): return .failure(Refused(errno: refusal.errno))
            case .end: return .failure(Refused(errno: EPROTO))
            }
        }
        switch answer {
        case .success(let route): return route
        case .failure(let refused):
            throw SystemError("route from \(source) to \(destination)", errno: refused.errno)
        }
    }

    private struct Refused: Error { var errno: CInt }
}
