import CommandSupport
import LinuxNet
import Multipath
import ProgramSteering

/// A run's last word, as JSON.
struct RunReport: Encodable {
    private let ledger: SocketLedger
    private let isList: Bool
    private let missed: Int

    /// - Parameters:
    ///   - isList: whether sockets that had no connection are told of, too.
    ///   - missed: calls that the ledger does not know of.
    init(_ ledger: SocketLedger, isList: Bool, missed: Int) {
        (self.ledger, self.isList, self.missed) = (ledger, isList, missed)
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: AnyKey.self)
        try object.begin("report")
        try object.encode(ledger.totals.made, forKey: AnyKey("mptcp_sockets"))
        let reasons = ledger.totals.reasons.map { ($0.reason.name, $0.count) }
        try object.encode(ledger.totals.plainCount, forKey: AnyKey("tcp_sockets"))
        try object.encode(Dictionary(uniqueKeysWithValues: reasons), forKey: AnyKey("tcp_reasons"))
        try object.encode(ledger.totals.connects, forKey: AnyKey("connects"))
        try object.encode(ledger.totals.refused, forKey: AnyKey("refused"))
        try object.encode(ledger.totals.unexamined, forKey: AnyKey("unexamined"))
        try object.encode(ledger.totals.forgotten, forKey: AnyKey("forgotten"))
        try object.encode(missed, forKey: AnyKey("not_counted"))
        try object.encode(
            ledger.all.filter { isList || $0.hasConnection }.map(SocketDocument.init),
            forKey: AnyKey("sockets"))
    }

    private struct SocketDocument: Encodable {
        let socket: ProgramSocket

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: AnyKey.self)
            if case .connected(let transport) = socket.state, socket.report == nil {
                try transport.encode(to: encoder)
                try socket.level.encode(to: encoder)
            }
            try socket.report?.encode(to: encoder)
            for (key, value) in socket.fields { try object.encode(value, forKey: AnyKey(key)) }
            try object.encode(socket.state.name, forKey: AnyKey("state"))
        }
    }
}

extension ProgramSocket.State {
    /// A name for machines to read.
    fileprivate var name: String {
        switch self {
        case .made: "made"
        case .connecting: "connecting"
        case .refused: "refused"
        case .failed: "failed"
        case .brief: "brief"
        case .connected: "connected"
        }
    }
}
