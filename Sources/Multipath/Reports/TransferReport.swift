import LinuxNet
import Synchronization

/// What a connection carried, by path.
public struct TransferReport: Sendable, Hashable {
    public var transport: Transport
    public var control: SubflowControlLevel
    /// From the connection's establishment until its end, or until now.
    public var duration: Duration
    /// One entry for each interface that had a subflow, in the order in which they first did.
    public var paths: [PathTransfer]

    public var bytesSent: UInt64 { paths.reduce(0) { $0 + $1.bytesSent } }
    public var bytesReceived: UInt64 { paths.reduce(0) { $0 + $1.bytesReceived } }

    /// One interface's part.
    public struct PathTransfer: Sendable, Hashable {
        /// The interface's name, or the local address where no interface has it any more.
        public var interface: String
        /// How many subflows it had.
        public var subflows: Int
        /// Payload bytes. What MPTCP sends again on another path counts on both.
        public var bytesSent: UInt64
        public var bytesReceived: UInt64
        public var bytesRetransmitted: UInt64
        /// Of the newest subflow: smoothed, and the lowest seen.
        public var smoothedRTT: Duration
        public var minimumRTT: Duration?
    }
}

/// Counts a connection's bytes by path, from the kernel's own numbers.
///
/// It holds a second descriptor of the socket. Whoever closes the first one calls `finish` at once: until
/// then the connection stays open.
public final class ConnectionMeter: Sendable {
    private struct State: ~Copyable {
        var descriptor: Descriptor?
        var transport: Transport
        var ended: MonotonicTime?
        /// The newest sample of each subflow, by the kernel's number; it outlives the subflow.
        var subflows: [(sample: SubflowSample, interface: String)] = []
    }

    private let state: Mutex<State>
    private let started: MonotonicTime
    private let monitor: PathMonitor
    /// The interface the first subflow is bound to.
    private let firstInterface: String?

    init(
        _ descriptor: CInt, transport: Transport, interface: String?, monitor: PathMonitor
    ) throws(SystemError) {
        started = .now
        state = Mutex(State(descriptor: try Descriptor(duplicating: descriptor), transport: transport))
        firstInterface = interface
        self.monitor = monitor
    }

    /// What was carried so far. After `finish`: all.
    public func report() -> TransferReport {
        state.withLock { state in
            sample(&state)
            return TransferReport(
                transport: state.transport, control: .observeOnly,
                duration: started.duration(to: state.ended ?? .now), paths: Self.paths(of: state.subflows))
        }
    }

    /// Takes the last sample and lets go of the socket.
    public func finish() {
        state.withLock { state in
            sample(&state)
            state.ended = state.ended ?? .now
            state.descriptor = nil
        }
    }

    private func sample(_ state: inout State) {
        guard let number = state.descriptor?.number, let sample = TransportSample.read(number) else { return }
        // Fallback can come as late as the first data (RFC 8684 section 3.7).
        if case .tcp = sample.kind, state.transport.isMPTCP { state.transport = .tcp(fallback: .peer) }
        let path = monitor.latestPath
        for subflow in sample.subflows {
            if let known = state.subflows.firstIndex(where: { $0.sample.id == subflow.id }) {
                state.subflows[known].sample = subflow
            } else {
                let name =
                    (state.subflows.isEmpty ? firstInterface : nil)
                    ?? subflow.local.flatMap { local in
                        path?.interface(with: local.address)?.name ?? "\(local.address)"
                    }
                state.subflows.append((subflow, name ?? "unknown"))
            }
        }
    }

    private static func paths(
        of subflows: [(sample: SubflowSample, interface: String)]
    ) -> [TransferReport.PathTransfer] {
        var paths: [TransferReport.PathTransfer] = []
        for (sample, interface) in subflows {
            let index =
                paths.firstIndex { $0.interface == interface }
                ?? {
                    paths.append(
                        TransferReport.PathTransfer(
                            interface: interface, subflows: 0, bytesSent: 0, bytesReceived: 0,
                            bytesRetransmitted: 0, smoothedRTT: .zero))
                    return paths.count - 1
                }()
            paths[index].subflows += 1
            paths[index].bytesSent += sample.bytesSent
            paths[index].bytesReceived += sample.bytesReceived
            paths[index].bytesRetransmitted += sample.bytesRetransmitted
            paths[index].smoothedRTT = sample.smoothedRTT
            if let minimum = sample.minimumRTT {
                paths[index].minimumRTT = min(paths[index].minimumRTT ?? minimum, minimum)
            }
        }
        return paths
    }
}
