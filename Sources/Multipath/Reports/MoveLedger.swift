/// Remembers how a connection's data moved from path to path.
struct MoveLedger: Sendable {
    private var moves: [TransferReport.Move] = []
    private var count = 0
    private var carrier: (path: PathID, since: Duration)?
    private var active: [PathID: Duration] = [:]

    /// - Parameter first: the path that carries from the beginning; nil for a connection that is not steered.
    init(first: PathID?) { carrier = first.map { ($0, .zero) } }

    mutating func note(_ move: TransferReport.Move) {
        book(until: move.after)
        carrier = (move.to, move.after)
        count += 1
        if moves.count == TransferReport.mostMoves { moves.removeFirst() }
        moves.append(move)
    }

    private mutating func book(until end: Duration) {
        if let carrier { active[carrier.path, default: .zero] += end - carrier.since }
    }

    /// Adds the moves, and how long each path carried.
    func complete(_ report: inout TransferReport, until end: Duration) {
        var ledger = self
        ledger.book(until: end)
        report.moveCount = count
        report.moves = moves
        for index in report.paths.indices {
            report.paths[index].timeActive = ledger.active[report.paths[index].path] ?? .zero
        }
    }
}
