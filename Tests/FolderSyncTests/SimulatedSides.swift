@testable import FolderSync

/// A folder and a server in memory, and what a run does with them: the same machine that moves real files, without files.
struct SimulatedSides {
    /// A content is a number; the version numbers of both sides come from clocks that go by one.
    var local: [SyncPath: (version: LocalVersion, content: Int)?] = [:]
    var remote: [SyncPath: (version: RemoteVersion, content: Int)?] = [:]
    var agreed: [SyncPath: AgreedItem] = [:]
    private var clock: Int64 = 0
    private(set) var lastPlan = SyncPlan()

    static func hash(_ content: Int) -> ContentHash { ContentHash("\(content)") }

    mutating func tick() -> Int64 {
        clock += 1
        return clock
    }

    // MARK: What users do

    mutating func writeLocal(_ path: SyncPath, _ content: Int) {
        for folder in path.ancestors where local[folder] == nil { local[folder] = .some(nil) }
        let time = tick()
        local[path] = (
            LocalVersion(size: 1, modified: time, changed: time, inode: UInt64(time)), content
        )
    }

    mutating func writeRemote(_ path: SyncPath, _ content: Int) {
        for folder in path.ancestors where remote[folder] == nil { remote[folder] = .some(nil) }
        remote[path] = (
            RemoteVersion(
                tag: "\"\(1_000_000_000_000_000 + tick())0123456789abcdef\"", size: 1, modified: nil), content
        )
    }

    mutating func moveLocal(_ path: SyncPath, _ other: SyncPath) {
        for (old, item) in local {
            guard let new = old.moved(from: path, to: other) else { continue }
            local[old] = nil
            var item = item
            item?.version.changed = tick()
            local.updateValue(item, forKey: new)
        }
        for folder in other.ancestors where local[folder] == nil { local.updateValue(nil, forKey: folder) }
    }

    mutating func moveRemote(_ path: SyncPath, _ other: SyncPath) {
        for (old, item) in remote {
            guard let new = old.moved(from: path, to: other) else { continue }
            remote[old] = nil
            remote.updateValue(item, forKey: new)
        }
        for folder in other.ancestors where remote[folder] == nil { remote.updateValue(nil, forKey: folder) }
    }

    mutating func deleteLocal(_ path: SyncPath) {
        for other in local.keys where other == path || other.isInside(path) { local[other] = nil }
    }

    mutating func deleteRemote(_ path: SyncPath) {
        for other in remote.keys where other == path || other.isInside(path) { remote[other] = nil }
    }

    // MARK: A run

    private func situation(_ different: [SyncPath: SyncSituation.DifferentVersions]) -> SyncSituation {
        var situation = SyncSituation()
        situation.agreed = agreed
        for (path, item) in local {
            situation.local[path] = item.map { .file($0.version, Self.hash($0.content)) } ?? .folder
        }
        for (path, item) in remote { situation.remote[path] = item.map { .file($0.version) } ?? .folder }
        situation.different = different
        return situation
    }

    /// Runs passes until there is nothing to do.
    ///
    /// - Parameters:
    ///   - isKilled: ends the run before an action, or lets it be done without being noted.
    ///   - meanwhile: what users do before an action.
    /// - Returns: whether it came to its end; an action that fails because of what users did meanwhile is left to the next pass.
    mutating func run(
        _ options: Reconciler.Options, isKilled: () -> Kill? = { nil },
        meanwhile: (inout SimulatedSides) -> Void = { _ in }
    ) -> Bool {
        var different: [SyncPath: SyncSituation.DifferentVersions] = [:]
        for _ in 0..<20 {
            let plan = Reconciler.plan(situation(different), options)
            lastPlan = plan
            for action in plan.actions {
                meanwhile(&self)
                let kill = isKilled()
                if kill == .before { return false }
                let note = perform(action, &different)
                if kill == .unnoted { return false }
                for (path, item) in note { agreed[path] = item }
            }
            if !plan.hasWork { return true }
        }
        return false
    }

    enum Kill {
        case before
        case unnoted
    }

    /// - Returns: what is to be written into the record.
    private mutating func perform(
        _ action: SyncAction, _ different: inout [SyncPath: SyncSituation.DifferentVersions]
    ) -> [(SyncPath, AgreedItem?)] {
        switch action {
        case .makeLocalFolder(let path):
            guard hasLocalParent(path), local[path] == nil else { return [] }
            local[path] = .some(nil)
            return [(path, .folder)]
        case .makeRemoteFolder(let path):
            guard hasRemoteParent(path), remote[path] == nil else { return [] }
            remote[path] = .some(nil)
            return [(path, .folder)]
        case .upload(let path, let version, let replaced):
            guard let file = local[path] ?? nil, file.version == version, hasRemoteParent(path),
                replaced == nil ? remote[path] == nil : (remote[path] ?? nil)?.version == replaced
            else { return [] }
            writeRemote(path, file.content)
            return record(path)
        case .download(let path, let version, let replaced):
            guard let file = remote[path] ?? nil, file.version == version, hasLocalParent(path),
                replaced == nil ? local[path] == nil : (local[path] ?? nil)?.version == replaced
            else { return [] }
            writeLocal(path, file.content)
            return record(path)
        case .compare(let path, let version, let remoteVersion):
            guard let here = local[path] ?? nil, let there = remote[path] ?? nil, here.version == version,
                there.version == remoteVersion
            else { return [] }
            if here.content == there.content { return record(path) }
            if case .file(let old, _, let content)? = agreed[path], Self.hash(there.content) == content {
                return [(path, .file(old, there.version, content))]
            }
            different[path] = SyncSituation.DifferentVersions(local: version, remote: remoteVersion)
            return []
        case .moveLocal(let path, let other, let version, let planned, let content):
            guard let file = local[path] ?? nil, file.version == version, local[other] == nil,
                hasLocalParent(other, isMaking: true)
            else { return [] }
            moveLocal(path, other)
            guard let moved = local[other] ?? nil else { return [] }
            return [(path, nil), (other, .file(moved.version, planned, content))]
        case .moveRemote(let path, let other, let planned, let version, let content):
            guard let file = remote[path] ?? nil, file.version == version, remote[other] == nil,
                hasRemoteParent(other)
            else { return [] }
            moveRemote(path, other)
            return [(path, nil), (other, .file(planned, file.version, content))]
        case .deleteLocal(let path, let version):
            guard let file = local[path] ?? nil, file.version == version else { return [] }
            local[path] = nil
            return [(path, nil)]
        case .deleteRemote(let path, let version):
            guard let file = remote[path] ?? nil, file.version == version else { return [] }
            remote[path] = nil
            return [(path, nil)]
        case .deleteLocalFolder(let path):
            guard localFolders.contains(path), !local.keys.contains(where: { $0.isInside(path) }) else {
                return []
            }
            local[path] = nil
            return [(path, nil)]
        case .deleteRemoteFolder(let path):
            guard remoteFolders.contains(path), !remote.keys.contains(where: { $0.isInside(path) }) else {
                return []
            }
            remote[path] = nil
            return [(path, nil)]
        case .keepLocalAs(let path, let other):
            guard local[path] != nil, local[other] == nil, hasLocalParent(other) else { return [] }
            moveLocal(path, other)
            return []
        case .keepRemoteAs(let path, let other):
            guard remote[path] != nil, remote[other] == nil, hasRemoteParent(other) else { return [] }
            moveRemote(path, other)
            return []
        case .agree(let path, let item): return [(path, item)]
        case .forget(let path): return [(path, nil)]
        }
    }

    private func record(_ path: SyncPath) -> [(SyncPath, AgreedItem?)] {
        guard let here = local[path] ?? nil, let there = remote[path] ?? nil else { return [] }
        return [(path, .file(here.version, there.version, Self.hash(here.content)))]
    }

    private mutating func hasLocalParent(_ path: SyncPath, isMaking: Bool = false) -> Bool {
        for folder in path.ancestors.reversed() {
            if let item = local[folder] {
                if item != nil { return false }
            } else if isMaking {
                local[folder] = .some(nil)
            } else {
                return false
            }
        }
        return true
    }

    private func hasRemoteParent(_ path: SyncPath) -> Bool {
        path.ancestors.allSatisfy { folder in remote[folder].map { $0 == nil } ?? false }
    }

    // MARK: Looking

    var localFiles: [SyncPath: Int] { local.compactMapValues { $0?.content } }
    var remoteFiles: [SyncPath: Int] { remote.compactMapValues { $0?.content } }
    var localFolders: Set<SyncPath> { Set(local.filter { $0.value == nil }.keys) }
    var remoteFolders: Set<SyncPath> { Set(remote.filter { $0.value == nil }.keys) }
}
