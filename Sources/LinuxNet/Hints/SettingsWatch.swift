import Glibc
import PathCore

/// The user's settings, live. They are in the home directory, which may be on a file system whose server does not answer:
/// any call on it may then take for ever. So all of them are made on a thread of their own, and only what was read comes
/// to the owner's thread.
final class SettingsWatch: @unchecked Sendable {
    struct Facts: Sendable, Hashable {
        var settings = PathSettings()
        /// Lines that can't be read.
        var problems = 0
        /// How often the file was there and could not be read.
        var unreadable = 0
        /// Whether changes are seen only when `look` is called.
        var isUnwatched = false
    }

    private static let files = EventThread(name: "multipath-files")

    private let owner: EventThread
    private let findPath: @Sendable () -> String?

    // Only the owner's thread touches these.
    private(set) var facts: Facts?
    private var onChange: (() -> Void)?
    private var isAsked = false

    // Only the thread of the files touches these.
    private var watch: FileWatch?
    private var read = Facts()

    /// - Parameter path: finds out where the settings are, which may ask a name service; nil for a user without a home.
    init(on owner: EventThread, path: @escaping @Sendable () -> String?) {
        self.owner = owner
        findPath = path
    }

    /// - Parameter onChange: called on the owner's thread after the first reading, and after each that shows something
    ///   else.
    func start(onChange: @escaping () -> Void) {
        owner.checkIsolated()
        self.onChange = onChange
        facts = nil
        Self.files.submit { [self] in open() }
    }

    func stop() {
        owner.checkIsolated()
        onChange = nil
        Self.files.submit { [self] in
            watch?.stop()
            watch = nil
        }
    }

    /// Has the file read once more where its changes can't be watched.
    func look() {
        owner.checkIsolated()
        guard facts?.isUnwatched == true, !isAsked else { return }
        isAsked = true
        Self.files.submit { [self] in readAgain() }
    }

    private func ingest(_ new: Facts) {
        isAsked = false
        let isNews = facts?.settings != new.settings
        facts = new
        if isNews { onChange?() }
    }

    // MARK: On the thread of the files

    private func open() {
        let path = findPath()
        if let path {
            // Watched first and read then, so that nothing falls in between.
            watch = try? FileWatch([.file(path)], on: Self.files)
            if (try? watch?.start { [weak self] _ in self?.readAgain() }) == nil { watch = nil }
        }
        readAgain(path)
    }

    private func readAgain() { readAgain(findPath()) }

    private func readAgain(_ path: String?) {
        read.isUnwatched = path != nil && watch?.unwatched.isEmpty != true
        if let path { readFile(path) }
        let facts = read
        owner.submit { [self] in ingest(facts) }
    }

    private func readFile(_ path: String) {
        var text = ""
        do throws(SystemError) {
            text = String(
                decoding: try InputFile.regularBytes(path, limit: SettingsFile.limit), as: UTF8.self)
        } catch {
            if !error.isMissing, error.errno != ENOTDIR { read.unreadable += 1 }
        }
        let (settings, problems) = PathSettings.parse(text)
        read.settings = settings
        read.problems = problems.count
    }
}
