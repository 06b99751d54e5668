import LinuxNet

/// Handshakes of plain TCP that are made only to see whether a path answers, and are reset half open when it does: the
/// peer's kernel answers, and its program is not troubled. They live on the event thread.
final class TCPProbes {
    private final class Probe {
        let socket: StreamSocket
        let interface: InterfaceIndex
        var token: EventThread.Token?

        init(_ socket: consuming StreamSocket, _ interface: InterfaceIndex) {
            self.socket = socket
            self.interface = interface
        }
    }

    private let thread: EventThread
    private var running: [Int: Probe] = [:]
    private var count = 0

    /// As many over one interface as one verdict takes (`SteeringTuning.mostProbes`). The kernel repeats a SYN after a second and
    /// gives up after three, and a late answer is one too. (Those over another interface may still be on their way.)
    private static let most = 8

    init(_ thread: EventThread) { self.thread = thread }

    // The last reference may go on any thread; the event thread alone lets go of descriptors.
    deinit {
        guard !running.isEmpty else { return }
        nonisolated(unsafe) let probes = Array(running.values)
        thread.submit { [thread] in
            for probe in probes { if let token = probe.token { thread.remove(token) } }
        }
    }

    /// Starts a handshake. The closure is called on the event thread if anything comes back.
    ///
    /// - Returns: whether it left this machine. If not, no answer means nothing.
    @discardableResult
    func start(
        to remote: IPEndpoint, over interface: InterfaceIndex,
        whenAnswered body: @escaping @Sendable () -> Void
    ) -> Bool {
        let others = running.filter { $0.value.interface == interface }.keys
        if others.count >= Self.most, let oldest = others.min() { end(oldest) }
        let id = count
        count += 1
        do throws(SystemError) {
            let socket = try StreamSocket(remote.address.family, .tcp)
            try socket.bind(toInterface: interface)
            try socket.staysHalfOpen()
            let isConnected = try socket.connect(to: remote)
            // Not from inside a machine's own list of actions.
            guard !isConnected else {
                thread.submit(body)
                return true
            }
            let number = socket.descriptor.number
            let probe = Probe(socket, interface)
            running[id] = probe
            probe.token = try thread.add(number, for: .writable) { [weak self] _ in
                self?.answered(id, body)
            }
            return true
        } catch {
            end(id)
            return false
        }
    }

    func endAll() { for id in Array(running.keys) { end(id) } }

    private func answered(_ id: Int, _ body: () -> Void) {
        guard let probe = running[id] else { return }
        let error = probe.socket.consumeError()
        end(id)
        // A refusal comes from the peer's host; anything else from nearer by, or from a timer.
        guard error?.isRefusal ?? true else { return }
        body()
    }

    private func end(_ id: Int) {
        guard let probe = running.removeValue(forKey: id) else { return }
        if let token = probe.token { thread.remove(token) }
    }
}
