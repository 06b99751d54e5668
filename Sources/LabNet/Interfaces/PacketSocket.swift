import CLab
import Glibc
import LinuxNet
import PathCore

/// Frames of an interface, whole, in and out: a packet socket with a receive ring.
///
/// The ring is memory shared with the kernel. It holds what arrives while this thread waits for a processor,
/// which on a busy machine is longer than a socket buffer of the usual size lasts.
package final class PacketSocket: FramePort, @unchecked Sendable {
    /// The longest frame: an Ethernet header, a VLAN tag and 1,500 bytes.
    package static let longestFrame = 1518

    private let socket: Descriptor
    private let ring: UnsafeMutableRawPointer
    private var next = 0
    private static let frameSize = 2048
    private static let frameCount = 4096

    /// Takes the frames that arrive on a link of the network namespace this thread is in.
    ///
    /// - Parameter takesOutgoing: whether to take those that leave by it, too.
    package init(_ name: String, takesOutgoing: Bool = false) throws(SystemError) {
        let index = try NetworkControl.index(of: name)
        let type = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        // Protocol 0: nothing arrives before the socket is bound to its one link.
        let socket = Descriptor(
            owning: try systemCall("make a packet socket") { Glibc.socket(AF_PACKET, type, 0) })
        let number = socket.number
        try SocketOption.set(number, SOL_PACKET, PACKET_VERSION, TPACKET_V2.rawValue.signed, "PACKET_VERSION")
        try SocketOption.set(
            number, SOL_PACKET, CInt(MP_PACKET_IGNORE_OUTGOING), takesOutgoing ? 0 : 1,
            "PACKET_IGNORE_OUTGOING")
        try systemCall("make a packet ring") {
            mp_packet_ring(number, UInt32(Self.frameSize), UInt32(Self.frameCount), 1 << 16)
        }
        let length = Self.frameSize * Self.frameCount
        let ring = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0)
        guard let ring, ring != MAP_FAILED else { throw SystemError("map a packet ring", errno: errno) }
        self.ring = ring
        try systemCall("bind a packet socket to \(name)") { mp_packet_bind(number, index) }
        self.socket = socket
    }

    deinit { munmap(ring, Self.frameSize * Self.frameCount) }

    package var descriptor: CInt { socket.number }

    package func receive(limit: Int, _ body: (UnsafeRawBufferPointer, MonotonicTime) -> Void) {
        let offset = Self.realtimeOffset
        if mp_ring_is_filled(ring + next * Self.frameSize) == 0 {
            // Woken for nothing: the link went down, and says so until it is asked.
            _ = SocketOption.get(socket.number, SOL_SOCKET, SO_ERROR)
        }
        for _ in 0..<limit {
            let frame = ring + next * Self.frameSize
            guard mp_ring_is_filled(frame) != 0 else { return }
            let header = frame.assumingMemoryBound(to: tpacket2_hdr.self).pointee
            let arrival = Int64(header.tp_sec) * 1_000_000_000 + Int64(header.tp_nsec) - offset
            body(
                UnsafeRawBufferPointer(start: frame + Int(header.tp_mac), count: Int(header.tp_snaplen)),
                MonotonicTime(nanoseconds: arrival))
            mp_ring_give_back(frame)
            next = (next + 1) % Self.frameCount
        }
    }

    /// The ring's times are CLOCK_REALTIME's: what that is ahead of CLOCK_MONOTONIC now.
    private static var realtimeOffset: Int64 {
        var real = timespec()
        clock_gettime(CLOCK_REALTIME, &real)
        return Int64(real.tv_sec) * 1_000_000_000 + Int64(real.tv_nsec) - MonotonicTime.now.nanoseconds
    }

    package func send(_ frames: [UnsafeRawBufferPointer]) {
        let count = frames.count
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { vectors in
            withUnsafeTemporaryAllocation(of: mp_mmsghdr.self, capacity: count) { messages in
                for (position, frame) in frames.enumerated() {
                    vectors[position] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: frame.baseAddress), iov_len: frame.count)
                    messages[position] = mp_mmsghdr()
                    messages[position].header.msg_iov = vectors.baseAddress! + position
                    messages[position].header.msg_iovlen = 1
                }
                var done = 0
                while done < count {
                    let sent = mp_sendmmsg(socket.number, messages.baseAddress! + done, UInt32(count - done))
                    // A frame that can't go (the link is down) is lost, as on any wire; the rest may go.
                    done += max(1, Int(sent))
                }
            }
        }
    }
}
