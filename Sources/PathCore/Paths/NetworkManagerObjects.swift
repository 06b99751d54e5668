/// NetworkManager's objects as its signals change them, and the devices they add up to.
///
/// A device's facts are spread over several objects that name each other by path: the device, its IPv4 and
/// IPv6 configuration, its access point. Signals come in the order of the changes, so that what they say can
/// be put in place of what was there; who misses one starts anew from a complete reading.
package struct NetworkManagerObjects: Sendable, Hashable {
    /// The D-Bus interfaces that say something of use here.
    package enum Interface: String, Sendable, Hashable, CaseIterable {
        case device = "org.freedesktop.NetworkManager.Device"
        case wireless = "org.freedesktop.NetworkManager.Device.Wireless"
        case accessPoint = "org.freedesktop.NetworkManager.AccessPoint"
        case ip4Configuration = "org.freedesktop.NetworkManager.IP4Config"
        case ip6Configuration = "org.freedesktop.NetworkManager.IP6Config"
    }

    /// A property of one of them. Each has its own name, so that none can be put with the wrong interface.
    package enum Property: Sendable, Hashable {
        /// `Interface`: what the device is controlled by. For a modem that is a serial port.
        case controlInterface(String)
        /// `IpInterface`: what carries its packets; empty while nothing does.
        case ipInterface(String)
        case hardwareAddress(String)
        case metered(UInt32)
        case ip4Configuration(String)
        case ip6Configuration(String)
        case activeAccessPoint(String)
        case ssid([UInt8])
        /// `NameserverData`, which wins over `Nameservers` where both are there.
        case nameServerData([IPAddress])
        case nameServers([IPAddress])
    }

    /// All that one object says; what it is not stays empty.
    private struct Object: Sendable, Hashable {
        var interfaces: Set<Interface> = []
        var controlInterface = ""
        var ipInterface = ""
        var hardwareAddress = ""
        var metered: UInt32 = 0
        var ip4Configuration = ""
        var ip6Configuration = ""
        var activeAccessPoint = ""
        var ssid: [UInt8] = []
        var nameServerData: [IPAddress]?
        var nameServers: [IPAddress] = []
    }

    private var objects: [String: Object] = [:]

    package init() {}

    /// Takes properties that an object has now; those not named stay as they were.
    package mutating func update(_ path: String, _ interface: Interface, with properties: [Property]) {
        var object = objects[path] ?? Object()
        object.interfaces.insert(interface)
        for property in properties {
            switch property {
            case .controlInterface(let name): object.controlInterface = name
            case .ipInterface(let name): object.ipInterface = name
            case .hardwareAddress(let text): object.hardwareAddress = text
            case .metered(let value): object.metered = value
            case .ip4Configuration(let path): object.ip4Configuration = path
            case .ip6Configuration(let path): object.ip6Configuration = path
            case .activeAccessPoint(let path): object.activeAccessPoint = path
            case .ssid(let bytes): object.ssid = bytes
            case .nameServerData(let addresses): object.nameServerData = addresses
            case .nameServers(let addresses): object.nameServers = addresses
            }
        }
        objects[path] = object
    }

    /// An object loses interfaces; it is gone with the last one.
    package mutating func remove(_ path: String, _ interfaces: [Interface]) {
        objects[path]?.interfaces.subtract(interfaces)
        if objects[path]?.interfaces.isEmpty == true { objects[path] = nil }
    }

    /// What is known now, by the name of the interface that carries packets.
    package var devices: [String: NetworkManagerDevice] {
        var devices: [String: NetworkManagerDevice] = [:]
        // A device that carries packets over an interface says more about it than one that is only controlled
        // by something of that name. The path makes the choice among equals a stable one.
        let known = objects.filter { $0.value.interfaces.contains(.device) }.sorted {
            ($0.value.ipInterface.isEmpty ? 1 : 0, $0.key) < ($1.value.ipInterface.isEmpty ? 1 : 0, $1.key)
        }
        for (_, object) in known {
            let name = object.ipInterface.isEmpty ? object.controlInterface : object.ipInterface
            guard !name.isEmpty, devices[name] == nil else { continue }
            devices[name] = NetworkManagerDevice(
                metered: NetworkManagerDevice.Metered(rawValue: object.metered) ?? .unknown,
                ssid: ssid(of: object),
                nameServers: nameServers(object.ip4Configuration) + nameServers(object.ip6Configuration),
                hardwareAddress: Self.hardwareAddress(object.hardwareAddress))
        }
        return devices
    }

    /// Nil without an access point, and where it hides its name. An SSID is bytes, which need not be text
    /// (IEEE 802.11).
    private func ssid(of device: Object) -> String? {
        guard device.interfaces.contains(.wireless), let object = objects[device.activeAccessPoint],
            object.interfaces.contains(.accessPoint), !object.ssid.isEmpty
        else { return nil }
        return String(decoding: object.ssid, as: UTF8.self)
    }

    private func nameServers(_ configuration: String) -> [IPAddress] {
        guard let object = objects[configuration] else { return [] }
        return object.nameServerData ?? object.nameServers
    }

    /// `02:00:5E:00:53:01` and the like; empty where it is no address.
    private static func hardwareAddress(_ text: String) -> [UInt8] {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in
            part.utf8.count == 2 && part.allSatisfy(\.isHexDigit) ? UInt8(part, radix: 16) : nil
        }
        return bytes.count == parts.count ? bytes : []
    }
}
