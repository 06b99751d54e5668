import Glibc
import PathCore

/// What nl80211 says of the Wi-Fi interfaces, live. On a machine without any it does nothing at all.
///
/// The signal changes all the time, and the kernel announces it only to a program that has set a threshold for the interface
/// (NL80211_CMD_SET_CQM), which wpa_supplicant does. So it is read again and again while it is watched, which is only while
/// connections move data.
///
/// It lives on the event thread.
final class WirelessSource {
    /// Finds nl80211 and asks it: the seam at which a test stands in for a radio.
    struct Radio {
        /// nil where the kernel has no nl80211.
        var hint: (InterfaceIndex) throws(SystemError) -> WirelessHint?
        /// Reads the announcements that wait; whether one of them matters.
        var drainAnnouncements: () -> Bool
        /// For waiting until there are some; nil where the kernel announces nothing.
        var descriptor: CInt?
        var malformed: () -> Int
    }

    private let thread: EventThread
    /// - Throws: ENOENT where this kernel has no nl80211.
    private let open: () throws(SystemError) -> Radio
    private var radio: Radio?
    private var registration: EventThread.Token?
    private var onChange: (() -> Void)?
    /// Interfaces for which nl80211 was looked for: it isn't again before there is another one.
    private var asked: Set<InterfaceIndex> = []
    private var known: [InterfaceIndex: (hint: WirelessHint?, read: MonotonicTime)] = [:]
    private var detectors: [InterfaceIndex: SignalDetector] = [:]
    private var isSignalWatched = false
    private var look: EventThread.Token?
    /// How long the latest look took.
    private var lookTook = Duration.zero
    private var malformedBefore = 0

    /// How often a watched signal is read: a radio averages over some beacons, which come every 100 ms.
    static let lookInterval = Duration.milliseconds(500)
    /// A pause is so many times as long as the look before it took, at the least.
    private static let lookShare = 200

    init(
        on thread: EventThread,
        open: @escaping () throws(SystemError) -> Radio = { () throws(SystemError) in try .kernel() }
    ) {
        self.thread = thread
        self.open = open
    }

    /// Messages that could not be read.
    var malformed: Int { malformedBefore + (radio?.malformed() ?? 0) }

    func start(onChange: @escaping () -> Void) { self.onChange = onChange }

    func stop() {
        close()
        onChange = nil
    }

    /// Watches the signal from now on, or does no longer: `onChange` tells when it begins to fade, and when it fades no longer.
    func watchSignal(_ isWatched: Bool) {
        isSignalWatched = isWatched
        lookLater()
    }

    /// The timer of one that is not watched any more runs out by itself: data moves by fits and starts.
    private func lookLater() {
        guard isSignalWatched, look == nil, !known.isEmpty, onChange != nil else { return }
        // A driver that takes its time is asked seldom: the thread has more to do.
        let pause = max(Self.lookInterval, lookTook * Self.lookShare)
        look = thread.schedule(at: MonotonicTime.now.advanced(by: pause)) { [weak self] in
            guard let self else { return }
            look = nil
            guard isSignalWatched else { return }
            let begun = MonotonicTime.now
            lookAtSignals(at: begun)
            lookTook = begun.duration(to: .now)
            lookLater()
        }
    }

    /// Reads all signals again.
    func lookAtSignals(at now: MonotonicTime) {
        guard let radio else { return }
        var hasChanged = false
        for (index, (hint, _)) in known {
            guard let hint, let new = read(index, radio, at: now) else { continue }
            if new.isFading != hint.isFading { hasChanged = true }
        }
        if hasChanged { onChange?() }
    }

    /// Has the next reading ask again, whatever is known.
    func forget() { known = [:] }

    func read(_ links: [LinkFact]) -> [InterfaceIndex: WirelessHint] {
        let indexes = Set(links.filter(\.isWireless).map(\.index))
        guard !indexes.isEmpty else {
            // The module may be unloaded now, and come back with other numbers.
            if radio != nil || !asked.isEmpty { close() }
            return [:]
        }
        known = known.filter { indexes.contains($0.key) }
        detectors = detectors.filter { indexes.contains($0.key) }
        if radio == nil, !indexes.isSubset(of: asked) { connect() }
        asked = indexes
        guard let radio else { return [:] }
        var hints: [InterfaceIndex: WirelessHint] = [:]
        for index in indexes.sorted() {
            guard let hint = hint(of: index, radio) else { continue }
            hints[index] = hint
        }
        lookLater()
        return hints
    }

    /// A driver may ask its firmware, which takes milliseconds: once a second is often enough for what
    /// the kernel doesn't announce.
    private func hint(of index: InterfaceIndex, _ radio: Radio) -> WirelessHint? {
        if let (hint, read) = known[index], read.duration(to: .now) < .seconds(1) { return hint }
        return read(index, radio, at: .now)
    }

    private func read(
        _ index: InterfaceIndex, _ radio: Radio, at now: MonotonicTime
    ) -> WirelessHint? {
        var hint: WirelessHint?
        do throws(SystemError) {
            hint = try radio.hint(index)
        } catch {
            // No family of that number any more: it is found again at the next reading.
            if error.errno == ENOENT {
                close()
                return nil
            }
            // A radio that could not be asked has not lost its network.
            hint = known[index]?.hint
            known[index] = (hint, now)
            return hint
        }
        if let signal = hint.map(\.signal) {
            hint?.isFading = detectors[index, default: SignalDetector()].ingest(signal, at: now)
        }
        known[index] = (hint, now)
        return hint
    }

    private func connect() {
        guard let radio = try? open() else { return }
        self.radio = radio
        guard let descriptor = radio.descriptor, onChange != nil else { return }
        registration = try? thread.add(descriptor, for: .readable) { [weak self] _ in
            guard let self, self.radio?.drainAnnouncements() == true else { return }
            self.forget()
            self.onChange?()
        }
    }

    private func close() {
        if let registration { thread.remove(registration) }
        malformedBefore = malformed
        if let look { thread.cancelTimer(look) }
        (registration, radio, known, detectors, asked, look) = (nil, nil, [:], [:], [], nil)
    }
}

extension WirelessSource.Radio {
    /// The kernel's.
    static func kernel() throws(SystemError) -> WirelessSource.Radio {
        let netlink = try GenericNetlink()
        let family = try netlink.family("nl80211")
        // Without announcements the facts are those of the last reading.
        let notifications = try? GenericNotifications(family, groups: ["config", "mlme"])
        return WirelessSource.Radio(
            hint: { index throws(SystemError) in try netlink.wirelessHint(family, index) },
            drainAnnouncements: {
                var matters = false
                let hasLost = try? notifications?.drain { message in
                    if WirelessDecoder.mayChangeFacts(message) { matters = true }
                }
                return matters || hasLost != false
            },
            descriptor: notifications?.descriptor,
            malformed: { netlink.malformed + (notifications?.malformed ?? 0) })
    }
}

extension GenericNetlink {
    /// - Returns: nil for an interface that is no client of a network: an access point, a monitor.
    func wirelessHint(_ family: GenericFamily, _ index: InterfaceIndex) throws(SystemError) -> WirelessHint? {
        var interface: WirelessDecoder.Interface?
        try request("read a Wi-Fi interface", family, WirelessCommand.getInterface) { request in
            request.put(WirelessAttribute.interface, index)
        } answer: { message in
            interface = WirelessDecoder.interface(message) ?? interface
        }
        guard let interface, interface.index == index, interface.isClient else { return nil }
        let stations: [WirelessDecoder.Station]
        do throws(SystemError) {
            stations = try dump("read a Wi-Fi station", family, WirelessCommand.getStation) { request in
                request.put(WirelessAttribute.interface, index)
            } decode: { message in
                WirelessDecoder.station(message)
            }
        } catch {
            // Some drivers don't list stations; the network's name is right all the same.
            return WirelessHint(ssid: interface.ssid)
        }
        // A client's only station is its access point. Without one it is in no network, whatever name was last.
        guard let station = stations.first else { return WirelessHint() }
        return WirelessHint(ssid: interface.ssid, signal: station.signal, rate: station.rate)
    }
}

extension LinkFact {
    /// Whether nl80211 may know it.
    var isWireless: Bool { device.hasRadio || device.devtype == "wlan" }
}
