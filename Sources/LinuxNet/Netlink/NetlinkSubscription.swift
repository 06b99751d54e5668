import CLinux
import Glibc

/// A netlink socket on which the kernel announces what happens.
///
/// Where its queue is full the kernel drops announcements and says so once, by ENOBUFS; it goes on dropping, and does not
/// say it again, until the queue has been empty (netlink_overrun, net/netlink/af_netlink.c). So a loss is told when the
/// queue is empty, and means: read the whole state again.
final class NetlinkSubscription {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer

    /// Announcements were lost, and the queue has not been empty since.
    private(set) var isLosing = false

    /// How often the kernel dropped announcements because the queue was full.
    private(set) var losses = 0

    /// - Parameters:
    ///   - receiveBuffer: room for so many bytes of announcements; the system's default where nil.
    ///   - filter: classic BPF that drops announcements before they are queued.
    /// - Throws: EPERM where a group is for administrators only.
    init(
        _ bus: NetlinkBus, groups: [UInt32], receiveBuffer: Int? = nil, filter: [sock_filter]? = nil
    ) throws(SystemError) {
        let socket = try NetlinkSocket(bus, nonBlocking: true)
        if let receiveBuffer { try socket.setReceiveBuffer(bytes: receiveBuffer) }
        // Before the first group is joined, so that nothing slips in.
        if let filter { try socket.attachFilter(filter) }
        for group in groups { try socket.join(group) }
        self.socket = socket
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
    }

    deinit { buffer.deallocate() }

    /// From now on another filter drops announcements before they are queued.
    func attachFilter(_ filter: [sock_filter]) throws(SystemError) { try socket.attachFilter(filter) }

    /// For waiting until it is readable.
    var descriptor: CInt { socket.descriptor }

    /// Reads the datagrams that wait, but no more than a storm's share: epoll is level-triggered and calls again.
    ///
    /// - Parameter onLoss: called for each loss, at its place between the datagrams.
    /// - Returns: whether the queue is empty after a loss: now is the time to read all again.
    func drain(
        _ body: (UnsafeRawBufferPointer) -> Void, onLoss: () -> Void = {}
    ) throws(SystemError) -> Bool {
        for _ in 0..<Self.storm {
            do throws(SystemError) {
                guard let datagram = try socket.receive(into: buffer) else {
                    defer { isLosing = false }
                    return isLosing
                }
                body(datagram)
            } catch {
                // ENOSPC: a datagram longer than the buffer is as good as lost.
                guard error.errno == ENOBUFS || error.errno == ENOSPC else { throw error }
                losses += 1
                isLosing = true
                onLoss()
            }
        }
        return false
    }

    private static let storm = 256
}
