extension SyncSituation {
    /// Leaves out names that are one on a server that folds names: what is deleted under one is gone under the other.
    ///
    /// Of two names here the one that was agreed is kept the same, else the first. A file that has another spelling here than
    /// on the server is left to the rename, where it is one; otherwise all of its spellings are left alone.
    ///
    /// - Parameter folded: equal for names that the server doesn't tell apart.
    /// - Returns: what the user has to mend.
    mutating func leaveOutClashes(
        _ direction: SyncDirection, folded: (String) -> String
    ) -> [SyncTrouble] {
        var groups: [String: Set<SyncPath>] = [:]
        for paths in [Array(agreed.keys), Array(local.keys), Array(remote.keys)] {
            for path in paths { groups[folded(path.text), default: []].insert(path) }
        }
        let clashes = groups.values.filter { $0.count > 1 }.map { group in
            group.sorted { (agreed[$0] == nil ? 1 : 0, $0) < (agreed[$1] == nil ? 1 : 0, $1) }
        }
        guard !clashes.isEmpty else { return [] }
        let renames = RenameFinder(self, direction).byPath
        var troubles: [SyncTrouble] = []
        for group in clashes.sorted(by: { $0[0] < $1[0] }) {
            let here = group.filter { local[$0] != nil }
            let there = group.filter { remote[$0] != nil }
            if there.isEmpty, here.count < 2 { continue }
            if group.count == 2, here.count == 1, let rename = renames[group[0]], rename.to == here[0],
                group.contains(rename.from)
            {
                continue
            }
            let keepsFirst =
                here.count > 1 && here.first == group.first && there.allSatisfy { $0 == group[0] }
            for path in keepsFirst ? Array(group.dropFirst()) : group where isNew(path) {
                unknown.insert(path)
                guard local[path] != nil else { continue }
                let other = group.first { $0 != path } ?? path
                troubles.append(
                    SyncTrouble(
                        path,
                        "the server does not tell it from \(other); give it quite another name, and this one later"
                    ))
            }
        }
        return troubles
    }

    /// Whether it isn't left out with its folder.
    private func isNew(_ path: SyncPath) -> Bool { !path.ancestors.contains(where: unknown.contains) }
}
