/// What one connection knows of its paths. A path is added once and never removed, so that a key stays good.
struct PathTable: Sendable {
    private var machines: [PathMachine] = []
    private var names: [String] = []
    /// All of them, by name: the same inputs have the same outcome.
    private(set) var keys: [PathKey] = []

    /// A path's key. One that is not known yet is added.
    ///
    /// - Parameter name: the interface's name. At an accepting end, the peer's address.
    mutating func key(for name: String) -> PathKey {
        if let key = key(named: name) { return key }
        let key = PathKey(machines.count)
        machines.append(PathMachine())
        names.append(name)
        keys.insert(key, at: keys.firstIndex { name < names[$0.place] } ?? keys.endIndex)
        return key
    }

    func key(named name: String) -> PathKey? { names.firstIndex(of: name).map { PathKey($0) } }

    func name(of key: PathKey) -> String { names[key.place] }

    subscript(key: PathKey) -> PathMachine {
        // Not `_read`, as in SubflowTable.
        get { machines[key.place] }
        _modify { yield &machines[key.place] }
    }

    /// Whether a path is being probed because it is suspected.
    var hasSuspectProbed: Bool {
        machines.contains { $0.state.probing.map { !$0.isMeasurement } ?? false }
    }

    /// Forgets what was learnt about a path.
    mutating func reset(_ key: PathKey) { machines[key.place] = PathMachine() }
}
