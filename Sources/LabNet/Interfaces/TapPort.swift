import CLab
import Glibc
import LinuxNet
import PathCore

/// A tap: an interface whose wire is this process, so that its carrier can go as a radio's does.
package final class TapPort: FramePort, @unchecked Sendable {
    private let tun: Descriptor
    private let buffer: UnsafeMutableRawBufferPointer

    /// Makes the interface in the network namespace this thread is in.
    package init(_ name: String) throws(SystemError) {
        let path = "/dev/net/tun"
        let tun = Descriptor(
            owning: try systemCall("open \(path)") { open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) })
        try systemCall("make tap \(name)") { mp_tap_attach(tun.number, name) }
        self.tun = tun
        buffer = .allocate(byteCount: 2048, alignment: 16)
    }

    deinit { buffer.deallocate() }

    package var descriptor: CInt { tun.number }

    package func setCarrier(_ on: Bool) throws(SystemError) {
        try systemCall("set the carrier (TUNSETCARRIER)") { mp_tap_set_carrier(tun.number, on ? 1 : 0) }
    }

    package func receive(limit: Int, _ body: (UnsafeRawBufferPointer, MonotonicTime) -> Void) {
        for _ in 0..<limit {
            let count = read(tun.number, buffer.baseAddress, buffer.count)
            guard count > 0 else { return }
            body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), .now)
        }
    }

    package func send(_ frames: [UnsafeRawBufferPointer]) {
        for frame in frames { _ = write(tun.number, frame.baseAddress, frame.count) }
    }
}
