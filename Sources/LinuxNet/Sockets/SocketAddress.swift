import CLinux
import Glibc
import PathCore

extension IPEndpoint {
    /// Calls `body` with the endpoint as the kernel wants it: sockaddr_in or sockaddr_in6.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch address.family {
        case .ipv4:
            var storage = sockaddr_in()
            storage.sin_family = sa_family_t(AF_INET)
            storage.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage.sin_addr) { address.copy(to: $0) }
            return withGeneric(of: &storage, body)
        case .ipv6:
            var storage = sockaddr_in6()
            storage.sin6_family = sa_family_t(AF_INET6)
            storage.sin6_port = port.bigEndian
            storage.sin6_scope_id = address.zone
            withUnsafeMutableBytes(of: &storage.sin6_addr) { address.copy(to: $0) }
            return withGeneric(of: &storage, body)
        }
    }

    /// Reads a sockaddr of the kernel's; nil for another family or one that is cut.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let family = bytes.number(sa_family_t.self), let port = bytes.number(UInt16.self, at: 2) else {
            return nil
        }
        let address: IPAddress?
        switch CInt(family) {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            address = bytes.number(UInt32.self, at: 4).map { IPAddress(ipv4: UInt32(bigEndian: $0)) }
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            guard let high = bytes.number(UInt64.self, at: 8), let low = bytes.number(UInt64.self, at: 16)
            else { return nil }
            address = IPAddress(
                ipv6: UInt64(bigEndian: high), UInt64(bigEndian: low),
                zone: bytes.number(UInt32.self, at: 24) ?? 0)
        default: return nil
        }
        guard let address else { return nil }
        self.init(address, port: UInt16(bigEndian: port))
    }

    /// Asks the kernel for one with getsockname, getpeername and their like.
    static func read(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> IPEndpoint? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        guard status == 0 else { return nil }
        return withUnsafeBytes(of: &storage) {
            IPEndpoint(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(length))))
        }
    }
}

extension IPAddress {
    fileprivate func copy(to place: UnsafeMutableRawBufferPointer) {
        withNetworkBytes { place.copyMemory(from: $0) }
    }
}

private func withGeneric<Storage, Result>(
    of storage: inout Storage, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    withUnsafePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<Storage>.size))
        }
    }
}

extension IPAddress {
    /// AF_INET or AF_INET6.
    package var kernelFamily: CInt { family == .ipv4 ? AF_INET : AF_INET6 }
}
