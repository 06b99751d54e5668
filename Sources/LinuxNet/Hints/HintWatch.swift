// What others than rtnetlink know of the interfaces, gathered and kept fresh: files by inotify, Wi-Fi by
// nl80211, sleep by a timer. All of it may be missing, and then it is empty: nothing here fails.

import Glibc
import PathCore

/// The hints about interfaces, live. It lives on an event thread: every call of it is made there.
///
/// Call order: `start`, then `read` whenever the links changed or `onChange` was called; `stop` in the end.
package final class HintWatch {
    /// Where the files are.
    package struct Places: Sendable {
        /// Finds out where the user's settings are, which may ask a name service; nil for a user without a home.
        package var settings: @Sendable () -> String?
        /// systemd-networkd's leases, each named by its interface's number.
        package var leases: String
        package var resolver: String
        /// What systemd-resolved asks, where `resolver` leads to it.
        package var resolved: String
        /// A folder for each network interface, by name.
        package var devices: String

        package init(
            settings: @escaping @Sendable () -> String?, leases: String = "/run/systemd/netif/leases",
            resolver: String = "/etc/resolv.conf", resolved: String = "/run/systemd/resolve/resolv.conf",
            devices: String = "/sys/class/net"
        ) {
            self.settings = settings
            self.leases = leases
            self.resolver = resolver
            self.resolved = resolved
            self.devices = devices
        }

        package static var standard: Places { Places(settings: { SettingsFile.standardPath() }) }
    }

    /// What could not be used.
    package struct Counters: Sendable, Hashable {
        /// Lines of the settings, leases, and messages of nl80211 that can't be read. A file that is as bad
        /// as it was before counts once.
        package var malformed = 0
        /// Files that are there and may not be read, each time that was tried.
        package var unreadable = 0
        /// Files whose changes are seen only at the next `read`: no inotify, or no right to watch a folder.
        package var unwatched = 0
    }

    private enum Source: CaseIterable {
        case leases
        case resolver
    }

    private let places: Places
    private let thread: EventThread
    private let sources: [FileWatch.Place: Source]
    private let settings: SettingsWatch
    private var files: FileWatch?
    private var wake: WakeWatch?
    private let wireless: WirelessSource
    private let speeds: WireSpeeds
    private var onChange: (() -> Void)?

    private var leases: [InterfaceIndex: LeaseHint] = [:]
    private var malformedLeases = 0
    private var resolver = ResolverText()
    private var unreadable = 0
    private var resumesBefore: UInt64 = 0

    package init(_ places: Places = .standard, on thread: EventThread = .shared) {
        self.places = places
        self.thread = thread
        wireless = WirelessSource(on: thread)
        speeds = WireSpeeds(folder: places.devices)
        settings = SettingsWatch(on: thread, path: places.settings)
        sources = [
            .folder(places.leases): .leases, .file(places.resolver): .resolver,
            .file(places.resolved): .resolver,
        ]
    }

    package var counters: Counters {
        Counters(
            malformed: (settings.facts?.problems ?? 0) + malformedLeases + wireless.malformed,
            unreadable: unreadable + (settings.facts?.unreadable ?? 0),
            unwatched: (files?.unwatched.count ?? sources.count)
                + (settings.facts?.isUnwatched == true ? 1 : 0))
    }

    /// Whether the settings were read once: the home directory may take its time, or not answer at all.
    package var hasSettings: Bool { settings.facts != nil }

    /// What the user says now; nothing before it was read once.
    package var latestSettings: PathSettings { settings.facts?.settings ?? PathSettings() }

    /// Reads the files, and watches them from now on. The settings come later.
    ///
    /// - Parameter onChange: called on the thread when the settings were read first, and when a `read` would return
    ///   something else than the last one: 20 times a second at most, however fast files change. Link speeds have no such announcement: what
    ///   changes them is a change of the link.
    package func start(onChange: @escaping () -> Void) {
        thread.checkIsolated()
        self.onChange = onChange
        // Watched first and read then, so that nothing falls in between.
        files = try? FileWatch(Array(sources.keys), on: thread)
        if (try? files?.start { [weak self] in self?.filesChanged($0) }) == nil { files = nil }
        wake = try? WakeWatch(on: thread)
        try? wake?.start { [weak self] in
            // The machine may be somewhere else now.
            self?.wireless.forget()
            self?.onChange?()
        }
        wireless.start { [weak self] in self?.onChange?() }
        _ = reload(Set(Source.allCases))
        settings.start { [weak self] in self?.onChange?() }
    }

    /// Ends it, and closes all that it has open. It can be started again.
    package func stop() {
        thread.checkIsolated()
        resumesBefore += wake?.resumes ?? 0
        files?.stop()
        wake?.stop()
        wireless.stop()
        settings.stop()
        (files, wake, onChange) = (nil, nil, nil)
    }

    /// All hints as they are now, but for those of NetworkManager.
    ///
    /// Wi-Fi's signal and rate, which change all the time and are not announced, are at most a second old.
    /// - Parameter links: the links of this network namespace; what is known of others is left out.
    package func read(links: [LinkFact]) -> InterfaceHints {
        thread.checkIsolated()
        let unwatched = files.map { $0.unwatched.compactMap { sources[$0] } } ?? Source.allCases
        if !unwatched.isEmpty { _ = reload(Set(unwatched)) }
        if wake?.look() == true { wireless.forget() }
        var hints = InterfaceHints()
        settings.look()
        hints.settings = settings.facts?.settings ?? PathSettings()
        if !leases.isEmpty {
            let indexes = Set(links.map(\.index))
            hints.leases = leases.filter { indexes.contains($0.key) }
        }
        hints.wireless = wireless.read(links)
        hints.linkSpeeds = speeds.read(links)
        hints.nameServers = resolver.addresses(on: links)
        hints.resumes = resumesBefore + (wake?.resumes ?? 0)
        return hints
    }

    /// Watches Wi-Fi's signal from now on, or does no longer: while data moves.
    package func watchSignal(_ isWatched: Bool) {
        thread.checkIsolated()
        wireless.watchSignal(isWatched)
    }

    private func filesChanged(_ changed: Set<FileWatch.Place>) {
        if reload(Set(changed.compactMap { sources[$0] })) { onChange?() }
    }

    // MARK: Files

    /// - Returns: whether they say something else than before.
    private func reload(_ stale: Set<Source>) -> Bool {
        let old = (leases, resolver)
        for source in stale {
            switch source {
            case .leases: readLeases()
            case .resolver: readResolver()
            }
        }
        return old != (leases, resolver)
    }

    private func readLeases() {
        leases = [:]
        malformedLeases = 0
        for index in Self.numbers(in: places.leases) {
            guard let text = text("\(places.leases)/\(index)") else { continue }
            if let lease = LeaseHint(networkdLease: text) {
                leases[index] = lease
            } else {
                malformedLeases += 1
            }
        }
    }

    private func readResolver() {
        resolver = ResolverText(parsing: text(places.resolver) ?? "")
        if resolver.isResolvedStub, let text = text(places.resolved) {
            let upstream = ResolverText(parsing: text)
            if !upstream.nameServers.isEmpty { resolver = upstream }
        }
    }

    private func text(_ path: String) -> String? {
        do throws(SystemError) {
            return String(
                decoding: try InputFile.regularBytes(path, limit: SettingsFile.limit), as: UTF8.self)
        } catch {
            if !error.isMissing, error.errno != ENOTDIR { unreadable += 1 }
            return nil
        }
    }

    /// The files of a folder whose names are numbers: the others are on their way to such a name.
    private static func numbers(in folder: String) -> [InterfaceIndex] {
        guard let list = opendir(folder) else { return [] }
        defer { closedir(list) }
        var numbers: [InterfaceIndex] = []
        // More interfaces than that don't have leases; more files are a mistake.
        while numbers.count < 1024, let entry = readdir(list) {
            // By its address: an entry ends with its name, and the structure does not.
            let name = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
            let text = String(cString: name.assumingMemoryBound(to: CChar.self))
            if let number = InterfaceIndex(text) { numbers.append(number) }
        }
        return numbers
    }
}
