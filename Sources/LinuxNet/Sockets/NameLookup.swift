import CLinux
import Glibc
import PathCore

/// The system's resolver: getaddrinfo, with all that nsswitch.conf puts behind it.
package enum NameLookup {
    /// A host's addresses, of both families or of one, in RFC 6724 order. A literal is answered without a lookup.
    ///
    /// A caller that is cancelled gets its answer at once; the lookup outlives it, and what it finds is
    /// dropped.
    package static func addresses(
        of host: String, _ family: IPAddress.Family? = nil
    ) async throws(ResolutionError) -> [IPAddress] {
        if let literal = IPAddress(host) { return family == literal.family || family == nil ? [literal] : [] }
        let answer: Answer?
        do throws(SystemError) {
            answer = try await BlockingCalls.resolver.run { lookUp(host, family) }
        } catch {
            throw ResolutionError("\(error)")
        }
        guard let answer else { throw ResolutionError("cancelled") }
        return try answer.get()
    }

    /// Calls a closure with a name's addresses of one family, on a thread that may be held up; where there is no thread
    /// for it, on the caller's.
    package static func addresses(
        of host: String, _ family: IPAddress.Family,
        _ body: @escaping @Sendable (Result<[IPAddress], ResolutionError>) -> Void
    ) {
        do throws(SystemError) {
            try BlockingCalls.resolver.submit { body(lookUp(host, family)) }
        } catch {
            body(.failure(ResolutionError("\(error)")))
        }
    }

    private typealias Answer = Result<[IPAddress], ResolutionError>

    /// EAI_NODATA and EAI_ADDRFAMILY (netdb.h), which glibc shows only to programs that ask for its extensions.
    private static let (noData, noAddressOfFamily): (CInt, CInt) = (-5, -9)

    private static func lookUp(_ host: String, _ family: IPAddress.Family?) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_family = family.map { $0 == .ipv4 ? AF_INET : AF_INET6 } ?? AF_UNSPEC
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        let number = errno
        // The name exists, and has no address of this family.
        if family != nil, status == noData || status == noAddressOfFamily { return .success([]) }
        guard status == 0 else {
            let words =
                status == EAI_SYSTEM ? SystemError.words(number) : String(cString: gai_strerror(status))
            return .failure(ResolutionError(words, isNoSuchName: status == EAI_NONAME))
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
