/// What one connection knows of its paths. A path is added once and never removed, so that a key stays good.
struct PathTable: Sendable {
    private var machines: [PathMachine] = []
    private var ids: [PathID] = []
    /// All of them, sorted by id: the same inputs have the same outcome.
    private(set) var keys: [PathKey] = []

    /// A path's key. One that is not known yet is added.
    mutating func key(for id: PathID) -> PathKey {
        if let place = ids.firstIndex(of: id) { return PathKey(place) }
        let key = PathKey(machines.count)
        machines.append(PathMachine())
        ids.append(id)
        keys.insert(key, at: keys.firstIndex { id < ids[$0.place] } ?? keys.endIndex)
        return key
    }

    func id(of key: PathKey) -> PathID { ids[key.place] }

    subscript(key: PathKey) -> PathMachine {
        // Not `_read`, as in SubflowTable.
        get { machines[key.place] }
        _modify { yield &machines[key.place] }
    }

    /// Whether a path is being probed because it is suspected or silent.
    var probesSuspects: Bool { machines.contains(where: \.isProbedForTrouble) }

    /// Forgets what was learnt about a path.
    mutating func reset(_ key: PathKey) { machines[key.place] = PathMachine() }
}
