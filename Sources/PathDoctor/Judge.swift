// The verdict: a pure function of the findings.
//
// Rules:
//  1. What concerns every path alike is the host's, or lies before it; what concerns one path alone is that path's.
//  2. The cause comes before what follows from it: a portal before the wrong certificate that it shows, a name server's lie
//     before the silence at the address it gave, a dead path before its unanswered names.
//  3. Of several faults the one that hurts most is told; of equal ones that of the preferred path.
//  4. That a server does not speak MPTCP is no fault of a path, nor a reason to repair anything.

import Multipath

extension CheckFindings {
    /// What the findings come to.
    public var verdict: Diagnosis { Judge(findings: self).verdict }
}

struct Judge {
    let findings: CheckFindings

    var paths: [PathFindings] { findings.paths }
    var destination: String { "\(HostPort(host: findings.host, port: findings.port))" }

    /// From this share of lost handshakes on a path is lossy; two of 32 are that many.
    static let lossLimit = 0.06
    /// From this median round trip on a path is slow.
    static let slowLimit = Duration.milliseconds(400)
    /// A queue is full where answers take that many times the shortest, or longer by `queueLimit`, while traffic passes.
    static let queueFactor = 4.0
    static let queueLimit = Duration.milliseconds(100)
    /// Below it no queue is worth a word.
    static let queueFloor = Duration.milliseconds(50)
    /// Bits a second that are more than the check's own.
    static let trafficLimit = 500_000.0

    var verdict: Diagnosis {
        if paths.isEmpty { return noPath }
        if let names = namesAlone { return names }
        let faults = paths.compactMap { path in fault(of: path).map { (path, $0) } }
        // Every path alike: the host's.
        if faults.count == paths.count, let first = faults.first?.1, faults.allSatisfy({ $0.1 == first }),
            let common = common(first)
        {
            return common
        }
        let worst = faults.min { rank($0.1) < rank($1.1) }
        guard let (path, fault) = worst else { return healthy }
        return verdict(on: path, fault)
    }

    /// The lower, the worse.
    private func rank(_ fault: Diagnosis.Fault) -> Int {
        Diagnosis.Fault.allCases.firstIndex(of: fault) ?? .max
    }

    // MARK: One path

    func fault(of path: PathFindings) -> Diagnosis.Fault? {
        if findings.lost.contains(path.interface) { return .flapping }
        if case .page = path.portal { return .captivePortal }
        // On a port where other paths find TLS something answers in the host's place; else the host speaks no TLS there.
        if case .plainHTTP = path.tls, paths.contains(where: \.tls.isTrusted) { return .captivePortal }
        if lie(of: path) != nil { return .lyingNameServer }
        switch path.tcp {
        case .silent: return path.answersElsewhere ? .portBlocked : .pathSilent
        // A firewall's refusal looks like the host's: only another path tells.
        case .refused: return paths.contains(where: \.tcp.isConnected) ? .portBlocked : .refused
        case .unreachable, .untried: return .unreachable
        case .connected: break
        }
        if path.paused, path.quality.loss < Self.lossLimit { return .flapping }
        if path.deadAddress != nil { return .familySilent }
        if case .refused = path.tls { return .wrongCertificate }
        // A queue that is full loses what does not fit, and a path that loses much loses long messages first: of such a path
        // nothing finer can be told.
        let latency = latency(of: path)
        if latency == .queueFull { return latency }
        if path.quality.sent > 0, path.quality.loss >= Self.lossLimit { return .lossy }
        if path.packets == .lost { return .packetsTooLarge }
        switch path.tls {
        case .failed, .silent, .plainHTTP: return .tlsFailed
        case .untried, .trusted, .refused: break
        }
        if path.mptcp == .dropped { return .mptcpDropped }
        if path.mptcp == .absent, paths.contains(where: { $0.mptcp == .works }) { return .mptcpStripped }
        if let latency { return latency }
        if case .forgotten = path.idle { return .idleForgotten }
        if !path.names.isEmpty, path.names.allSatisfy(\.isUnanswered) { return .namesUnanswered }
        return nil
    }

    private func latency(of path: PathFindings) -> Diagnosis.Fault? {
        guard let median = path.quality.median, var shortest = path.quality.shortest,
            let longest = path.quality.longest
        else { return nil }
        if case .connected(let time) = path.tcp { shortest = min(shortest, time) }
        let isBusy = path.traffic >= Self.trafficLimit
        // A long way takes its time with each answer; only a queue takes more with some than with others.
        let rise = max(median - shortest, longest - median)
        if isBusy, median >= Self.queueFloor,
            rise >= Self.queueLimit || median.inSeconds >= shortest.inSeconds * Self.queueFactor
        {
            return .queueFull
        }
        return median >= Self.slowLimit ? .slow : nil
    }

    /// A name server of the path that is shown to be wrong: the addresses it gave lead elsewhere, or can't be the host's, and
    /// another one gave addresses that lead to the host.
    func lie(of path: PathFindings) -> (server: IPAddress, said: String)? {
        guard let own = path.names.first(where: { !$0.isUnanswered }), let server = own.server else {
            return nil
        }
        // Where the host is, by another's word.
        var right = Set(
            paths.filter { $0.interface != path.interface && isReached($0) }.compactMap(\.address))
        let others =
            paths.filter { $0.interface != path.interface }.flatMap(\.names) + path.names
            + [findings.systemName].compactMap { $0 }
        let known = Set(others.filter { $0 != own }.flatMap(\.addresses))
        switch own.answer {
        case .noSuchName:
            return known.isEmpty || right.isEmpty ? nil : (server, "that there is no \(findings.host)")
        case .failed: return nil
        case .addresses(let addresses):
            right.subtract(addresses)
            guard let said = addresses.first else { return nil }
            let isImpossible = addresses.allSatisfy { $0.isUnspecified || $0.isLoopback }
            if isImpossible, known.contains(where: { !$0.isUnspecified && !$0.isLoopback }) {
                return (server, "\(said)")
            }
            let leadsElsewhere =
                switch path.tls {
                case .refused: true
                // A dead path is silent at any address: it lies only where the path reaches the host at another one.
                default: !path.tcp.isConnected && path.reachesOthersAddress == true
                }
            return leadsElsewhere && !right.isEmpty && path.address.map(addresses.contains) == true
                ? (server, "\(said)") : nil
        }
    }

    /// Whether the path led to the host, as far as that can be told.
    private func isReached(_ path: PathFindings) -> Bool {
        guard path.tcp.isConnected else { return false }
        return path.tls == .untried || path.tls.isTrusted
    }

    // MARK: Words

    /// `wlan0 and wwan0`
    func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }

    /// The paths that are well, and not this one.
    func others(than path: PathFindings) -> [String] {
        paths.filter { $0.interface != path.interface && fault(of: $0) == nil }.map(\.interface)
    }

    /// `; wwan0 reaches server:80`, or nothing.
    func elsewhere(_ path: PathFindings) -> String {
        let others = others(than: path)
        return others.isEmpty
            ? "" : "; \(list(others)) \(others.count == 1 ? "reaches" : "reach") \(destination)"
    }
}

extension NameFinding {
    var isUnanswered: Bool { if case .failed = answer { true } else { false } }
}
