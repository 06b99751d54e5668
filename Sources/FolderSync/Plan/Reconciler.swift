// What makes two sides the same, from what they agreed on last and what each has now.
//
// Rules:
//  1. A side has changed a path where it differs from what was agreed; what was never agreed is new. Only one side has changed:
//     the other gets the change. Both have: the contents decide whether it is a conflict.
//  2. A conflict keeps both: one version gets another name. A change is stronger than a deletion.
//  3. Deleted is only what was agreed, and is unchanged on the side where it is deleted. Where more would go than the
//     limit allows, or a side that had files has none at all, nothing is deleted.
//  4. What can't be seen (a folder that can't be listed) is not gone.
//  5. Each action names the version that it expects. What changed meanwhile fails it, and the next pass decides anew. A pass may
//     leave a path for the next one: where a file stands in a folder's place, first the one goes.

/// Everything a plan depends on.
public struct SyncSituation: Sendable {
    /// What both sides had.
    public var agreed: [SyncPath: AgreedItem] = [:]
    /// What the folder has.
    public var local: [SyncPath: LocalItem] = [:]
    /// What the server has.
    public var remote: [SyncPath: RemoteItem] = [:]
    /// What was noted before it was done.
    public var intents: [SyncPath: Intent] = [:]
    /// Folders and files here that can't be read, with all that is in them.
    public var unknown: Set<SyncPath> = []
    /// Files whose contents were compared and differ.
    public var different: [SyncPath: DifferentVersions] = [:]

    /// Nothing on either side.
    public init() {}

    /// Two versions of a path that are not the same content.
    public struct DifferentVersions: Sendable, Hashable {
        var local: LocalVersion
        var remote: RemoteVersion
    }
}

/// Decides what to do. It does nothing.
public struct Reconciler: Sendable {
    /// What the user wants.
    public struct Options: Sendable {
        /// Which way changes go.
        public var direction = SyncDirection.both
        /// How many files and folders may be deleted in one run, on both sides together. 100 unless set.
        public var maximumDeletions = 100
        /// Of these, how many were deleted before, in earlier passes.
        var deletionsBefore = 0
        /// Whether everything on a side may be deleted because the other side is empty, or more than half of what was agreed.
        public var allowsEmptying = false
        /// Stands in a loser's name: whose version it is, and when it lost.
        public var conflictLabel = "this machine"

        /// The defaults.
        public init() {}
    }

    let options: Options
    let situation: SyncSituation
    var plan = SyncPlan()
    private var taken: Set<SyncPath> = []
    /// Left alone in this pass, with all that is in them.
    private var blocked: Set<SyncPath>
    private var isBlocking = false
    /// Folders that hold something afterwards.
    var needed: [SyncSide: Set<SyncPath>] = [:]
    private var folders: [SyncPath] = []

    /// What to do.
    public static func plan(_ situation: SyncSituation, _ options: Options) -> SyncPlan {
        var reconciler = Reconciler(situation, options)
        reconciler.decide()
        return reconciler.plan
    }

    private init(_ situation: SyncSituation, _ options: Options) {
        self.situation = situation
        self.options = options
        blocked = situation.unknown
        isBlocking = !blocked.isEmpty
    }

    private var paths: [SyncPath] {
        var all = Set(situation.agreed.keys)
        all.formUnion(situation.local.keys)
        all.formUnion(situation.remote.keys)
        all.formUnion(situation.unknown)
        return all.sorted()
    }

    private mutating func decide() {
        let renames = RenameFinder(situation, options.direction)
        for path in paths {
            if isBlocked(path) {
                keep(path)
                continue
            }
            if let rename = renames.byPath[path] {
                if rename.from == path { add(rename) }
                continue
            }
            decide(path)
        }
        for folder in folders.reversed() where !isBlocked(folder) { decideFolder(folder) }
        limitDeletions()
        let order = plan.actions.enumerated().sorted {
            ($0.element.phase.rawValue, $0.offset) < ($1.element.phase.rawValue, $1.offset)
        }
        plan.actions = order.map(\.element)
        // Folders were decided from the deepest up; they are made from the top down.
        let made = plan.actions.filter { $0.phase == .folders }.sorted { $0.path < $1.path }
        if let first = plan.actions.firstIndex(where: { $0.phase == .folders }) {
            plan.actions.replaceSubrange(first..<first + made.count, with: made)
        }
    }

    private mutating func add(_ rename: RenameFinder.Rename) {
        plan.actions.append(rename.action)
        keep(rename.to)
    }

    // MARK: What is left alone

    private func isBlocked(_ path: SyncPath) -> Bool {
        isBlocking && (blocked.contains(path) || path.ancestors.contains(where: blocked.contains))
    }

    mutating func block(_ path: SyncPath) {
        blocked.insert(path)
        isBlocking = true
        keep(path)
    }

    // MARK: One path

    enum Change {
        case none
        /// As it was agreed; a file whose numbers alone are new.
        case touched
        case changed
        case gone
    }

    private mutating func decide(_ path: SyncPath) {
        let (agreed, local, remote) = (
            situation.agreed[path], situation.local[path], situation.remote[path]
        )
        switch (local, remote) {
        case (.other?, _):
            if agreed != nil || remote != nil {
                let reason = "here is no file or folder but a link or a device; it is left alone"
                plan.troubles.append(SyncTrouble(path, reason))
            }
            block(path)
        case (.file?, .folder?): decideFileAgainstFolder(path, fileIs: .here)
        case (.folder?, .file?): decideFileAgainstFolder(path, fileIs: .there)
        case (.folder?, _), (_, .folder?): folders.append(path)
        case (nil, nil):
            if agreed?.isFolder == true { folders.append(path) } else { plan.actions.append(.forget(path)) }
        default: decideFile(path, agreed, local, remote)
        }
    }

    private mutating func decideFile(
        _ path: SyncPath, _ agreed: AgreedItem?, _ local: LocalItem?, _ remote: RemoteItem?
    ) {
        guard case .file(let oldLocal, let oldRemote, let oldContent)? = agreed else {
            return decideNewFile(path, local, remote)
        }
        let (here, there) = (change(local, oldLocal, oldContent), change(remote, oldRemote))
        switch (local, remote) {
        case (.file(let version, let content)?, .file(let remoteVersion)?):
            keep(path)
            switch (here, there) {
            case (.none, .none): break
            case (.touched, .none): agree(path, version, remoteVersion, oldContent)
            case (.changed, .none):
                carry(.upload(path, version, replacing: remoteVersion), options.direction.pushes)
            case (.none, _), (.touched, _):
                carry(.download(path, remoteVersion, replacing: version), options.direction.pulls)
            default: decideBothChanged(path, version, content, remoteVersion)
            }
        case (.file(let version, _)?, _):
            decideGone(
                path, from: .there, isChanged: here == .changed, .upload(path, version, replacing: nil),
                .deleteLocal(path, version))
        case (_, .file(let remoteVersion)?):
            decideGone(
                path, from: .here, isChanged: there == .changed,
                .download(path, remoteVersion, replacing: nil), .deleteRemote(path, remoteVersion))
        default: plan.actions.append(.forget(path))
        }
    }

    private mutating func decideNewFile(_ path: SyncPath, _ local: LocalItem?, _ remote: RemoteItem?) {
        switch (local, remote) {
        case (.file(let version, let content)?, .file(let remoteVersion)?):
            keep(path)
            decideBothChanged(path, version, content, remoteVersion)
        case (.file(let version, _)?, _):
            keep(path, on: options.direction.pushes ? SyncSide.allCases : [.here])
            carry(.upload(path, version, replacing: nil), options.direction.pushes)
        case (_, .file(let remoteVersion)?):
            keep(path, on: options.direction.pulls ? SyncSide.allCases : [.there])
            carry(.download(path, remoteVersion, replacing: nil), options.direction.pulls)
        default: break
        }
    }

    /// A side has lost the file.
    ///
    /// - Parameters:
    ///   - isChanged: the file on the other side is not as it was agreed.
    ///   - copy: brings it back.
    ///   - deletion: deletes it on the other side as well.
    private mutating func decideGone(
        _ path: SyncPath, from side: SyncSide, isChanged: Bool, _ copy: SyncAction, _ deletion: SyncAction
    ) {
        let direction = options.direction
        if !direction.carries(from: side) || isChanged && direction.carries(from: side.other) {
            keep(path)
            plan.actions.append(copy)
        } else if isChanged {
            keep(path, on: [side.other])
            plan.left += 1
        } else {
            plan.actions.append(deletion)
        }
    }

    private mutating func decideBothChanged(
        _ path: SyncPath, _ local: LocalVersion, _ content: ContentHash?, _ remote: RemoteVersion
    ) {
        if let intent = situation.intents[path], intent.content == content, intent.remote.matches(remote) {
            return agree(path, local, remote, intent.content)
        }
        let known = situation.different[path]
        let isDifferent =
            known == SyncSituation.DifferentVersions(local: local, remote: remote)
            || (remote.size != nil && remote.size != local.size)
        if isDifferent { conflict(path) } else { plan.actions.append(.compare(path, local, remote)) }
    }

    // MARK: Words

    func change(_ local: LocalItem?, _ old: LocalVersion, _ oldContent: ContentHash) -> Change {
        guard case .file(let version, let content)? = local else { return .gone }
        if version == old { return .none }
        return content == oldContent ? .touched : .changed
    }

    func change(_ remote: RemoteItem?, _ old: RemoteVersion) -> Change {
        guard case .file(let version)? = remote else { return .gone }
        return old.matches(version) ? .none : .changed
    }

    mutating func carry(_ action: SyncAction, _ isAllowed: Bool) {
        if isAllowed { plan.actions.append(action) } else { plan.left += 1 }
    }

    private mutating func agree(
        _ path: SyncPath, _ local: LocalVersion, _ remote: RemoteVersion, _ content: ContentHash
    ) {
        plan.actions.append(.agree(path, .file(local, remote, content)))
    }

    mutating func conflict(_ path: SyncPath) {
        let (local, remote, agreed, takenNow) = (situation.local, situation.remote, situation.agreed, taken)
        let other = path.conflictName(options.conflictLabel) {
            local[$0] != nil || remote[$0] != nil || agreed[$0] != nil || takenNow.contains($0)
        }
        taken.insert(other)
        keep(path)
        plan.actions.append(
            options.direction == .push ? .keepRemoteAs(path, to: other) : .keepLocalAs(path, to: other))
    }

    /// Of a handful of files more than half may go.
    private static let fewestThatMayBeAFault = 5

    private mutating func limitDeletions() {
        let deletions = plan.actions.filter(\.isDeletion)
        guard !deletions.isEmpty else { return }
        let count = deletions.count.addingReportingOverflow(options.deletionsBefore).partialValue
        if count > options.maximumDeletions {
            refuseDeletions(
                """
                \(count) deletions are more than the \(options.maximumDeletions) that are allowed at once: \
                nothing is deleted; if they are meant, say --max-delete \(count)
                """)
        } else if !options.allowsEmptying, situation.agreed.count > 1,
            situation.local.isEmpty || situation.remote.isEmpty
        {
            refuseDeletions(
                """
                \(situation.local.isEmpty ? "the folder" : "the server") is empty, which may be a fault: nothing is \
                deleted on the other side; if it is meant, say --allow-empty
                """)
        } else if !options.allowsEmptying, deletions.count >= Self.fewestThatMayBeAFault,
            deletions.count > situation.agreed.count / 2
        {
            refuseDeletions(
                """
                \(deletions.count) deletions are more than half of the \(situation.agreed.count) files and folders, which \
                may be a fault: nothing is deleted; if they are meant, say --allow-empty
                """)
        }
    }

    private mutating func refuseDeletions(_ reason: String) {
        plan.actions.removeAll(where: \.isDeletion)
        plan.troubles.append(SyncTrouble(nil, reason))
    }
}
