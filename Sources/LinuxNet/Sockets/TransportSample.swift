// What the kernel counts for a connection: MPTCP_FULL_INFO where it speaks MPTCP, TCP_INFO where it does not
// (include/uapi/linux/mptcp.h, include/uapi/linux/tcp.h).

import CLinux
import Glibc
import PathCore

/// A connection's state at one moment.
package struct TransportSample: Sendable, Hashable {
    /// What carries the bytes now.
    package enum Kind: Sendable, Hashable {
        /// MPTCP; the token names the connection in the kernel's path manager.
        case mptcp(token: UInt32)
        case tcp
    }

    package var kind: Kind
    /// One for each subflow the kernel still has; one for plain TCP.
    package var subflows: [SubflowSample]

    /// Asks for a socket's state; nil for a descriptor that is no TCP socket.
    package static func read(_ descriptor: CInt) -> TransportSample? {
        readMPTCP(descriptor) ?? readTCP(descriptor)
    }

    /// Whether a connection is MPTCP. A socket that asked for it and fell back answers EOPNOTSUPP (IPv4) or
    /// ENOPROTOOPT (IPv6); one that falls back later has the flag.
    package static func isMPTCP(_ descriptor: CInt) -> Bool {
        if case .mptcp = read(descriptor)?.kind { true } else { false }
    }

    private static func readMPTCP(_ descriptor: CInt) -> TransportSample? {
        var capacity = 8
        // Once more where there are more subflows than there was room for.
        for _ in 0..<2 {
            let tcp = UnsafeMutableBufferPointer<mp_tcp_info>.allocate(capacity: capacity)
            let flows = UnsafeMutableBufferPointer<mp_mptcp_subflow_info>.allocate(capacity: capacity)
            tcp.initialize(repeating: mp_tcp_info())
            memset(flows.baseAddress!, 0, capacity * MemoryLayout<mp_mptcp_subflow_info>.stride)
            defer {
                tcp.deallocate()
                flows.deallocate()
            }
            var info = mp_mptcp_full_info()
            info.size_tcpinfo_user = UInt32(MemoryLayout<mp_tcp_info>.stride)
            info.size_sfinfo_user = UInt32(MemoryLayout<mp_mptcp_subflow_info>.stride)
            info.size_arrays_user = UInt32(capacity)
            info.tcp_info = UInt64(UInt(bitPattern: tcp.baseAddress))
            info.subflow_info = UInt64(UInt(bitPattern: flows.baseAddress))
            var length = socklen_t(MemoryLayout<mp_mptcp_full_info>.size)
            guard getsockopt(descriptor, CInt(MP_SOL_MPTCP), CInt(MP_MPTCP_FULL_INFO), &info, &length) == 0,
                info.mptcp_info.flags & UInt32(MP_MPTCP_INFO_FLAG_FALLBACK) == 0
            else { return nil }
            let count = Int(info.num_subflows)
            if count > capacity {
                capacity = count + 4
                continue
            }
            return TransportSample(
                kind: .mptcp(token: info.mptcp_info.token),
                subflows: (0..<count).map { index in
                    withUnsafeBytes(of: flows[index]) { flow in
                        SubflowSample(
                            id: flows[index].id, tcp[index],
                            local: IPEndpoint(UnsafeRawBufferPointer(rebasing: flow[8..<136])),
                            remote: IPEndpoint(UnsafeRawBufferPointer(rebasing: flow[136..<264])))
                    }
                })
        }
        return nil
    }

    private static func readTCP(_ descriptor: CInt) -> TransportSample? {
        var info = mp_tcp_info()
        // An older kernel writes less; what it leaves out stays 0.
        var length = socklen_t(MemoryLayout<mp_tcp_info>.size)
        guard getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return TransportSample(
            kind: .tcp,
            subflows: [
                SubflowSample(
                    id: 0, info, local: SocketOption.localEndpoint(of: descriptor),
                    remote: SocketOption.remoteEndpoint(of: descriptor))
            ])
    }
}

/// One subflow, or the one connection of plain TCP.
package struct SubflowSample: Sendable, Hashable {
    /// The kernel's number for it; subflows are numbered as they are made.
    package var id: UInt32
    package var local: IPEndpoint?
    package var remote: IPEndpoint?
    /// Payload sent, each byte once: retransmissions are counted apart.
    package var bytesSent: UInt64
    package var bytesRetransmitted: UInt64
    package var bytesReceived: UInt64
    /// Smoothed round-trip time and its mean deviation (RFC 6298).
    package var smoothedRTT: Duration
    package var rttVariation: Duration
    package var minimumRTT: Duration?

    package init(
        id: UInt32, local: IPEndpoint?, remote: IPEndpoint?, bytesSent: UInt64, bytesRetransmitted: UInt64,
        bytesReceived: UInt64, smoothedRTT: Duration, rttVariation: Duration, minimumRTT: Duration?
    ) {
        self.id = id
        self.local = local
        self.remote = remote
        self.bytesSent = bytesSent
        self.bytesRetransmitted = bytesRetransmitted
        self.bytesReceived = bytesReceived
        self.smoothedRTT = smoothedRTT
        self.rttVariation = rttVariation
        self.minimumRTT = minimumRTT
    }

    init(id: UInt32, _ info: mp_tcp_info, local: IPEndpoint?, remote: IPEndpoint?) {
        self.id = id
        self.local = local?.unmapped
        self.remote = remote?.unmapped
        bytesSent = info.bytes_sent &- info.bytes_retrans
        bytesRetransmitted = info.bytes_retrans
        // The peer's FIN takes a sequence number, which the kernel counts as a byte received.
        bytesReceived = info.bytes_received &- (Self.hasFIN(info.state) && info.bytes_received > 0 ? 1 : 0)
        smoothedRTT = .microseconds(Int64(info.rtt))
        rttVariation = .microseconds(Int64(info.rttvar))
        minimumRTT = info.min_rtt == .max || info.min_rtt == 0 ? nil : .microseconds(Int64(info.min_rtt))
    }

    /// TIME_WAIT 6, CLOSE_WAIT 8, LAST_ACK 9, CLOSING 11; and CLOSE 7, reached by FINs if not by a reset.
    private static func hasFIN(_ state: UInt8) -> Bool {
        [6, 7, 8, 9, 11].contains(state)
    }
}
