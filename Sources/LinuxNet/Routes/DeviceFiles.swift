import CLinux
import Glibc
import PathCore

/// Reads of a device what netlink does not say: sysfs' uevent, its radio, its driver.
///
/// A mounted sysfs shows the network namespace that it was mounted in. So the index there must be the link's.
package final class DeviceFiles {
    private var known: [Key: LinkFact.Device] = [:]
    package var tap: NetlinkTap?

    package init() {}

    private struct Key: Hashable {
        let index: InterfaceIndex
        let name: String
    }

    /// The link with its device's facts. They are read once for each interface and name.
    func completed(_ link: LinkFact) -> LinkFact {
        // Software links have no device; their kind says what they are.
        guard link.kind == nil, !link.flags.contains(.loopback) else { return link }
        let key = Key(index: link.index, name: link.name)
        let old = known[key]
        let device = old ?? Self.device(of: link)
        known[key] = device
        var link = link
        link.device = device
        if old == nil { tap?(.device(link)) }
        return link
    }

    private static func device(of link: LinkFact) -> LinkFact.Device {
        let folder = "/sys/class/net/\(link.name)"
        guard !link.name.contains("/"),
            InputFile.line("\(folder)/ifindex").flatMap({ UInt32($0) }) == link.index
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
