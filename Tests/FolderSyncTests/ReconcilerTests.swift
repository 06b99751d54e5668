import Testing

@testable import FolderSync

@Suite("What is to be done with two lists of files") struct ReconcilerTests {
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

    @Test("more than half of all is not deleted without a word")
    func half() throws {
        var situation = try agree((0..<12).map { "f\($0)" })
        for number in 0..<7 { situation.remote[try SyncPath("f\(number)")] = nil }
        var options = Reconciler.Options()
        let refused = Reconciler.plan(situation, options)
        #expect(!refused.hasWork && refused.troubles.contains { $0.reason.contains("--allow-empty") })
        options.deletionsBefore = 94
        options.allowsEmptying = true
        let limited = Reconciler.plan(situation, options)
        #expect(!limited.hasWork && limited.troubles.contains { $0.reason.contains("--max-delete 101") })
        options.deletionsBefore = 93
        #expect(Reconciler.plan(situation, options).actions.count == 7)
    }

    @Test("a time with a size is no file's own tag: such a rename is fetched anew")
    func renames() throws {
        for (tag, isRename) in [
            ("\"1-63f2a7b1c2d3e\"", false), ("\"17f3a7b1c2d3e4f51\"", false),
            ("\"0123456789abcdef0123456789abcdef\"", true),
        ] {
            var situation = try agree(["a"], tag: { _ in tag })
            situation.remote[try SyncPath("b")] = situation.remote.removeValue(forKey: try SyncPath("a"))
            let actions = Reconciler.plan(situation, Reconciler.Options()).actions
            #expect(actions.contains { $0.phase == .moves } == isRename)
        }
    }

    @Test("a tag of nginx's is one with its second")
    func coarse() {
        let version = RemoteVersion(tag: "\"65f2a7b1-7\"", size: 7, modified: "now")
        #expect(version.isCoarse && version.matches(version) && !version.untrusted.matches(version))
        #expect(!RemoteVersion(tag: "\"7-63f2a7b1c2d3e\"", size: 7, modified: nil).isCoarse)
    }
}
