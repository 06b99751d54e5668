import Multipath

/// A check as JSON: one object, whose keys are always there; null is what is not known or was not asked.
public struct CheckDocument: Encodable, Sendable {
    private let findings: CheckFindings

    /// The document of these findings.
    public init(_ findings: CheckFindings) { self.findings = findings }

    private enum Key: String, CodingKey {
        case host, port, verdict, paths, omissions, name
        case exitStatus = "exit_status"
    }

    public func encode(to encoder: any Encoder) throws {
        let verdict = findings.verdict
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(findings.host, forKey: .host)
        try object.encode(findings.port, forKey: .port)
        try object.encode(verdict.exitStatus, forKey: .exitStatus)
        try object.encode(VerdictDocument(verdict: verdict), forKey: .verdict)
        try object.encode(findings.systemName.map(NameDocument.init), forKey: .name)
        try object.encode(findings.paths.map { PathDocument(path: $0, findings: findings) }, forKey: .paths)
        try object.encode(findings.omissions, forKey: .omissions)
    }

    private struct VerdictDocument: Encodable {
        let verdict: Diagnosis

        private enum Key: String, CodingKey { case fault, path, sentence, advice, healthy }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(verdict.fault.rawValue, forKey: .fault)
            try object.encode(verdict.path, forKey: .path)
            try object.encode(verdict.sentence, forKey: .sentence)
            try object.encode(verdict.advice, forKey: .advice)
            try object.encode(verdict.isHealthy, forKey: .healthy)
        }
    }

    private struct NameDocument: Encodable {
        let name: NameFinding

        private enum Key: String, CodingKey {
            case server, addresses, error
            case duration = "duration_ms"
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(name.server, forKey: .server)
            try object.encode(name.duration.inMilliseconds, forKey: .duration)
            try object.encode(name.addresses, forKey: .addresses)
            var error: String?
            switch name.answer {
            case .addresses: break
            case .noSuchName: error = "no such name"
            case .failed(let words): error = words
            }
            try object.encode(error, forKey: .error)
        }
    }

    private struct PathDocument: Encodable {
        let path: PathFindings
        let findings: CheckFindings

        /// Of a certificate's names no more are shown: a hostile one has thousands.
        private static let mostNames = 32

        private enum Key: String, CodingKey {
            case interface, type, expensive, constrained, fault, names, address, tcp, mptcp, tls, error,
                portal, packets
            case tcpTime = "tcp_ms"
            case answersElsewhere = "answers_on_other_ports"
            case deadAddress = "dead_address"
            case paused
            case certificateNames = "certificate_names"
            case tlsVersion = "tls_version"
            case portalLocation = "portal_location"
            case pathMTU = "path_mtu"
            case rtt = "rtt_ms"
            case shortestRTT = "rtt_min_ms"
            case longestRTT = "rtt_max_ms"
            case sent = "handshakes"
            case answered = "handshakes_answered"
            case traffic = "traffic_bps"
            case idle
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(path.interface, forKey: .interface)
            try object.encode(path.type.rawValue, forKey: .type)
            try object.encode(path.isExpensive, forKey: .expensive)
            try object.encode(path.isConstrained, forKey: .constrained)
            try object.encode(Judge(findings: findings).fault(of: path)?.rawValue, forKey: .fault)
            try object.encode(path.names.map(NameDocument.init), forKey: .names)
            try object.encode(path.address, forKey: .address)
            try object.encode(path.deadAddress, forKey: .deadAddress)
            try object.encode(path.paused, forKey: .paused)
            try object.encode(path.answersElsewhere, forKey: .answersElsewhere)
            try encodeConnections(&object)
            try encodeTLS(&object)
            try encodePortal(&object)
            try object.encode(path.pathMTU, forKey: .pathMTU)
            try object.encode(path.quality.median?.inMilliseconds, forKey: .rtt)
            try object.encode(path.quality.shortest?.inMilliseconds, forKey: .shortestRTT)
            try object.encode(path.quality.longest?.inMilliseconds, forKey: .longestRTT)
            try object.encode(path.quality.sent, forKey: .sent)
            try object.encode(path.quality.roundTrips.count, forKey: .answered)
            try object.encode(Int(path.traffic), forKey: .traffic)
            var idle: String?
            switch path.idle {
            case .remembered: idle = "remembered"
            case .forgotten: idle = "forgotten"
            case .ended: idle = "ended_by_server"
            case nil: break
            }
            try object.encode(idle, forKey: .idle)
        }

        private func encodeConnections(_ object: inout KeyedEncodingContainer<Key>) throws {
            var (tcp, time): (String?, Duration?) = (nil, nil)
            switch path.tcp {
            case .untried: break
            case .connected(let duration): (tcp, time) = ("connected", duration)
            case .refused: tcp = "refused"
            case .silent: tcp = "silent"
            case .unreachable: tcp = "unreachable"
            }
            try object.encode(tcp, forKey: .tcp)
            try object.encode(time?.inMilliseconds, forKey: .tcpTime)
            var mptcp: String?
            switch path.mptcp {
            case .untried: break
            case .works: mptcp = "works"
            case .absent: mptcp = "absent"
            case .dropped: mptcp = "dropped"
            case .withheld: mptcp = "withheld"
            }
            try object.encode(mptcp, forKey: .mptcp)
            var packets: String?
            switch path.packets {
            case .untried: break
            case .arrive: packets = "arrive"
            case .lost: packets = "lost"
            }
            try object.encode(packets, forKey: .packets)
        }

        private func encodeTLS(_ object: inout KeyedEncodingContainer<Key>) throws {
            var (tls, version, names, error): (String?, String?, [String]?, String?) = (nil, nil, nil, nil)
            switch path.tls {
            case .untried: break
            case .trusted(let spoken, let shown, _): (tls, version, names) = ("trusted", spoken, shown)
            case .refused(let reason, let shown): (tls, names, error) = ("refused", shown, reason)
            case .plainHTTP(let line): (tls, error) = ("plain_http", line)
            case .failed(let words): (tls, error) = ("failed", words)
            case .silent: tls = "silent"
            }
            if case .unreachable(let words) = path.tcp { error = words }
            try object.encode(tls, forKey: .tls)
            try object.encode(version, forKey: .tlsVersion)
            try object.encode(names.map { Array($0.prefix(Self.mostNames)) }, forKey: .certificateNames)
            try object.encode(error, forKey: .error)
        }

        private func encodePortal(_ object: inout KeyedEncodingContainer<Key>) throws {
            var (portal, target): (String?, String?) = (nil, nil)
            switch path.portal {
            case .none: break
            case .page(let status, let location): (portal, target) = (status, location)
            case .proxy(let status): portal = status
            }
            try object.encode(portal, forKey: .portal)
            try object.encode(target, forKey: .portalLocation)
        }
    }
}
