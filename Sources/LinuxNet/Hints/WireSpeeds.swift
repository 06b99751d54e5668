import CLinux
import Glibc
import PathCore

/// The speeds of wires, as drivers report them: /sys/class/net/NAME/speed (net/core/net-sysfs.c).
///
/// The kernel announces no new speed, but a wire gets one only after it had no carrier. A driver may ask the device, which
/// takes a USB adapter milliseconds, and wait for whichever program configures it now: so the file is read on a thread that
/// may wait.
final class WireSpeeds {
    private struct Answer: Sendable {
        var link: LinkFact
        var speed: UInt32?
        var read: MonotonicTime
    }

    private static let drivers = BlockingCalls(limit: 1, mostExtra: 3)

    private let inquiry: Inquiry<[LinkFact], [Answer]>
    private var known: [InterfaceIndex: Answer] = [:]
    /// The links to ask about, by their indexes.
    private var due: [InterfaceIndex: LinkFact] = [:]
    private var asked: [InterfaceIndex: LinkFact] = [:]
    /// Whether an answer has come since the start: the first is told whatever it says.
    private var isAnswered = false
    private var series = AnswerSeries()
    private var onChange: (() -> Void)?

    /// - Parameter folder: /sys/class/net, or what a test has in its place.
    init(on thread: EventThread, folder: String) {
        inquiry = Inquiry(on: thread, by: .pool(Self.drivers), patience: .milliseconds(250)) { links in
            links.map { Answer(link: $0, speed: Self.speed(of: $0, in: folder), read: .now) }
        }
    }

    var delays: Int { inquiry.delays }

    /// Whether no answer is awaited that may still come soon.
    var isSettled: Bool { inquiry.isOverdue || !inquiry.isUnderWay && due.isEmpty }

    /// - Parameter onChange: called when a speed is another than it was.
    func start(onChange: @escaping () -> Void) {
        self.onChange = onChange
        (due, asked, isAnswered) = ([:], [:], false)
        inquiry.start(onDelay: onChange) { [weak self] in self?.ingest($0) }
    }

    func stop() {
        inquiry.stop()
        onChange = nil
    }

    /// In Mbit/s, as far as known. A link whose driver doesn't know is missing.
    func read(_ links: [LinkFact]) -> [InterfaceIndex: UInt32] {
        var speeds: [InterfaceIndex: UInt32] = [:]
        var stillThere: [InterfaceIndex: Answer] = [:]
        due = [:]
        for link in links where link.isWire {
            let answer = known[link.index]
            // The second is for a carrier that went and came back unseen.
            let isFresh =
                answer?.link == link && answer.map { $0.read.duration(to: .now) < .seconds(1) } ?? false
            if !isFresh, asked[link.index] != link { due[link.index] = link }
            stillThere[link.index] = answer
            speeds[link.index] = answer?.speed
        }
        known = stillThere
        ask()
        return speeds
    }

    private func ask() {
        guard !inquiry.isUnderWay, !due.isEmpty else { return }
        asked = due
        due = [:]
        inquiry.ask(asked.values.sorted { $0.index < $1.index })
        if !inquiry.isUnderWay { asked = [:] }
    }

    private func ingest(_ answers: [Answer]) {
        asked = [:]
        var isNews = !isAnswered
        isAnswered = true
        for answer in answers {
            if known[answer.link.index]?.speed != answer.speed { isNews = true }
            known[answer.link.index] = answer
        }
        ask()
        if series.tells(isNews: isNews, isSettled: isSettled) { onChange?() }
    }

    private static func speed(of link: LinkFact, in folder: String) -> UInt32? {
        let files = "\(folder)/\(link.name)"
        // A mounted sysfs shows the network namespace that it was mounted in, so the index must be the link's.
        guard !link.name.contains("/"),
            InputFile.line("\(files)/ifindex").flatMap({ UInt32($0) }) == link.index,
            access("\(files)/device", F_OK) == 0,
            // EINVAL without a carrier or a driver that knows; SPEED_UNKNOWN is −1, of 32 bits in old kernels.
            let speed = InputFile.line("\(files)/speed").flatMap({ Int64($0) }), speed > 0,
            speed < 0xFFFF_FFFF
        else { return nil }
        return UInt32(speed)
    }
}

extension LinkFact {
    /// Whether it is hardware at the end of a cable. A radio's speed is its rate now, which nl80211 tells.
    fileprivate var isWire: Bool {
        kind == nil && !flags.contains(.loopback) && flags.isSuperset(of: [.up, .lowerUp])
            && hardwareType == 1
            && !isWireless && device.devtype == nil
    }
}
