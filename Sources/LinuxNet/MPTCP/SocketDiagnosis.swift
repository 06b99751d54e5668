// What sock_diag tells of a socket (include/uapi/linux/inet_diag.h, net/ipv4/inet_diag.c, net/mptcp/mptcp_diag.c): the
// questions, and their answers. It needs no privilege and no descriptor.

import CLinux
import Glibc
import PathCore

/// One answer: struct inet_diag_msg, and the attributes behind it.
struct SocketDiagnosis {
    let isIPv6: Bool
    let state: SubflowSample.State
    let local: IPEndpoint
    let remote: IPEndpoint
    /// What the socket is bound to; 0 for nothing.
    let interface: InterfaceIndex
    /// SO_COOKIE.
    let cookie: UInt64
    /// The user that made the socket.
    let user: UInt32
    /// The file's number, which a connection's subflows share; 0 for a socket that no program has open.
    let inode: UInt32
    /// INET_DIAG_INFO: struct mptcp_info, or struct tcp_info. Only inside the answer's own bytes.
    private let info: UnsafeRawBufferPointer?

    /// nil for a message that is cut, or of another family.
    init?(_ message: NetlinkMessage) {
        let payload = message.payload
        guard payload.count >= Self.size, let family = payload.number(UInt8.self),
            CInt(family) == AF_INET || CInt(family) == AF_INET6,
            let state = payload.number(UInt8.self, at: 1),
            let localPort = payload.number(UInt16.self, at: 4),
            let remotePort = payload.number(UInt16.self, at: 6),
            let interface = payload.number(UInt32.self, at: 40),
            let low = payload.number(UInt32.self, at: 44), let high = payload.number(UInt32.self, at: 48),
            let user = payload.number(UInt32.self, at: 64), let inode = payload.number(UInt32.self, at: 68)
        else { return nil }
        isIPv6 = CInt(family) == AF_INET6
        let length = isIPv6 ? 16 : 4
        func address(at place: Int) -> IPAddress? {
            UnsafeRawBufferPointer(rebasing: payload[place..<(place + length)]).ipAddress()
        }
        guard let local = address(at: 8), let remote = address(at: 24) else { return nil }
        self.local = IPEndpoint(local.unmapped, port: UInt16(bigEndian: localPort))
        self.remote = IPEndpoint(remote.unmapped, port: UInt16(bigEndian: remotePort))
        self.state = SubflowSample.State(rawValue: state) ?? .unknown
        self.interface = interface
        cookie = UInt64(high) << 32 | UInt64(low)
        (self.user, self.inode) = (user, inode)
        var info: UnsafeRawBufferPointer?
        NetlinkAttributes(payload, after: Self.size).visit { type, value in
            if type == Self.infoAttribute { info = value }
        }
        self.info = info
    }

    /// The socket's cookie, without reading the rest; nil for a message that is cut.
    static func cookie(of message: NetlinkMessage) -> UInt64? {
        guard message.type == messageType, let low = message.payload.number(UInt32.self, at: 44),
            let high = message.payload.number(UInt32.self, at: 48)
        else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }

    /// INET_DIAG_INFO as the structure it is of this kind of socket: what an older kernel leaves out is 0. Nil where the
    /// kernel gave none.
    func information<Value: BitwiseCopyable>(_ zero: Value) -> Value? {
        guard let info, info.count > 0 else { return nil }
        var value = zero
        withUnsafeMutableBytes(of: &value) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: info.prefix($0.count)))
        }
        return value
    }

    private static let size = MemoryLayout<inet_diag_msg>.size
    static let infoAttribute: UInt16 = 2
    static let messageType = UInt16(SOCK_DIAG_BY_FAMILY)
}

/// What sock_diag is asked about.
enum DiagnosisQuestion: Hashable {
    /// The MPTCP connection of a token.
    case connection(ConnectionToken)
    /// A TCP socket.
    case socket(local: IPEndpoint, remote: IPEndpoint, interface: InterfaceIndex, cookie: UInt64?)

    /// - Parameter withInformation: whether the answer is to have INET_DIAG_INFO. The kernel takes the socket's lock for that:
    ///   the answer may come as late as the socket's owner likes.
    func put(into request: borrowing NetlinkRequest, withInformation: Bool) {
        request.putFixedPart(inet_diag_req_v2.self) {
            $0.idiag_ext = withInformation ? 1 << (UInt8(SocketDiagnosis.infoAttribute) - 1) : 0
            $0.idiag_states = .max
            switch self {
            case .connection(let token):
                $0.sdiag_family = UInt8(AF_INET)
                // Its own protocol is beyond eight bits, and stands in an attribute.
                $0.sdiag_protocol = 255
                $0.id.idiag_cookie = (token.value, 0)
            case .socket(let local, let remote, let interface, let cookie):
                $0.sdiag_family = UInt8(local.address.kernelFamily)
                $0.sdiag_protocol = UInt8(IPPROTO_TCP)
                $0.id.idiag_sport = local.port.bigEndian
                $0.id.idiag_dport = remote.port.bigEndian
                withUnsafeMutableBytes(of: &$0.id.idiag_src) { place in
                    local.address.withNetworkBytes { place.copyMemory(from: $0) }
                }
                withUnsafeMutableBytes(of: &$0.id.idiag_dst) { place in
                    remote.address.withNetworkBytes { place.copyMemory(from: $0) }
                }
                $0.id.idiag_if = interface
                let cookie = cookie ?? .max
                $0.id.idiag_cookie = (
                    UInt32(truncatingIfNeeded: cookie), UInt32(truncatingIfNeeded: cookie >> 32)
                )
            }
        }
        if case .connection = self {
            request.put(UInt16(MP_INET_DIAG_REQ_PROTOCOL), UInt32(MP_IPPROTO_MPTCP))
        }
    }
}
