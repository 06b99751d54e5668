import LinuxNet

/// One look at a socket that other code made and owns.
package struct SocketInspection: Sendable {
    package var transport: Transport
    package var paths: [TransferReport.PathTransfer]
    package var remote: IPEndpoint?

    /// - Parameters:
    ///   - descriptor: stays its owner's; it must not be closed meanwhile.
    ///   - snapshot: says which interface has which address.
    /// - Returns: nil where it is no socket of TCP or MPTCP.
    package init?(of descriptor: CInt, in snapshot: PathSnapshot) {
        guard let sample = TransportSample.read(descriptor) else { return nil }
        if case .mptcp = sample.kind {
            transport = .mptcp
        } else {
            transport = .tcp(fallback: SocketOption.isOpenedForMPTCP(descriptor) ? .peer : .disabled)
        }
        var ledger = TransferLedger()
        ledger.record(sample.subflows) { subflow, _ in
            guard let local = subflow.local?.address else { return "unknown" }
            return snapshot.interface(with: local)?.id ?? (local.isLoopback ? "lo" : PathID(local))
        }
        paths = ledger.paths()
        remote = SocketOption.remoteEndpoint(of: descriptor)
    }
}
