// What the kernel counts for a connection: MPTCP_INFO tells whether it is MPTCP, MPTCP_FULL_INFO its subflows;
// TCP_INFO is for plain TCP
// (include/uapi/linux/mptcp.h, include/uapi/linux/tcp.h).

import CLinux
import Glibc
import PathCore

extension TransportSample {
    /// Asks for a socket's state; nil for a descriptor that is no TCP socket.
    package static func read(_ descriptor: CInt) -> TransportSample? {
        readMPTCP(descriptor) ?? readTCP(descriptor)
    }

    /// Whether a connection is MPTCP. A socket that asked for it and fell back answers EOPNOTSUPP (IPv4) or
    /// ENOPROTOOPT (IPv6); one that falls back later has the flag.
    package static func isMPTCP(_ descriptor: CInt) -> Bool {
        connection(descriptor) != nil
    }

    /// What the kernel counts for an MPTCP connection as a whole; nil for plain TCP.
    package static func connection(_ descriptor: CInt) -> ConnectionSample? {
        var info = mp_mptcp_info()
        // An older kernel writes less; what it leaves out stays 0.
        var length = socklen_t(MemoryLayout<mp_mptcp_info>.size)
        guard getsockopt(descriptor, CInt(MP_SOL_MPTCP), CInt(MP_MPTCP_INFO), &info, &length) == 0 else {
            return nil
        }
        return ConnectionSample(info)
    }

    /// Whether the peer has ended its direction, of which the counters say nothing. (POLLRDHUP, by the name that Swift
    /// imports.)
    package static func peerHasEnded(_ descriptor: CInt) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(EPOLLRDHUP.rawValue), revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(EPOLLRDHUP.rawValue) != 0
    }

    /// Whether the peer has acknowledged all that was written, for a tenth of what a sample costs: SIOCOUTQ counts
    /// an MPTCP connection's bytes from the first unacknowledged on (net/mptcp/protocol.c, mptcp_ioctl_outq).
    package static func isAllAcknowledged(_ descriptor: CInt) -> Bool {
        var count: CInt = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 && count == 0
    }

    private static func readMPTCP(_ descriptor: CInt) -> TransportSample? {
        if let full = full(descriptor) { return full }
        guard let connection = connection(descriptor) else { return nil }
        return TransportSample(
            kind: .mptcp(token: connection.token.value), subflows: numberedSubflows(descriptor) ?? [],
            connection: connection)
    }

    /// All at once by MPTCP_FULL_INFO (Linux 6.5); nil for plain TCP and for older kernels.
    static func full(_ descriptor: CInt) -> TransportSample? {
        var capacity = 3
        // Once more where there are more subflows than there was room for.
        for _ in 0..<2 {
            var needed = 0
            if let sample = full(descriptor, capacity, &needed) { return sample }
            guard needed > capacity else { return nil }
            capacity = needed + 4
        }
        return nil
    }

    /// - Parameter needed: set to the number of subflows there are, where that is more than there is room for.
    private static func full(_ descriptor: CInt, _ capacity: Int, _ needed: inout Int) -> TransportSample? {
        withUnsafeTemporaryAllocation(of: mp_tcp_info.self, capacity: capacity) { tcp in
            withUnsafeTemporaryAllocation(of: mp_mptcp_subflow_info.self, capacity: capacity) { infos in
                var info = mp_mptcp_full_info()
                info.size_tcpinfo_user = UInt32(MemoryLayout<mp_tcp_info>.stride)
                info.size_sfinfo_user = UInt32(MemoryLayout<mp_mptcp_subflow_info>.stride)
                info.size_arrays_user = UInt32(capacity)
                info.tcp_info = UInt64(UInt(bitPattern: tcp.baseAddress))
                info.subflow_info = UInt64(UInt(bitPattern: infos.baseAddress))
                var length = socklen_t(MemoryLayout<mp_mptcp_full_info>.size)
                guard
                    getsockopt(descriptor, CInt(MP_SOL_MPTCP), CInt(MP_MPTCP_FULL_INFO), &info, &length) == 0,
                    let connection = ConnectionSample(info.mptcp_info)
                else { return nil }
                let count = Int(info.num_subflows)
                guard count <= capacity else {
                    needed = count
                    return nil
                }
                // An older kernel writes less of each, and what it leaves out is to be 0.
                zeroTails(tcp, count, Int(info.size_tcpinfo_kernel))
                zeroTails(infos, count, Int(info.size_sfinfo_kernel))
                var subflows: [SubflowSample] = []
                subflows.reserveCapacity(count)
                for index in 0..<count {
                    let names = UnsafeRawBufferPointer(
                        start: infos.baseAddress! + index, count: MemoryLayout<mp_mptcp_subflow_info>.stride)
                    subflows.append(
                        SubflowSample(
                            id: names.number(UInt32.self) ?? 0, tcp[index],
                            local: IPEndpoint(UnsafeRawBufferPointer(rebasing: names[8..<136])),
                            remote: IPEndpoint(UnsafeRawBufferPointer(rebasing: names[136..<264]))))
                }
                return TransportSample(
                    kind: .mptcp(token: connection.token.value), subflows: subflows, connection: connection)
            }
        }
    }

    /// - Parameter size: how much of each entry was written.
    private static func zeroTails<Element>(
        _ buffer: UnsafeMutableBufferPointer<Element>, _ count: Int, _ size: Int
    ) {
        let stride = MemoryLayout<Element>.stride
        guard size < stride else { return }
        for index in 0..<count {
            memset(UnsafeMutableRawPointer(buffer.baseAddress! + index) + size, 0, stride - size)
        }
    }

    /// The subflows by MPTCP_TCPINFO and MPTCP_SUBFLOW_ADDRS (Linux 5.16), for kernels without the above.
    /// They say no number; each one's place stands for it, and holds as long as no subflow before it closes.
    static func numberedSubflows(_ descriptor: CInt) -> [SubflowSample]? {
        let capacity = 8
        func read(_ option: Int, _ size: Int) -> (entries: [UInt8], count: Int)? {
            let header = MemoryLayout<mp_mptcp_subflow_data>.size
            var bytes = [UInt8](repeating: 0, count: header + capacity * size)
            var length = socklen_t(bytes.count)
            let count: UInt32? = bytes.withUnsafeMutableBytes { bytes in
                bytes.storeBytes(of: UInt32(header), toByteOffset: 0, as: UInt32.self)
                bytes.storeBytes(of: UInt32(size), toByteOffset: 12, as: UInt32.self)
                let status = getsockopt(
                    descriptor, CInt(MP_SOL_MPTCP), CInt(option), bytes.baseAddress, &length)
                return status == 0 ? UnsafeRawBufferPointer(bytes).number(UInt32.self, at: 4) : nil
            }
            return count.map { (Array(bytes[header...]), min(Int($0), capacity)) }
        }
        let addressSize = 256
        let infoSize = MemoryLayout<mp_tcp_info>.size
        guard let infos = read(MP_MPTCP_TCPINFO, infoSize),
            let addresses = read(MP_MPTCP_SUBFLOW_ADDRS, addressSize)
        else { return nil }
        return (0..<min(infos.count, addresses.count)).map { index in
            let info = infos.entries.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: index * infoSize, as: mp_tcp_info.self)
            }
            return addresses.entries.withUnsafeBytes { bytes in
                func endpoint(_ offset: Int) -> IPEndpoint? {
                    let start = index * addressSize + offset
                    return IPEndpoint(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 128]))
                }
                return SubflowSample(id: UInt32(index), info, local: endpoint(0), remote: endpoint(128))
            }
        }
    }

    private static func readTCP(_ descriptor: CInt) -> TransportSample? {
        guard let info = mp_tcp_info.read(descriptor) else { return nil }
        return TransportSample(
            kind: .tcp,
            subflows: [
                SubflowSample(
                    id: 0, info, local: SocketOption.localEndpoint(of: descriptor),
                    remote: SocketOption.remoteEndpoint(of: descriptor))
            ])
    }
}

extension mp_tcp_info {
    /// TCP_INFO of a socket; nil for one that is not TCP's.
    static func read(_ descriptor: CInt) -> mp_tcp_info? {
        var info = mp_tcp_info()
        // An older kernel writes less; what it leaves out stays 0.
        var length = socklen_t(MemoryLayout<mp_tcp_info>.size)
        guard getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return info
    }
}

extension ConnectionSample {
    /// nil for a connection that fell back to TCP.
    init?(_ info: mp_mptcp_info) {
        guard info.flags & UInt32(MP_MPTCP_INFO_FLAG_FALLBACK) == 0 else { return nil }
        self.init(token: ConnectionToken(info.token))
        additionalSubflows = info.subflows
        totalSubflows = info.subflows_total
        writeSequence = info.write_seq
        firstUnacknowledged = info.snd_una
        nextExpected = info.rcv_nxt
        bytesReceived = info.bytes_received
        acknowledged = info.bytes_acked
    }
}

extension SubflowSample {
    init(id: UInt32, _ info: mp_tcp_info, local: IPEndpoint?, remote: IPEndpoint?) {
        self.init(
            id: id, local: local?.unmapped, remote: remote?.unmapped,
            // The kernel reads the two one after the other.
            bytesSent: info.bytes_sent - min(info.bytes_retrans, info.bytes_sent),
            bytesRetransmitted: info.bytes_retrans,
            // The peer's FIN takes a sequence number, which the kernel counts as a byte received.
            bytesReceived: info.bytes_received
                &- ((State(rawValue: info.state)?.hasFIN ?? false) && info.bytes_received > 0 ? 1 : 0),
            smoothedRTT: .microseconds(Int64(info.rtt)), rttVariation: .microseconds(Int64(info.rttvar)),
            minimumRTT: info.min_rtt == .max || info.min_rtt == 0
                ? nil : .microseconds(Int64(info.min_rtt)))
        state = State(rawValue: info.state) ?? .unknown
        unacknowledged = info.unacked
        unsent = info.notsent_bytes
        acknowledged = info.bytes_acked
        delivered = info.delivered
        receivedSegments = info.data_segs_in
        earlySegments = info.rcv_ooopack
        timeouts = info.retransmits
        backoff = info.backoff
        unansweredProbes = info.probes
        retransmissions = info.total_retrans
        sendWindow = info.snd_wnd
        receiverRTT = .microseconds(Int64(info.rcv_rtt))
        sinceDataSent = .milliseconds(Int64(info.last_data_sent))
        sinceDataReceived = .milliseconds(Int64(info.last_data_recv))
        sinceAcknowledgement = .milliseconds(Int64(info.last_ack_recv))
        deliveryRate = info.delivery_rate
    }
}
