// Folders: those that a file has taken the place of, those that are new or gone, and those that have to stay for what is
// in them.

extension Reconciler {
    // MARK: A file in a folder's place

    /// - Parameter side: has the file.
    mutating func decideFileAgainstFolder(_ path: SyncPath, fileIs side: SyncSide) {
        defer { block(path) }
        if let deletion = deletion(of: path, on: side) {
            carry(deletion, options.direction.carries(from: side.other))
        } else if situation.agreed[path]?.isFolder == true, options.direction.carries(from: side),
            let deletions = deletions(in: path, on: side.other)
        {
            plan.actions += deletions
        } else {
            conflict(path)
        }
    }

    /// What empties a folder and deletes it; nil where something in it is not as it was agreed.
    private func deletions(in folder: SyncPath, on side: SyncSide) -> [SyncAction]? {
        guard !situation.unknown.contains(where: { $0.isInside(folder) }) else { return nil }
        let all = side == .here ? Array(situation.local.keys) : Array(situation.remote.keys)
        var (files, folders) = ([SyncAction](), [SyncAction]())
        for path in all where path == folder || path.isInside(folder) {
            guard let deletion = deletion(of: path, on: side) else { return nil }
            if deletion.phase == .emptyFolders { folders.append(deletion) } else { files.append(deletion) }
        }
        return files.sorted { $0.path < $1.path } + folders.sorted { $1.path < $0.path }
    }

    /// What deletes a file or a folder on a side; nil where it is not as it was agreed.
    private func deletion(of path: SyncPath, on side: SyncSide) -> SyncAction? {
        let agreed = situation.agreed[path]
        switch side {
        case .here:
            switch (situation.local[path], agreed) {
            case (.folder?, .folder?): return .deleteLocalFolder(path)
            case (.file(let version, _)?, .file(let old, _, let content)?)
            where change(situation.local[path], old, content) != .changed: return .deleteLocal(path, version)
            default: return nil
            }
        case .there:
            switch (situation.remote[path], agreed) {
            case (.folder?, .folder?): return .deleteRemoteFolder(path)
            case (.file(let version)?, .file(_, let old, _)?) where old.matches(version):
                return .deleteRemote(path, version)
            default: return nil
            }
        }
    }

    // MARK: Folders

    mutating func decideFolder(_ path: SyncPath) {
        let isAgreed = situation.agreed[path]?.isFolder == true
        let (isHere, isThere) = (
            situation.local[path]?.isFolder == true, situation.remote[path]?.isFolder == true
        )
        switch (isHere, isThere) {
        case (true, true):
            if !isAgreed { plan.actions.append(.agree(path, .folder)) }
            keep(path)
        case (true, false): decideFolder(path, on: .here, isAgreed: isAgreed)
        case (false, true): decideFolder(path, on: .there, isAgreed: isAgreed)
        case (false, false): plan.actions.append(.forget(path))
        }
    }

    /// - Parameter side: has it, alone.
    private mutating func decideFolder(_ path: SyncPath, on side: SyncSide, isAgreed: Bool) {
        let direction = options.direction
        if isAgreed, direction.carries(from: side.other), !isNeeded(path, on: side.other) {
            if isNeeded(path, on: side) {
                keep(path, on: [side])
            } else {
                plan.actions.append(side == .here ? .deleteLocalFolder(path) : .deleteRemoteFolder(path))
            }
        } else if direction.carries(from: side) {
            plan.actions.append(side == .here ? .makeRemoteFolder(path) : .makeLocalFolder(path))
            keep(path)
        } else {
            keep(path, on: [side])
        }
    }

    private func isNeeded(_ folder: SyncPath, on side: SyncSide) -> Bool {
        needed[side]?.contains(folder) == true
    }

    /// The folders that a path lies in stay.
    mutating func keep(_ path: SyncPath, on sides: [SyncSide] = SyncSide.allCases) {
        let folders = path.ancestors
        for side in sides { needed[side, default: []].formUnion(folders) }
    }
}
