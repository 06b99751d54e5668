import CLinux
import Glibc
import PathCore

/// What netlink does not say of a device: sysfs' uevent, its radio, its driver.
///
/// A mounted sysfs shows the network namespace that it was mounted in. So the index there must be the link's. It may be
/// another file system altogether, as in containers; so it is read on a thread that may wait.
///
/// It lives on the event thread.
package final class DeviceFiles {
    private struct Key: Hashable, Sendable {
        let index: InterfaceIndex
        let name: String
    }

    private static let files = BlockingCalls(limit: 1, mostExtra: 3)

    private let inquiry: Inquiry<[Key], [(key: Key, device: LinkFact.Device)]>
    private var known: [Key: LinkFact.Device] = [:]
    private var due: Set<Key> = []
    private var underWay: Set<Key> = []
    private var onChange: (() -> Void)?

    /// Gets each answer, for a recorder.
    package var tap: NetlinkTap?

    /// - Parameter folder: sysfs' folder of network interfaces, or what a test has in its place.
    package init(on thread: EventThread, folder: String = "/sys/class/net") {
        inquiry = Inquiry(on: thread, by: .pool(Self.files), patience: .milliseconds(100)) { keys in
            keys.map { ($0, Self.device($0, in: folder)) }
        }
    }

    /// Whether no answer is awaited that may still come soon.
    package var isSettled: Bool { inquiry.isOverdue || !inquiry.isUnderWay && due.isEmpty }

    /// - Parameter onChange: called on the event thread when more is known of some link, and when an answer is overdue.
    package func start(onChange: @escaping @Sendable () -> Void) {
        self.onChange = onChange
        (due, underWay) = ([], [])
        inquiry.start(onDelay: onChange) { [weak self] in self?.ingest($0) }
    }

    package func stop() {
        inquiry.stop()
        onChange = nil
    }

    /// The link with its device's facts, as far as they are known. They are read once for each interface and name; until then
    /// a link that was renamed has those that it had.
    package func completed(_ link: LinkFact) -> LinkFact {
        // Software links have no device; their kind says what they are.
        guard link.kind == nil, !link.flags.contains(.loopback) else { return link }
        let key = Key(index: link.index, name: link.name)
        var link = link
        if let device = known[key] {
            link.device = device
            return link
        }
        if let renamed = known.first(where: { $0.key.index == link.index }) { link.device = renamed.value }
        if !underWay.contains(key), due.insert(key).inserted { ask() }
        return link
    }

    package func completed(_ event: KernelEvent) -> KernelEvent {
        if case .link(let link) = event { .link(completed(link)) } else { event }
    }

    private func ask() {
        guard !inquiry.isUnderWay, !due.isEmpty else { return }
        (underWay, due) = (due, [])
        inquiry.ask(underWay.sorted { $0.index < $1.index })
        if !inquiry.isUnderWay { underWay = [] }
    }

    private func ingest(_ answers: [(key: Key, device: LinkFact.Device)]) {
        underWay = []
        for (key, device) in answers {
            known[key] = device
            tap?(.device(LinkFact(index: key.index, name: key.name, device: device)))
        }
        ask()
        onChange?()
    }

    private static func device(_ key: Key, in folder: String) -> LinkFact.Device {
        let folder = "\(folder)/\(key.name)"
        guard !key.name.contains("/"),
            InputFile.line("\(folder)/ifindex").flatMap({ UInt32($0) }) == key.index
        else { return LinkFact.Device() }
        let uevent = InputFile.line("\(folder)/uevent") ?? ""
        let devtype = uevent.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }?.dropFirst(8)
        return LinkFact.Device(
            devtype: devtype.map(String.init), hasRadio: access("\(folder)/phy80211", F_OK) == 0,
            driver: target(of: "\(folder)/device/driver"))
    }

    /// The last part of what a symbolic link points to.
    private static func target(of path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            let count = readlink(path, buffer.baseAddress!, buffer.count)
            guard count > 0 else { return nil }
            let bytes = buffer[..<count].map { UInt8(bitPattern: $0) }
            return String(decoding: bytes, as: UTF8.self).split(separator: "/").last.map(String.init)
        }
    }
}
