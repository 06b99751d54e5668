/// The subflows of one connection, in the order in which they were made. They are named by their ids: a place in here
/// changes whenever one ends.
struct SubflowTable: Sendable {
    private var subflows: [Subflow] = []
    private var count = 0
    /// The last ones that are not here any more. The kernel tells of their ends later, and that is no news of new ones.
    private var gone: [Ends] = []
    private static let mostGone = 4

    private struct Ends: Sendable, Hashable {
        let local, remote: IPEndpoint
    }

    /// All of them. Not to be changed while they are walked through: walk over `ids` for that.
    var all: [Subflow] { subflows }
    var ids: [SubflowID] { subflows.map(\.id) }

    // MARK: One

    func contains(_ id: SubflowID) -> Bool { place(of: id) != nil }

    /// One that is there.
    subscript(id: SubflowID) -> Subflow {
        // Not `_read`: without optimization Swift 6.3 reads a field of what that yields after it has freed it.
        get { subflows[known(id)] }
        _modify { yield &subflows[known(id)] }
    }

    func first(where isMeant: (Subflow) -> Bool) -> SubflowID? { subflows.first(where: isMeant)?.id }
    func last(where isMeant: (Subflow) -> Bool) -> SubflowID? { subflows.last(where: isMeant)?.id }

    /// The one that carries a path's data, or stands by to.
    func data(on path: PathKey) -> SubflowID? {
        subflows.first { $0.path == path && $0.role == .data }?.id
    }

    /// There is one at most.
    var reserve: SubflowID? { subflows.first { $0.role == .reserve }?.id }

    /// The one between these endpoints.
    ///
    /// - Parameter mayBeNew: whether it may be one whose port is not known yet.
    func between(_ local: IPEndpoint, _ remote: IPEndpoint, mayBeNew: Bool = true) -> SubflowID? {
        var new: SubflowID?
        for subflow in subflows
        where subflow.address.address == local.address && subflow.remote == remote {
            if subflow.port == local.port { return subflow.id }
            if subflow.port == nil, new == nil { new = subflow.id }
        }
        return mayBeNew && !gone.contains(Ends(local: local, remote: remote)) ? new : nil
    }

    // MARK: Changes

    @discardableResult
    mutating func add(
        _ route: Subflow.Route, _ role: Subflow.Role, port: UInt16? = nil, isBackup: Bool,
        at now: MonotonicTime
    ) -> SubflowID {
        count += 1
        let id = SubflowID(number: count)
        subflows.append(Subflow(id, route, role, port: port, isBackup: isBackup, at: now))
        return id
    }

    @discardableResult
    mutating func remove(_ id: SubflowID) -> Subflow {
        let subflow = subflows.remove(at: known(id))
        if let local = subflow.local {
            gone = gone.suffix(Self.mostGone - 1) + [Ends(local: local, remote: subflow.remote)]
        }
        return subflow
    }

    mutating func removeAll(where isMeant: (Subflow) -> Bool) {
        for id in ids where isMeant(self[id]) { remove(id) }
    }

    /// Changes every one.
    mutating func updateEach(_ body: (inout Subflow) -> Void) {
        for place in subflows.indices { body(&subflows[place]) }
    }

    private func place(of id: SubflowID) -> Int? { subflows.firstIndex { $0.id == id } }

    private func known(_ id: SubflowID) -> Int {
        guard let place = place(of: id) else { preconditionFailure("subflow \(id.number) has ended") }
        return place
    }
}
