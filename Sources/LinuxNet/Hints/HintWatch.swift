// What others than rtnetlink know of the interfaces, gathered and kept fresh: files by inotify, Wi-Fi by
// nl80211, sleep by a timer. All of it may be missing, and then it is empty: nothing here fails.
//
// Nothing here waits, either: a file system or a driver may not answer. Files are read on threads of their own, drivers
// are asked on others, and the answers come as changes.

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
        /// Files whose changes are seen only after the next `read`: no inotify, or no right to watch a folder.
        package var unwatched = 0
        /// Questions that a driver had not answered after `Inquiry`'s patience.
        package var late = 0

        fileprivate mutating func count<Facts>(_ reading: FileFacts<Facts>.Reading?) {
            guard let reading else { return }
            malformed += reading.malformed
            unreadable += reading.unreadable
            unwatched += reading.unwatched
        }
    }

    private let settings: FileFacts<PathSettings>
    private let leases: FileFacts<[InterfaceIndex: LeaseHint]>
    private let resolver: FileFacts<ResolverText>
    private let thread: EventThread
    private var wake: WakeWatch?
    private let wireless: WirelessSource
    private let speeds: WireSpeeds
    private var onChange: (() -> Void)?
    private var resumesBefore: UInt64 = 0

    package init(_ places: Places = .standard, on thread: EventThread = .shared) {
        self.thread = thread
        wireless = WirelessSource(on: thread)
        speeds = WireSpeeds(on: thread, folder: places.devices)
        settings = .settings(on: thread, at: places.settings)
        leases = .leases(on: thread, in: places.leases)
        resolver = .resolver(on: thread, at: places.resolver, upstream: places.resolved)
    }

    package var counters: Counters {
        var counters = Counters(malformed: wireless.malformed, late: wireless.delays + speeds.delays)
        counters.count(settings.latest)
        counters.count(leases.latest)
        counters.count(resolver.latest)
        return counters
    }

    /// Whether all was read once, and no driver's answer is awaited that may still come soon. A home directory may not
    /// answer at all.
    package var isComplete: Bool {
        settings.latest != nil && leases.latest != nil && resolver.latest != nil && wireless.isSettled
            && speeds.isSettled
    }

    /// Has the files read, and watches them from now on.
    ///
    /// - Parameter onChange: called on the thread when each of the files was read first, and when a `read` would return
    ///   something else than the last one: 20 times a second at most for each kind of file, however fast they change. Link
    ///   speeds have no such announcement: what changes them is a change of the link.
    package func start(onChange: @escaping () -> Void) {
        thread.checkIsolated()
        self.onChange = onChange
        let tell: () -> Void = { [weak self] in self?.onChange?() }
        wake = try? WakeWatch(on: thread)
        try? wake?.start { [weak self] in
            // The machine may be somewhere else now.
            self?.wireless.forget()
            self?.onChange?()
        }
        wireless.start(onChange: tell)
        speeds.start(onChange: tell)
        leases.start(onChange: tell)
        resolver.start(onChange: tell)
        settings.start(onChange: tell)
    }

    /// Ends it, and closes all that it has open. It can be started again.
    package func stop() {
        thread.checkIsolated()
        resumesBefore += wake?.resumes ?? 0
        wake?.stop()
        wireless.stop()
        speeds.stop()
        settings.stop()
        leases.stop()
        resolver.stop()
        (wake, onChange) = (nil, nil)
    }

    /// All hints as far as they are known now, but for those of NetworkManager. What has to be asked for is asked for, and
    /// `onChange` tells when it is there.
    ///
    /// Wi-Fi's signal and rate, which change all the time and are not announced, are asked for where they are older than a
    /// second.
    /// - Parameter links: the links of this network namespace; what is known of others is left out.
    package func read(links: [LinkFact]) -> InterfaceHints {
        thread.checkIsolated()
        if wake?.look() == true { wireless.forget() }
        settings.look()
        leases.look()
        resolver.look()
        var hints = InterfaceHints()
        hints.settings = settings.latest?.facts ?? PathSettings()
        if let leases = leases.latest?.facts, !leases.isEmpty {
            let indexes = Set(links.map(\.index))
            hints.leases = leases.filter { indexes.contains($0.key) }
        }
        hints.wireless = wireless.read(links)
        hints.linkSpeeds = speeds.read(links)
        hints.nameServers = resolver.latest?.facts.addresses(on: links) ?? []
        hints.resumes = resumesBefore + (wake?.resumes ?? 0)
        return hints
    }

    /// Watches Wi-Fi's signal from now on, or does no longer: while data moves.
    package func watchSignal(_ isWatched: Bool) {
        thread.checkIsolated()
        wireless.watchSignal(isWatched)
    }
}
