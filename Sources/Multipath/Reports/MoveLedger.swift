/// Remembers how a connection's data moved from path to path.
struct MoveLedger: Sendable {
    /// A connection may move for days: the first moves are forgotten, but counted.
    private static let capacity = 64

    private var moves: [TransferReport.Move] = []
    private var count = 0
    private var active: [String: Duration] = [:]

    mutating func note(_ move: TransferReport.Move) {
        book(until: move.after)
        count += 1
        if moves.count == Self.capacity { moves.removeFirst() }
        moves.append(move)
    }

    private mutating func book(until end: Duration) {
        guard let last = moves.last else { return }
        active[last.to, default: .zero] += end - last.after
    }

    /// Adds the moves, and how long each path carried.
    func complete(_ report: inout TransferReport, until end: Duration) {
        var ledger = self
        ledger.book(until: end)
        report.moveCount = count
        report.moves = moves
        for index in report.paths.indices {
            report.paths[index].timeActive = ledger.active[report.paths[index].interface] ?? .zero
        }
    }
}
