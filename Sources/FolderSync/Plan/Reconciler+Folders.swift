// Folders: those that a file has taken the place of, those that are new or gone, and those that have to stay for what is
// in them.

extension Reconciler {
    // MARK: A file in a folder's place

    mutating func decideFileAgainstFolder(
        _ path: SyncPath, _ agreed: AgreedItem?, _ version: LocalVersion, _ content: ContentHash?
    ) {
        defer { block(path) }
        if case .file(let old, _, let oldContent)? = agreed,
            change(.file(version, content), old, oldContent) != .changed
        {
            carry(.deleteLocal(path, version), options.direction.pulls)
        } else if agreed?.isFolder == true, let deletions = deletionsOfRemote(path), options.direction.pushes
        {
            plan.actions += deletions
        } else {
            conflict(path)
        }
    }

    mutating func decideFolderAgainstFile(
        _ path: SyncPath, _ agreed: AgreedItem?, _ version: RemoteVersion
    ) {
        defer { block(path) }
        if case .file(_, let old, _)? = agreed, old.matches(version) {
            carry(.deleteRemote(path, version), options.direction.pushes)
        } else if agreed?.isFolder == true, let deletions = deletionsOfLocal(path), options.direction.pulls {
            plan.actions += deletions
        } else {
            conflict(path)
        }
    }

    /// What empties a folder on the server and deletes it; nil where something in it is not as it was agreed.
    private func deletionsOfRemote(_ folder: SyncPath) -> [SyncAction]? {
        guard !situation.unknown.contains(where: { $0.isInside(folder) }) else { return nil }
        var (files, folders) = ([SyncAction](), [SyncAction.deleteRemoteFolder(folder)])
        for (path, item) in situation.remote where path.isInside(folder) {
            switch (item, situation.agreed[path]) {
            case (.folder, .folder?): folders.append(.deleteRemoteFolder(path))
            case (.file(let version), .file(_, let old, _)?) where old.matches(version):
                files.append(.deleteRemote(path, version))
            default: return nil
            }
        }
        return files.sorted { $0.path < $1.path } + folders.sorted { $1.path < $0.path }
    }

    private func deletionsOfLocal(_ folder: SyncPath) -> [SyncAction]? {
        guard !situation.unknown.contains(where: { $0.isInside(folder) }) else { return nil }
        var (files, folders) = ([SyncAction](), [SyncAction.deleteLocalFolder(folder)])
        for (path, item) in situation.local where path.isInside(folder) {
            switch (item, situation.agreed[path]) {
            case (.folder, .folder?): folders.append(.deleteLocalFolder(path))
            case (.file(let version, let content), .file(let old, _, let oldContent)?)
            where change(.file(version, content), old, oldContent) != .changed:
                files.append(.deleteLocal(path, version))
            default: return nil
            }
        }
        return files.sorted { $0.path < $1.path } + folders.sorted { $1.path < $0.path }
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
            keepOnBothSides(path)
        case (true, false):
            if isAgreed, options.direction != .push, !neededRemote.contains(path) {
                if neededLocal.contains(path) {
                    keepHere(path)
                } else {
                    plan.actions.append(.deleteLocalFolder(path))
                }
            } else if options.direction.pushes {
                plan.actions.append(.makeRemoteFolder(path))
                keepOnBothSides(path)
            } else {
                keepHere(path)
            }
        case (false, true):
            if isAgreed, options.direction != .pull, !neededLocal.contains(path) {
                if neededRemote.contains(path) {
                    keepThere(path)
                } else {
                    plan.actions.append(.deleteRemoteFolder(path))
                }
            } else if options.direction.pulls {
                plan.actions.append(.makeLocalFolder(path))
                keepOnBothSides(path)
            } else {
                keepThere(path)
            }
        case (false, false): plan.actions.append(.forget(path))
        }
    }

    mutating func keepHere(_ path: SyncPath) {
        if let parent = path.parent {
            for folder in [parent] + parent.ancestors { neededLocal.insert(folder) }
        }
    }

    mutating func keepThere(_ path: SyncPath) {
        if let parent = path.parent {
            for folder in [parent] + parent.ancestors { neededRemote.insert(folder) }
        }
    }

    mutating func keepOnBothSides(_ path: SyncPath) {
        keepHere(path)
        keepThere(path)
    }
}
