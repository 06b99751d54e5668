import Foundation
import TestSupport
import Testing

@testable import FolderSync

/// Histories of what users do on both sides, each told by its seed.
@Suite("Many runs of mpsync, with a history each") struct HistoryTests {
    /// SYNC_HISTORIES asks for more of each kind.
    private static let histories =
        ProcessInfo.processInfo.environment["SYNC_HISTORIES"].flatMap { Int($0) } ?? 600

    private static let options: Reconciler.Options = {
        var options = Reconciler.Options()
        options.maximumDeletions = .max
        options.allowsEmptying = true
        options.conflictLabel = "test"
        return options
    }()

    /// What users do, and which contents they destroyed themselves.
    private struct Users {
        var random: SplitMix64
        let names: [SyncPath]
        /// Each is written once, or on both sides.
        var written: Set<Int> = []
        /// Overwritten or deleted by a user, on some side.
        var destroyed: Set<Int> = []

        init(seed: UInt64, names: [String]) throws {
            random = SplitMix64(seed: seed)
            self.names = try names.map { try SyncPath($0) }
        }

        mutating func act(on sides: inout SimulatedSides) {
            guard let path = names.randomElement(using: &random),
                let other = names.randomElement(using: &random)
            else { return }
            let isLocal = Bool.random(using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: write(path, &sides, isLocal: isLocal)
            case 5..<7: delete(path, &sides, isLocal: isLocal)
            case 7..<9: move(path, other, &sides, isLocal: isLocal)
            default:
                // The same content on both sides, as where a file came another way.
                let before = written.count
                write(path, &sides, isLocal: true)
                if written.count > before { write(path, &sides, isLocal: false, content: before) }
            }
        }

        private func canHold(_ path: SyncPath, _ files: [SyncPath: Int], _ folders: Set<SyncPath>) -> Bool {
            !folders.contains(path) && path.ancestors.allSatisfy { files[$0] == nil }
        }

        private mutating func write(
            _ path: SyncPath, _ sides: inout SimulatedSides, isLocal: Bool, content: Int? = nil
        ) {
            let files = isLocal ? sides.localFiles : sides.remoteFiles
            guard canHold(path, files, isLocal ? sides.localFolders : sides.remoteFolders) else { return }
            if let old = files[path] { destroyed.insert(old) }
            let new = content ?? written.count
            written.insert(new)
            if isLocal { sides.writeLocal(path, new) } else { sides.writeRemote(path, new) }
        }

        private mutating func delete(_ path: SyncPath, _ sides: inout SimulatedSides, isLocal: Bool) {
            for (other, content) in isLocal ? sides.localFiles : sides.remoteFiles
            where other == path || other.isInside(path) {
                destroyed.insert(content)
            }
            if isLocal { sides.deleteLocal(path) } else { sides.deleteRemote(path) }
        }

        private mutating func move(
            _ path: SyncPath, _ other: SyncPath, _ sides: inout SimulatedSides, isLocal: Bool
        ) {
            let (files, folders) =
                isLocal
                ? (sides.localFiles, sides.localFolders) : (sides.remoteFiles, sides.remoteFolders)
            guard files[path] != nil || folders.contains(path), files[other] == nil, !folders.contains(other),
                !other.isInside(path), canHold(other, files, folders)
            else { return }
            if isLocal { sides.moveLocal(path, other) } else { sides.moveRemote(path, other) }
        }
    }

    /// What three lists of files say of the fourth, path by path, without knowing of renames.
    private static func merged(
        _ base: [SyncPath: Int], _ local: [SyncPath: Int], _ remote: [SyncPath: Int]
    ) -> (files: [SyncPath: Int], losers: [Int]) {
        var (files, losers) = ([SyncPath: Int](), [Int]())
        for path in Set(base.keys).union(local.keys).union(remote.keys) {
            let (old, here, there) = (base[path], local[path], remote[path])
            if here == there || there == old {
                files[path] = here
            } else if here == old || here == nil {
                files[path] = there
            } else {
                files[path] = there ?? here
                if there != nil, let here { losers.append(here) }
            }
        }
        return (files, losers)
    }

    @Test("a run makes of each history what a merge of three lists says")
    func model() throws {
        for seed in 0..<Self.histories {
            // Files and folders have names of their own, so that each path can be merged by itself.
            var users = try Users(
                seed: UInt64(seed), names: ["f1", "f2", "f3", "d/f1", "d/f2", "d/e/f1", "g/f1", "g/f2"])
            var sides = SimulatedSides()
            for round in 0..<4 {
                let base = sides.localFiles
                for _ in 0..<Int.random(in: 1...12, using: &users.random) { users.act(on: &sides) }
                let (expected, losers) = Self.merged(base, sides.localFiles, sides.remoteFiles)
                let isDone = sides.run(Self.options)
                try #require(isDone, "seed \(seed), round \(round)")
                try #require(sides.localFiles == sides.remoteFiles, "seed \(seed), round \(round)")
                try #require(sides.localFolders == sides.remoteFolders, "seed \(seed), round \(round)")
                var rest = sides.localFiles
                for (path, content) in expected {
                    let found = rest.removeValue(forKey: path)
                    try #require(found == content, "seed \(seed), \(path)")
                }
                try #require(rest.values.sorted() == losers.sorted(), "seed \(seed), round \(round)")
                try #require(rest.keys.allSatisfy { $0.name.contains("(conflict of test") })
            }
        }
    }

    @Test(
        "whatever users do meanwhile and however often it is killed, nothing is lost but what users destroy")
    func nothingLost() throws {
        for seed in 0..<Self.histories {
            // A name is a file here and a folder there.
            var users = try Users(
                seed: UInt64(seed), names: ["a", "b", "c", "a/b", "a/c", "b/a", "b/a/c", "c/a/b/a"])
            var sides = SimulatedSides()
            for _ in 0..<5 {
                for _ in 0..<Int.random(in: 1...8, using: &users.random) { users.act(on: &sides) }
                var random = SplitMix64(seed: UInt64(seed) &* 31)
                _ = sides.run(
                    Self.options,
                    isKilled: {
                        switch Int.random(in: 0..<12, using: &random) {
                        case 0: .before
                        case 1: .unnoted
                        default: nil
                        }
                    },
                    meanwhile: { sides in
                        if Int.random(in: 0..<6, using: &users.random) == 0 { users.act(on: &sides) }
                    })
            }
            let isDone = sides.run(Self.options)
            try #require(isDone, "seed \(seed): \(sides.lastPlan)")
            try #require(sides.localFiles == sides.remoteFiles, "seed \(seed)")
            try #require(sides.localFolders == sides.remoteFolders, "seed \(seed)")
            let lost = users.written.subtracting(users.destroyed).subtracting(sides.localFiles.values)
            try #require(lost.isEmpty, "seed \(seed) lost \(lost)")
        }
    }

    @Test(
        "one way, nothing of the other side is changed but by what comes",
        arguments: [SyncDirection.push, .pull])
    func oneWay(_ direction: SyncDirection) throws {
        var options = Self.options
        options.direction = direction
        for seed in 0..<Self.histories / 3 {
            var users = try Users(
                seed: UInt64(seed), names: ["a", "b", "c", "a/b", "a/c", "b/a", "b/a/c"])
            var sides = SimulatedSides()
            for round in 0..<4 {
                for _ in 0..<Int.random(in: 1...8, using: &users.random) { users.act(on: &sides) }
                let (local, remote) = (sides.localFiles, sides.remoteFiles)
                let isDone = sides.run(options)
                try #require(isDone, "seed \(seed), round \(round): \(sides.lastPlan)")
                if direction == .push {
                    try #require(sides.localFiles == local, "seed \(seed), round \(round)")
                } else {
                    try #require(sides.remoteFiles == remote, "seed \(seed), round \(round)")
                }
                let all = Set(sides.localFiles.values).union(sides.remoteFiles.values)
                let lost = users.written.subtracting(users.destroyed).subtracting(all)
                try #require(lost.isEmpty, "seed \(seed) lost \(lost)")
            }
        }
    }
}
