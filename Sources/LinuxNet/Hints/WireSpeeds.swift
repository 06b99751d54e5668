import CLinux
import Glibc
import PathCore

/// The speeds of wires, as drivers report them: /sys/class/net/NAME/speed (net/core/net-sysfs.c).
///
/// The kernel announces no new speed, but a wire gets one only after it had no carrier.
final class WireSpeeds {
    private let folder: String
    private var known: [InterfaceIndex: (link: LinkFact, speed: UInt32?, read: MonotonicTime)] = [:]

    /// - Parameter folder: /sys/class/net, or what a test has in its place.
    init(folder: String) { self.folder = folder }

    /// In Mbit/s. A link whose driver doesn't know is missing.
    func read(_ links: [LinkFact]) -> [InterfaceIndex: UInt32] {
        var speeds: [InterfaceIndex: UInt32] = [:]
        var read: [InterfaceIndex: (link: LinkFact, speed: UInt32?, read: MonotonicTime)] = [:]
        for link in links where link.isWire {
            var entry = known[link.index]
            // A driver may ask the device, which takes a USB adapter milliseconds. The second is for a carrier
            // that went and came back unseen.
            if entry?.link != link || entry.map({ $0.read.duration(to: .now) > .seconds(1) }) ?? true {
                entry = (link, speed(of: link), .now)
            }
            read[link.index] = entry
            speeds[link.index] = entry?.speed
        }
        known = read
        return speeds
    }

    private func speed(of link: LinkFact) -> UInt32? {
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
