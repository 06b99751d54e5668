public import CommandTLS
import LinuxNet
public import Multipath

/// Checks the way to a destination over each path, and says what is wrong.
public struct PathDoctor: Sendable {
    /// What is checked, and how.
    public struct Target: Sendable {
        /// A name, or an address without brackets.
        public var host: String
        /// The port.
        public var port: UInt16
        /// TLS, where the port speaks it; nil where not.
        public var tls: ClientTLS?
        /// Whether the port speaks HTTP in the clear.
        public var speaksHTTP: Bool
        /// How long a connection is left idle, to see whether it is forgotten on the way; nil not to ask.
        public var idle: Duration?
        /// Whether this kernel makes MPTCP sockets.
        let kernelSpeaksMPTCP = StreamSocket.kernelSpeaksMPTCP

        /// A target of these parts.
        public init(
            host: String, port: UInt16, tls: ClientTLS? = nil, speaksHTTP: Bool = false, idle: Duration? = nil
        ) {
            self.host = host
            self.port = port
            self.tls = tls
            self.speaksHTTP = speaksHTTP
            self.idle = idle
        }

        var address: IPAddress? { IPAddress(host)?.asDestination }
        var isName: Bool { address == nil }
    }

    private let monitor: PathMonitor

    /// - Parameter monitor: tells the paths.
    public init(monitor: PathMonitor) { self.monitor = monitor }

    /// Looks at every path at the same time; it takes some four seconds where all is well.
    ///
    /// - Parameters:
    ///   - target: what is checked.
    ///   - progress: told what is done now, on any thread.
    /// - Throws: `PathMonitorError` where this machine's paths can't be read.
    public func check(
        _ target: Target, progress: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> CheckFindings {
        let snapshot = try await monitor.currentPath()
        var findings = CheckFindings(host: target.host, port: target.port)
        findings.kernelSpeaksMPTCP = target.kernelSpeaksMPTCP
        findings.omissions = snapshot.excluded
            .filter { $0.reason != .loopback && $0.interface.type.value != .virtual }
            .map { PathOmission(interface: $0.interface.name, reason: "\($0.reason)") }
        guard !snapshot.interfaces.isEmpty else { return findings }
        let lost = Locked<Set<String>>([])
        let watch = Task { [monitor] in
            for await latest in monitor.updates {
                let gone = snapshot.interfaces.filter { latest.path($0.index) == nil }.map(\.name)
                lost.withLock { $0.formUnion(gone) }
            }
        }
        defer { watch.cancel() }
        if target.isName {
            progress("the system's resolver")
            findings.systemName = await NameProbe(host: target.host).system()
        }
        let systemName = findings.systemName
        let probes = snapshot.interfaces.map { path in
            PathProbe(
                path: path, snapshot: snapshot, target: target, systemName: systemName, progress: progress)
        }
        findings.paths = await withTaskGroup(of: (Int, PathFindings).self) { group in
            for (place, probe) in probes.enumerated() {
                group.addTask { (place, await probe.run()) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        await compareAddresses(&findings, probes)
        findings.lost = lost.withLock { $0 }
        return findings
    }

    /// A path whose address takes no connection may be dead, or its name server may lie: an address at which another path
    /// reached the host tells the two apart.
    private func compareAddresses(_ findings: inout CheckFindings, _ probes: [PathProbe]) async {
        let reached = findings.paths.filter(\.tcp.isConnected).compactMap(\.address).unique
        for (place, found) in findings.paths.enumerated() {
            guard !found.tcp.isConnected, found.tcp != .untried, let own = found.address,
                case let others = reached.filter({
                    $0 != own && !found.names.flatMap(\.addresses).contains($0)
                }),
                !others.isEmpty
            else { continue }
            findings.paths[place].reachesOthersAddress = await probes[place].reaches(
                Array(others.prefix(Self.mostCompared)))
        }
    }

    private static let mostCompared = 2
}
