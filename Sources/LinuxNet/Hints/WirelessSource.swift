import Glibc
import PathCore

/// What nl80211 says of the Wi-Fi interfaces, live. On a machine without any it does nothing at all.
///
/// The signal changes all the time, and the kernel announces it only to a program that has set a threshold for the interface
/// (NL80211_CMD_SET_CQM), which wpa_supplicant does. So it is read again and again while it is watched, which is only while
/// connections move data.
///
/// It lives on the event thread, and asks on another: a driver asks its firmware, which takes milliseconds or, just when a
/// network is gone, seconds; and to find nl80211 the kernel may load a module.
final class WirelessSource {
    /// nl80211: the seam at which a test stands in for a radio. What asks is called where it may wait, the rest on the event
    /// thread.
    struct Radio: @unchecked Sendable {
        /// nil where the kernel has no nl80211.
        var hint: (InterfaceIndex) throws(SystemError) -> WirelessHint?
        /// Answers that could not be read.
        var malformedAnswers: () -> Int = { 0 }
        /// Reads the announcements that wait; whether one of them matters.
        var drainAnnouncements: () -> Bool
        /// For waiting until there are some; nil where the kernel announces nothing.
        var descriptor: CInt?
        /// Announcements that could not be read.
        var malformed: () -> Int
    }

    typealias Asking = Inquiry<Question, Answer>

    struct Question: Sendable {
        var interfaces: [InterfaceIndex]
        /// Whether to look for nl80211 where it was not found before.
        var opens: Bool
    }

    struct Answer: Sendable {
        var radio: Radio?
        var hints: [InterfaceIndex: Result<WirelessHint?, SystemError>] = [:]
        var malformed = 0
        /// Whether nl80211 could not be looked for: there was no descriptor, or no memory.
        var mayFindLater = false
        var begun: MonotonicTime
        var ended: MonotonicTime
    }

    private let thread: EventThread
    private let inquiry: Asking
    /// As the latest answer found it.
    private var radio: Radio?
    private var registration: EventThread.Token?
    private var onChange: (() -> Void)?
    /// Interfaces for which nl80211 was looked for: it isn't again before there is another one.
    private var asked: Set<InterfaceIndex> = []
    private var known: [InterfaceIndex: (hint: WirelessHint?, read: MonotonicTime)] = [:]
    private var detectors: [InterfaceIndex: SignalDetector] = [:]
    /// What to ask next.
    private var due: Set<InterfaceIndex> = []
    private var mustOpen = false
    /// Whether nl80211 could not be looked for the last time, so that the next reading does it.
    private var opensAgain = false
    /// What the question under way asks about, unless that was forgotten since.
    private var underWay: Set<InterfaceIndex> = []
    private var isOpening = false
    /// Whether what is asked next is asked for the signals alone, of which only a fading is news.
    private var isLook = false
    private var wasLook = false
    /// Whether an answer has come since the start: the first is told whatever it says.
    private var isAnswered = false
    private var series = AnswerSeries()
    private var isSignalWatched = false
    private var look: EventThread.Token?
    /// How long the latest answer took.
    private var answerTook = Duration.zero
    private var malformedBefore = 0
    private var malformedAnswers = 0

    /// How often a watched signal is read: a radio averages over some beacons, which come every 100 ms.
    static let lookInterval = Duration.milliseconds(500)
    /// A pause is so many times as long as the answer before it took, at the least: a driver has more to do.
    private static let lookShare = 20
    /// After that an answer is not waited for any more with what else there is to tell.
    static let patience = Duration.milliseconds(250)

    /// - Parameter open: finds nl80211. Throws ENOENT where this kernel has none.
    init(
        on thread: EventThread, by asker: Asking.Asker? = nil,
        now: @escaping @Sendable () -> MonotonicTime = { .now },
        open: @escaping @Sendable () throws(SystemError) -> Radio = { () throws(SystemError) in try .kernel()
        }
    ) {
        self.thread = thread
        let driver = Driver(now, open)
        // Its threads are made in the event thread's network namespace: nl80211 shows each its own interfaces.
        inquiry = Inquiry(on: thread, by: asker ?? .pool(thread.drivers), patience: Self.patience) {
            driver.answer($0)
        }
    }

    /// Messages that could not be read.
    var malformed: Int { malformedBefore + malformedAnswers + (radio?.malformed() ?? 0) }

    /// Questions that were not answered soon.
    var delays: Int { inquiry.delays }

    /// Whether no answer is awaited that may still come soon.
    var isSettled: Bool { inquiry.isOverdue || !inquiry.isUnderWay && due.isEmpty && !mustOpen }

    /// - Parameter onChange: called when a `read` would return something else.
    func start(onChange: @escaping () -> Void) {
        self.onChange = onChange
        isAnswered = false
        inquiry.start(onDelay: onChange) { [weak self] in self?.ingest($0) }
    }

    func stop() {
        close()
        inquiry.stop()
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
        let pause = max(Self.lookInterval, answerTook * Self.lookShare)
        look = thread.schedule(at: MonotonicTime.now.advanced(by: pause)) { [weak self] in
            guard let self else { return }
            look = nil
            guard isSignalWatched else { return }
            lookAtSignals()
            lookLater()
        }
    }

    /// Has all signals read again.
    func lookAtSignals() {
        guard radio != nil, !inquiry.isUnderWay, due.isEmpty else { return }
        due = Set(known.keys)
        isLook = true
        ask()
    }

    /// Has the next reading ask again, whatever is known. Until there is an answer what was known holds.
    func forget() {
        for index in known.keys { known[index]?.read = .zero }
        underWay = []
    }

    /// What is known now. What is older than a second is asked for again.
    func read(_ links: [LinkFact]) -> [InterfaceIndex: WirelessHint] {
        let indexes = Set(links.filter(\.isWireless).map(\.index))
        guard !indexes.isEmpty else {
            // The module may be unloaded now, and come back with other numbers.
            if radio != nil || !asked.isEmpty { close() }
            return [:]
        }
        known = known.filter { indexes.contains($0.key) }
        detectors = detectors.filter { indexes.contains($0.key) }
        if radio == nil, opensAgain || !indexes.isSubset(of: asked) { (mustOpen, opensAgain) = (true, false) }
        asked = indexes
        askAboutStale()
        lookLater()
        return known.compactMapValues(\.hint)
    }

    private func askAboutStale() {
        due = asked.filter { index in
            // nl80211 is asked once a second at most about what the kernel doesn't announce.
            let isFresh = known[index].map { $0.read.duration(to: .now) < .seconds(1) } ?? false
            return !isFresh && !underWay.contains(index)
        }
        if !due.isEmpty { isLook = false }
        ask()
    }

    private func ask() {
        if radio == nil, !mustOpen { due = [] }
        guard !inquiry.isUnderWay, !due.isEmpty || mustOpen else { return }
        let question = Question(interfaces: due.sorted(), opens: mustOpen)
        (underWay, isOpening, wasLook) = (due, mustOpen, isLook)
        (due, mustOpen, isLook) = ([], false, false)
        inquiry.ask(question)
        // There was no thread for it: the next reading asks again.
        if !inquiry.isUnderWay, inquiry.isOverdue {
            underWay = []
            if question.opens { opensAgain = true }
        }
    }

    private func ingest(_ answer: Answer) {
        underWay = []
        let isFirst = !isAnswered
        isAnswered = true
        // The last Wi-Fi interface has gone meanwhile.
        guard !asked.isEmpty else {
            if isFirst { onChange?() }
            return
        }
        answerTook = answer.begun.duration(to: answer.ended)
        malformedAnswers = max(malformedAnswers, answer.malformed)
        guard let radio = answer.radio else {
            let isNews = isFirst || known.contains { $0.value.hint != nil }
            if answer.mayFindLater { opensAgain = true }
            // No family of that number any more, or none at all: it is found again at the next reading with another
            // interface.
            if self.radio != nil {
                close()
            } else {
                known = [:]
            }
            if isNews { onChange?() }
            return
        }
        if self.radio == nil || isOpening { listen(radio) }
        var isNews = isFirst
        for (index, result) in answer.hints where asked.contains(index) {
            let old = known[index]?.hint
            var hint = old
            // A radio that could not be asked has not lost its network.
            if case .success(let answered) = result {
                hint = answered
                if let signal = answered.map(\.signal) {
                    hint?.isFading = detectors[index, default: SignalDetector()].ingest(
                        signal, at: answer.ended)
                }
            }
            known[index] = (hint, answer.ended)
            isNews = isNews || (wasLook ? hint?.isFading != old?.isFading : hint != old)
        }
        ask()
        lookLater()
        if series.tells(isNews: isNews, isSettled: isSettled) { onChange?() }
    }

    private func listen(_ radio: Radio) {
        if let registration { thread.remove(registration) }
        (self.radio, registration) = (radio, nil)
        guard let descriptor = radio.descriptor, onChange != nil else { return }
        registration = try? thread.add(descriptor, for: .readable) { [weak self] _ in
            guard let self, self.radio?.drainAnnouncements() == true else { return }
            forget()
            askAboutStale()
        }
    }

    private func close() {
        if let registration { thread.remove(registration) }
        malformedBefore += malformedAnswers + (radio?.malformed() ?? 0)
        if let look { thread.cancelTimer(look) }
        (registration, radio, known, detectors, asked, look) = (nil, nil, [:], [:], [], nil)
        (due, underWay, mustOpen, isLook, malformedAnswers) = ([], [], false, false, 0)
    }
}

/// Asks the radio, and finds it before. It is called for one question at a time, on a thread that may wait.
private final class Driver: @unchecked Sendable {
    private let now: @Sendable () -> MonotonicTime
    private let open: @Sendable () throws(SystemError) -> WirelessSource.Radio
    private var radio: WirelessSource.Radio?

    init(
        _ now: @escaping @Sendable () -> MonotonicTime,
        _ open: @escaping @Sendable () throws(SystemError) -> WirelessSource.Radio
    ) {
        self.now = now
        self.open = open
    }

    func answer(_ question: WirelessSource.Question) -> WirelessSource.Answer {
        var answer = WirelessSource.Answer(begun: now(), ended: now())
        if question.opens {
            do throws(SystemError) {
                radio = try open()
            } catch {
                radio = nil
                answer.mayFindLater = error.errno != ENOENT
            }
        }
        guard let radio else { return answer }
        for index in question.interfaces {
            do throws(SystemError) {
                answer.hints[index] = .success(try radio.hint(index))
            } catch {
                if error.errno == ENOENT { self.radio = nil }
                answer.hints[index] = .failure(error)
            }
        }
        answer.radio = self.radio
        answer.malformed = radio.malformedAnswers()
        answer.ended = now()
        return answer
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
            malformedAnswers: { netlink.malformed },
            drainAnnouncements: {
                var matters = false
                let hasLost = try? notifications?.drain { message in
                    if WirelessDecoder.mayChangeFacts(message) { matters = true }
                }
                return matters || hasLost != false
            },
            descriptor: notifications?.descriptor,
            malformed: { notifications?.malformed ?? 0 })
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
