import CLinux
import Glibc

/// What a call on a non-blocking stream did.
package enum StreamTransfer: Sendable, Hashable {
    /// 0 bytes read is the stream's end.
    case moved(Int)
    case wouldBlock
    /// The connection is gone.
    case broken
}

extension StreamSocket {
    /// Takes ownership of a connected socket's or a listener's descriptor.
    package init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Takes a connection that waits; nil where none does.
    package func accept() -> StreamSocket? {
        let number = mp_accept(descriptor.number)
        return number < 0 ? nil : StreamSocket(owning: Descriptor(owning: number))
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamTransfer {
        Self.transfer { recv(descriptor.number, buffer.baseAddress, buffer.count, 0) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> StreamTransfer {
        Self.transfer { send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
    }

    private static func transfer(_ call: () -> Int) -> StreamTransfer {
        while true {
            let count = call()
            if count >= 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .broken
            }
        }
    }
}
