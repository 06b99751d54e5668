import CLinux
import Glibc
import PathCore

/// The socket on which the kernel announces changes of links, addresses and routes.
///
/// Join first (by creating it), then read the tables, then take what queued up: nothing falls in between.
package final class RouteNotifications {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var decoder = RouteDecoder()
    private var devices = DeviceFiles()

    /// How often the kernel dropped notifications because the queue was full.
    package private(set) var overflows = 0

    package init() throws(SystemError) {
        socket = try NetlinkSocket(nonBlocking: true)
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
        for group in MulticastGroup.paths { try socket.join(group) }
    }

    deinit { buffer.deallocate() }

    /// For waiting until it is readable.
    package var descriptor: CInt { socket.descriptor }

    /// Messages that could not be read.
    package var malformed: Int { decoder.malformed }

    /// All that is waiting, in order. Losses are events too.
    package func drain() throws(SystemError) -> [KernelEvent] {
        var events: [KernelEvent] = []
        // Bounded, so that a storm can't keep the thread: epoll is level-triggered and calls again.
        for _ in 0..<256 {
            do throws(SystemError) {
                guard let datagram = try socket.receive(into: buffer) else { break }
                for event in decoder.events(in: datagram) {
                    guard case .link(let link) = event else {
                        events.append(event)
                        continue
                    }
                    events.append(.link(devices.completed(link)))
                }
            } catch {
                guard error.errno == ENOBUFS || error.errno == ENOSPC else { throw error }
                // ENOBUFS comes before the older notifications still queued; those are read on.
                overflows += 1
                events.append(.lost)
            }
        }
        return events
    }
}
