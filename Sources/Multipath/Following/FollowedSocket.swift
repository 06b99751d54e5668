import LinuxNet

/// The socket of a followed connection: one that this process holds a descriptor of, or one that it knows by its names in the
/// kernel alone, so that the close of the program that has it ends the connection.
struct FollowedSocket: ~Copyable {
    /// Nil for one that is known by name.
    private let own: Descriptor?
    /// Nil for one that this process holds.
    private let lent: LentSocket?

    /// An object: it is large, and hardly any connection has one. What holds the socket sees to it that one thread uses it.
    private final class LentSocket: @unchecked Sendable {
        var diagnosed: DiagnosedSocket
        let loan: DescriptorLoan

        init(_ diagnosed: DiagnosedSocket, _ loan: @escaping DescriptorLoan) {
            self.diagnosed = diagnosed
            self.loan = loan
        }
    }

    /// - Parameter own: a descriptor of the socket that is this object's alone.
    init(_ own: consuming Descriptor) {
        self.own = .some(own)
        lent = nil
    }

    init(_ diagnosed: DiagnosedSocket, borrow: @escaping DescriptorLoan) {
        own = nil
        lent = LentSocket(diagnosed, borrow)
    }

    /// Borrows its descriptor; nil for one that this process holds.
    var loan: DescriptorLoan? { lent?.loan }

    /// The number of this process's descriptor; nil for a socket that is known by name.
    var number: CInt? {
        switch own {
        case .some(let own): own.number
        case nil: nil
        }
    }

    /// What the kernel counts now; nil for a connection that is no more.
    mutating func sample() -> TransportSample? {
        if let number { return TransportSample.read(number) }
        return lent?.diagnosed.sample()
    }

    /// The TCP sockets of one that is known by name; none for one that this process holds.
    var cookies: [UInt64] { lent?.diagnosed.cookies ?? [] }

    /// Those that were found since this was asked last.
    mutating func takeNewCookies() -> [UInt64] { lent?.diagnosed.takeNewCookies() ?? [] }

    /// One of them has ended: the latest sample, with its last counters.
    mutating func ended(_ cookie: UInt64, _ last: SubflowSample) -> TransportSample? {
        lent?.diagnosed.ended(cookie, last)
    }

    /// Whether the peer has acknowledged all that was written.
    func isAllAcknowledged() -> Bool {
        if let number { return TransportSample.isAllAcknowledged(number) }
        return lent?.diagnosed.isAllAcknowledged() ?? false
    }

    /// Adds to a sample whether the peer has ended its direction. (sock_diag tells that with the sample.)
    func notePeersEnd(in sample: inout TransportSample) {
        if let number { sample.connection?.peerHasEnded = TransportSample.peerHasEnded(number) }
    }
}
