import Multipath

/// What a run says, where it is asked to.
package protocol ProgramConsole: Sendable {
    /// A socket is the kernel's own.
    func plain(_ thread: Int32, _ reason: PlainReason)
    /// A connect was refused.
    func refused(_ socket: ProgramSocket)
    /// A connection has come about.
    func connected(_ socket: ProgramSocket, _ facts: LentSocket.Facts)
    /// The program has ended.
    func report(_ ledger: SocketLedger)
}
