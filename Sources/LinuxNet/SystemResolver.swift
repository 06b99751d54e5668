import CLinux
import Dispatch
import Glibc
import PathCore

/// The system's resolver: getaddrinfo, with all that nsswitch.conf puts behind it.
package enum SystemResolver {
    // getaddrinfo blocks and can't be cancelled, so it runs on threads that nothing else waits for.
    private static let queue = DispatchQueue(label: "multipath.resolver", attributes: .concurrent)

    /// A host's addresses in RFC 6724 order. A literal is answered without asking anybody.
    ///
    /// The lookup may outlive a caller that was cancelled; what it finds is dropped then.
    package static func addresses(of host: String) async throws(RaceMachine.ResolutionFailure) -> [IPAddress] {
        if let literal = IPAddress(host) { return [literal] }
        let result: Result<[IPAddress], RaceMachine.ResolutionFailure> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: lookUp(host)) }
        }
        return try result.get()
    }

    private static func lookUp(_ host: String) -> Result<[IPAddress], RaceMachine.ResolutionFailure> {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        let number = errno
        guard status == 0 else {
            let words = status == EAI_SYSTEM ? SystemError.words(number) : String(cString: gai_strerror(status))
            return .failure(RaceMachine.ResolutionFailure(reason: words))
        }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let name = entry.ai_addr,
                let endpoint = IPEndpoint(UnsafeRawBufferPointer(start: name, count: Int(entry.ai_addrlen)))
            {
                addresses.append(endpoint.address)
            }
            next = entry.ai_next
        }
        return .success(addresses)
    }
}
