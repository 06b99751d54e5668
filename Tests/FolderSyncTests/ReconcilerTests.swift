import Testing

@testable import FolderSync

@Suite struct ReconcilerTests {
    private func file(_ number: Int64) -> LocalVersion {
        LocalVersion(size: 1, modified: number, changed: number, inode: UInt64(number))
    }

    private func agree(
        _ names: [String], tag: (Int) -> String = { "\"version-\($0)\"" }
    ) throws -> SyncSituation {
        var situation = SyncSituation()
        for (number, name) in names.enumerated() {
            let path = try SyncPath(name)
            let remote = RemoteVersion(tag: tag(number), size: 1, modified: "then")
            let local = file(Int64(number) + 1)
            situation.agreed[path] = .file(local, remote, ContentHash("\(number)"))
            situation.local[path] = .file(local, ContentHash("\(number)"))
            situation.remote[path] = .file(remote)
        }
        return situation
    }

    private func fold(_ text: String) -> String { text.lowercased() }

    @Test("names that the server doesn't tell apart are never deleted for each other")
    func clashes() throws {
        let (old, new) = (try SyncPath("A.txt"), try SyncPath("a.txt"))
        var renamed = try agree(["A.txt"])
        renamed.local[new] = renamed.local.removeValue(forKey: old)
        var situation = renamed
        #expect(situation.leaveOutClashes(.both, folded: fold).isEmpty)
        let actions = Reconciler.plan(situation, Reconciler.Options()).actions
        #expect(actions.count == 1 && actions.first?.phase == .moves)

        var other = renamed
        other.local[new] = .file(file(9), ContentHash("other"))
        var both = renamed
        both.remote[new] = both.remote[old]
        var pulled = try agree(["A.txt"])
        pulled.remote[new] = pulled.remote.removeValue(forKey: old)
        for var situation in [other, both, pulled] {
            _ = situation.leaveOutClashes(.both, folded: fold)
            #expect(Reconciler.plan(situation, Reconciler.Options()).actions.isEmpty)
        }
        var folder = SyncSituation()
        let (oldFolder, newFolder) = (try SyncPath("D"), try SyncPath("d"))
        folder.agreed[oldFolder] = .folder
        folder.remote[oldFolder] = .folder
        folder.local[newFolder] = .folder
        #expect(folder.leaveOutClashes(.both, folded: fold).count == 1)
        #expect(Reconciler.plan(folder, Reconciler.Options()).actions.isEmpty)
    }
}
