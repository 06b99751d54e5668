import LinuxNet

/// Probes of paths that several connections ask about at the same time: one handshake to each host over each path answers all.
/// They live on the event thread.
final class SharedProbes: @unchecked Sendable {
    private struct Target: Hashable {
        var remote: IPEndpoint
        var interface: InterfaceIndex
    }

    private struct Asked {
        let probes: TCPProbes
        var since: MonotonicTime
        var waiting: [@Sendable () -> Void] = []
    }

    private let thread: EventThread
    private var asked: [Target: Asked] = [:]
    /// Handshakes that were begun.
    private(set) var count = 0

    /// A handshake that was begun so long ago is lost, as a rule.
    private static let freshness = Duration.milliseconds(100)
    /// The kernel gives up by then: no answer is awaited any more.
    private static let patience = Duration.seconds(4)
    /// Connections that wait for one answer; more begin one of their own.
    private static let mostWaiting = 1024

    init(_ thread: EventThread) { self.thread = thread }

    /// Asks whether a path answers. The closure is called on the event thread if anything comes back.
    func start(
        to remote: IPEndpoint, over interface: InterfaceIndex,
        whenAnswered body: @escaping @Sendable () -> Void
    ) {
        thread.checkIsolated()
        let now = MonotonicTime.now
        asked = asked.filter { $0.value.since.duration(to: now) < Self.patience }
        let target = Target(remote: remote, interface: interface)
        var entry = asked[target] ?? Asked(probes: TCPProbes(thread), since: .zero)
        if entry.waiting.count < Self.mostWaiting { entry.waiting.append(body) }
        let isFresh = entry.since.duration(to: now) < Self.freshness
        if !isFresh { entry.since = now }
        asked[target] = entry
        guard !isFresh else { return }
        count += 1
        entry.probes.start(to: remote, over: interface) { [weak self] in self?.answered(target) }
    }

    private func answered(_ target: Target) {
        guard let entry = asked.removeValue(forKey: target) else { return }
        for body in entry.waiting { body() }
    }
}
