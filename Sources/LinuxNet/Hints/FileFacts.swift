import Glibc
import PathCore

/// What is read of some files and folders, live. Any call on them may take for ever: a home directory's server does not
/// answer, a container's folder is a file system of another program. So all calls are made on a thread of the files' own,
/// and only what was read comes to the owner's thread.
final class FileFacts<Facts: Sendable & Equatable>: @unchecked Sendable {
    struct Reading: Sendable {
        var facts: Facts
        /// What can't be read of their text.
        var malformed = 0
        /// How often a file was there and could not be read.
        var unreadable = 0
        /// How many places' changes are seen only when `look` is called.
        var unwatched = 0
    }

    private let owner: EventThread
    private let files: EventThread
    private let findPlaces: @Sendable () -> [FileWatch.Place]
    private let read: @Sendable ([FileWatch.Place], inout Reading) -> Void

    // Only the owner's thread touches these.
    private(set) var latest: Reading?
    private var onChange: (() -> Void)?
    private var isAsked = false
    private var run = 0

    // Only the thread of the files touches these.
    private var watch: FileWatch?
    private var reading: Reading

    /// - Parameters:
    ///   - files: the thread that waits for the files. One that hangs waits for no others' files.
    ///   - empty: what is known where there is nothing.
    ///   - places: finds out where the files are, which may ask a name service.
    ///   - read: reads what is there now.
    init(
        on owner: EventThread, files: EventThread, empty: Facts,
        places: @escaping @Sendable () -> [FileWatch.Place],
        read: @escaping @Sendable ([FileWatch.Place], inout Reading) -> Void
    ) {
        self.owner = owner
        self.files = files
        findPlaces = places
        self.read = read
        reading = Reading(facts: empty)
    }

    /// - Parameter onChange: called on the owner's thread after the first reading, and after each that shows something
    ///   else.
    func start(onChange: @escaping () -> Void) {
        owner.checkIsolated()
        self.onChange = onChange
        latest = nil
        isAsked = false
        run += 1
        files.submit { [self, run] in open(run) }
    }

    func stop() {
        owner.checkIsolated()
        onChange = nil
        files.submit { [self] in
            watch?.stop()
            watch = nil
        }
    }

    /// Has the files read once more where their changes can't be watched.
    func look() {
        owner.checkIsolated()
        guard let latest, latest.unwatched > 0, !isAsked, onChange != nil else { return }
        isAsked = true
        files.submit { [self, run] in readAgain(findPlaces(), run) }
    }

    private func ingest(_ new: Reading, _ run: Int) {
        guard run == self.run, onChange != nil else { return }
        isAsked = false
        let isNews = latest?.facts != new.facts
        latest = new
        if isNews { onChange?() }
    }

    // MARK: On the thread of the files

    private func open(_ run: Int) {
        let places = findPlaces()
        if !places.isEmpty {
            // Watched first and read then, so that nothing falls in between.
            watch = try? FileWatch(places, on: files)
            let isWatched: Void? = try? watch?.start { [weak self] _ in
                guard let self else { return }
                readAgain(findPlaces(), run)
            }
            if isWatched == nil { watch = nil }
        }
        readAgain(places, run)
    }

    private func readAgain(_ places: [FileWatch.Place], _ run: Int) {
        reading.unwatched = watch?.unwatched.count ?? places.count
        read(places, &reading)
        let reading = reading
        owner.submit { [self] in ingest(reading, run) }
    }
}

extension FileFacts.Reading {
    /// The text of a file; empty where there is none, or none that can be read.
    mutating func text(_ path: String) -> String? {
        do throws(SystemError) {
            return String(
                decoding: try InputFile.regularBytes(path, limit: SettingsFile.limit), as: UTF8.self)
        } catch {
            if !error.isMissing, error.errno != ENOTDIR { unreadable += 1 }
            return nil
        }
    }
}
