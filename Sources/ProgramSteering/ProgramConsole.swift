import Multipath

/// What a run says, where it is asked to: on the event thread, but for the report.
package protocol ProgramConsole: Sendable {
    /// A socket is the kernel's own.
    func plain(_ thread: Int32, _ reason: PlainReason)
    /// A connect was refused: no path that is allowed leads there.
    func refused(_ socket: ProgramSocket)
    /// A connection has come about.
    func connected(_ socket: ProgramSocket)
    /// Something has happened to a connection.
    func event(_ event: ConnectionEvent, of socket: ProgramSocket)
    /// A program has set an option that MPTCP sockets lack. Told once for each program and option.
    func option(_ option: LackingOption, of program: String)
    /// The first connection that is not steered, and why.
    func unsteered(_ limit: ControlLimit)
    /// The program has ended. On a thread of its own, which may wait.
    ///
    /// - Parameter missed: calls that the ledger does not know of.
    func report(_ ledger: SocketLedger, missed: Int)
}

/// An option of TCP sockets that MPTCP sockets lack. Most wish for more or less of something: they are taken as set, and have no
/// effect. The kernel refuses those without which something would be missing.
package enum LackingOption: String, Sendable, Hashable, CaseIterable {
    case retransmittedSYNs = "TCP_SYNCNT"
    case linger = "TCP_LINGER2"
    case windowClamp = "TCP_WINDOW_CLAMP"
    case quickAcknowledgement = "TCP_QUICKACK"
    case thinTimeouts = "TCP_THIN_LINEAR_TIMEOUTS"
    case thinDuplicates = "TCP_THIN_DUPACK"
    case userTimeout = "TCP_USER_TIMEOUT"
    case pacing = "SO_MAX_PACING_RATE"
    case upperLayer = "TCP_ULP"
    case repair = "TCP_REPAIR"
    case zeroCopy = "SO_ZEROCOPY"
    case urgentInLine = "SO_OOBINLINE"

    /// Whether the kernel refuses it, as without `mprun`.
    package var isRefused: Bool {
        switch self {
        case .upperLayer, .repair, .zeroCopy, .urgentInLine: true
        case .retransmittedSYNs, .linger, .windowClamp, .quickAcknowledgement, .thinTimeouts, .thinDuplicates,
            .userTimeout, .pacing:
            false
        }
    }

    /// - Parameters:
    ///   - level: as setsockopt(2) has it.
    ///   - number: as include/uapi/linux/tcp.h and asm-generic/socket.h have it.
    package init?(level: UInt16, number: UInt16) {
        switch (level, number) {
        case (6, 7): self = .retransmittedSYNs
        case (6, 8): self = .linger
        case (6, 10): self = .windowClamp
        case (6, 12): self = .quickAcknowledgement
        case (6, 16): self = .thinTimeouts
        case (6, 17): self = .thinDuplicates
        case (6, 18): self = .userTimeout
        case (6, 19): self = .repair
        case (6, 31): self = .upperLayer
        case (1, 10): self = .urgentInLine
        case (1, 47): self = .pacing
        case (1, 60): self = .zeroCopy
        default: return nil
        }
    }
}
