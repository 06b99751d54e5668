import Foundation
import PathCore
import TestSupport

@testable import LinuxNet

/// A hint watch on the event thread, over files of a test's own. Each time it says that something changed,
/// the hints are read, as its owner would.
final class WatchedHints: @unchecked Sendable {
    let folder: TemporaryFolder
    let places: HintWatch.Places
    /// The links there are: those that were asked about last.
    private let links: Locked<[LinkFact]>
    // Only the event thread touches it.
    private var watch: HintWatch
    private let told = Locked<[InterfaceHints]>([])

    /// - Parameter settings: where the settings file is, in the folder.
    init(
        in folder: TemporaryFolder, settings: String = "config/multipath/paths.conf", links: [LinkFact] = []
    ) throws {
        self.folder = folder
        self.links = Locked(links)
        places = HintWatch.Places(
            settings: { folder.file(settings) }, leases: folder.file("leases"),
            resolver: folder.file("resolv.conf"),
            resolved: folder.file("resolve/resolv.conf"), devices: folder.file("devices"))
        watch = HintWatch(places)
        try start()
    }

    deinit {
        let watch = watch
        // A class that isn't Sendable goes home.
        let box = Box(value: watch)
        EventThread.shared.submit { box.value.stop() }
    }

    private struct Box: @unchecked Sendable { let value: HintWatch }

    /// Returns when all was read.
    func start() throws {
        try startWatch()
        try settle()
        told.withLock { $0 = [] }
    }

    /// Waits until no answer is awaited.
    private func settle() throws {
        let deadline = MonotonicTime.now.advanced(by: .seconds(10))
        while try !EventThread.shared.perform({ () throws(SystemError) in self.watch.isComplete }),
            MonotonicTime.now < deadline
        {
            usleep(1_000)
        }
    }

    private func startWatch() throws {
        try EventThread.shared.perform { () throws(SystemError) in
            self.watch.start { [weak self] in
                guard let self else { return }
                let hints = self.watch.read(links: self.links.withLock { $0 })
                self.told.withLock { $0.append(hints) }
            }
        }
    }

    func stop() throws { try EventThread.shared.perform { () throws(SystemError) in self.watch.stop() } }

    /// What is known once no answer is awaited.
    func read(_ links: [LinkFact]? = nil) throws -> InterfaceHints {
        _ = try look(links)
        try settle()
        return try look(links)
    }

    /// What is known at once.
    func look(_ links: [LinkFact]? = nil) throws -> InterfaceHints {
        if let links { self.links.withLock { $0 = links } }
        return try EventThread.shared.perform { () throws(SystemError) in
            self.watch.read(links: self.links.withLock { $0 })
        }
    }

    var counters: HintWatch.Counters {
        get throws { try EventThread.shared.perform { () throws(SystemError) in self.watch.counters } }
    }

    /// How often it said that something changed.
    var changes: Int { told.withLock { $0.count } }

    /// Does something, and waits until the watch has said by itself that this is so now.
    func expect(
        _ what: String, _ change: () throws -> Void, until condition: (InterfaceHints) -> Bool
    ) async throws {
        let before = changes
        try change()
        try await Program.wait(what, within: .seconds(10)) {
            told.withLock { told in told.count > before && told.last.map(condition) ?? false }
        }
    }

    /// The same for what the settings say to be expensive: this and nothing else.
    func expectExpensive(_ names: String..., after what: String, _ change: () throws -> Void) async throws {
        let entries = Dictionary(
            uniqueKeysWithValues: names.map { ($0, PathSettings.Entry(isExpensive: true)) })
        try await expect(what, change) { $0.settings.entries == entries }
    }

    /// What this process has open of a kind: `inotify`, `[timerfd]`.
    static func openDescriptors(_ kind: String) -> Int {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                == "anon_inode:\(kind)"
        }.count
    }
}
