// The values of a recording that are not netlink's own bytes.

extension InterfaceOverrides {
    package var recorded: [UInt8] {
        var writer = RecordingWriter()
        for overrides in [configuration, environment] {
            writer.put(overrides) { writer, name, override in
                writer.put(name)
                writer.put(override.type) { $0.put($1.rawValue) }
                writer.put(override.isExpensive) { $0.put($1) }
                writer.put(override.isConstrained) { $0.put($1) }
            }
        }
        return writer.bytes
    }

    package init(_ record: PathRecord) throws(RecordingError) {
        var reader = RecordingReader(record)
        self.init(configuration: try Self.read(&reader), environment: try Self.read(&reader))
        try reader.end()
    }

    private static func read(
        _ reader: inout RecordingReader
    ) throws(RecordingError) -> [String: InterfaceOverride] {
        try reader.dictionary { reader throws(RecordingError) in
            let name = try reader.text()
            let type = try reader.optional { reader throws(RecordingError) in
                let word = try reader.text()
                guard let type = InterfaceType(rawValue: word) else {
                    throw reader.failure("'\(word)' is no type of interface")
                }
                return type
            }
            return (
                name,
                InterfaceOverride(
                    type: type, isExpensive: try reader.optionalFlag(),
                    isConstrained: try reader.optionalFlag())
            )
        }
    }
}

extension InterfaceHints {
    package var recorded: [UInt8] {
        var writer = RecordingWriter()
        writer.put(settings.entries) { writer, name, entry in
            writer.put(name)
            writer.put(entry.isExpensive) { $0.put($1) }
            writer.put(entry.isConstrained) { $0.put($1) }
        }
        writer.put(networkManager) { writer, name, device in
            writer.put(name)
            writer.put(device.metered.rawValue)
            writer.put(device.ssid) { $0.put($1) }
            writer.put(device.nameServers) { $0.put($1) }
            writer.put(device.hardwareAddress)
        }
        writer.put(leases) { writer, index, lease in
            writer.put(index)
            writer.put(lease.isAndroidMetered)
            writer.put(lease.nameServers) { $0.put($1) }
            writer.put(lease.address) { $0.put($1) }
        }
        writer.put(wireless) { writer, index, radio in
            writer.put(index)
            writer.put(radio.ssid) { $0.put($1) }
            writer.put(radio.signal) { $0.put(UInt32(bitPattern: Int32(clamping: $1))) }
            writer.put(radio.rate) { $0.put($1) }
        }
        writer.put(linkSpeeds) { writer, index, speed in
            writer.put(index)
            writer.put(speed)
        }
        writer.put(nameServers) { $0.put($1) }
        writer.put(resumes)
        // Recordings of before there were any end here.
        let fading = wireless.filter(\.value.isFading).keys.sorted()
        if !fading.isEmpty { writer.put(fading) { $0.put($1) } }
        return writer.bytes
    }

    package init(_ record: PathRecord) throws(RecordingError) {
        self.init()
        var reader = RecordingReader(record)
        settings.entries = try reader.dictionary { reader throws(RecordingError) in
            let name = try reader.text()
            let expensive = try reader.optionalFlag()
            return (
                name, PathSettings.Entry(isExpensive: expensive, isConstrained: try reader.optionalFlag())
            )
        }
        networkManager = try reader.dictionary { reader throws(RecordingError) in
            let name = try reader.text()
            let metered = try reader.number(UInt32.self)
            guard let metered = NetworkManagerDevice.Metered(rawValue: metered) else {
                throw reader.failure("\(metered) is no answer of NetworkManager's")
            }
            let ssid = try reader.optionalText()
            let servers = try reader.addresses()
            let hardware = try reader.block()
            return (
                name,
                NetworkManagerDevice(
                    metered: metered, ssid: ssid, nameServers: servers, hardwareAddress: hardware)
            )
        }
        leases = try reader.dictionary { reader throws(RecordingError) in
            let index = try reader.number(InterfaceIndex.self)
            let isMetered = try reader.flag()
            let servers = try reader.addresses()
            let address = try reader.optional { reader throws(RecordingError) in try reader.address() }
            return (
                index, LeaseHint(isAndroidMetered: isMetered, nameServers: servers, address: address)
            )
        }
        wireless = try reader.dictionary { reader throws(RecordingError) in
            let index = try reader.number(InterfaceIndex.self)
            let ssid = try reader.optionalText()
            let signal = try reader.optionalNumber().map { Int(Int32(bitPattern: $0)) }
            return (index, WirelessHint(ssid: ssid, signal: signal, rate: try reader.optionalNumber()))
        }
        linkSpeeds = try reader.dictionary { reader throws(RecordingError) in
            (try reader.number(InterfaceIndex.self), try reader.number(UInt32.self))
        }
        nameServers = try reader.addresses()
        resumes = try reader.number()
        if !reader.isAtEnd {
            let fading = try reader.list { reader throws(RecordingError) in
                try reader.number(InterfaceIndex.self)
            }
            for index in fading { wireless[index]?.isFading = true }
        }
        try reader.end()
    }
}

extension LinkFact {
    /// What sysfs says of this link.
    package var recordedDevice: [UInt8] {
        var writer = RecordingWriter()
        writer.put(index)
        writer.put(name)
        writer.put(device.devtype) { $0.put($1) }
        writer.put(device.hasRadio)
        writer.put(device.driver) { $0.put($1) }
        return writer.bytes
    }
}

extension LinkFact.Device {
    /// A device, with the index and name of the link it is about.
    package static func read(
        _ record: PathRecord
    ) throws(RecordingError) -> (index: InterfaceIndex, name: String, device: LinkFact.Device) {
        var reader = RecordingReader(record)
        let index = try reader.number(InterfaceIndex.self)
        let name = try reader.text()
        let devtype = try reader.optionalText()
        let hasRadio = try reader.flag()
        let driver = try reader.optionalText()
        try reader.end()
        return (index, name, LinkFact.Device(devtype: devtype, hasRadio: hasRadio, driver: driver))
    }
}

/// What the routing tables say about the Internet.
package struct RecordedRoutes: Sendable, Hashable {
    package var defaults: [DefaultRouteFact]
    package var reach: InternetReach

    package init(defaults: [DefaultRouteFact], reach: InternetReach) {
        self.defaults = defaults
        self.reach = reach
    }

    package var recorded: [UInt8] {
        var writer = RecordingWriter()
        writer.put(defaults) { writer, route in
            writer.put(route.family == .ipv6)
            writer.put(route.interface)
            writer.put(route.gateway) { $0.put($1) }
            writer.put(route.metric)
            writer.put(UInt8(bitPattern: route.preference.rawValue))
        }
        for family in IPAddress.Family.allCases {
            writer.put(reach.chosen[family]) { $0.put($1) }
            writer.put((reach.interfaces[family] ?? []).sorted()) { $0.put($1) }
        }
        return writer.bytes
    }

    package init(_ record: PathRecord) throws(RecordingError) {
        var reader = RecordingReader(record)
        defaults = try reader.list { reader throws(RecordingError) in
            let family: IPAddress.Family = try reader.flag() ? .ipv6 : .ipv4
            let interface = try reader.number(InterfaceIndex.self)
            let gateway = try reader.optional { reader throws(RecordingError) in try reader.address() }
            let metric = try reader.number(UInt32.self)
            let preference = Int8(bitPattern: try reader.number(UInt8.self))
            guard let preference = DefaultRouteFact.Preference(rawValue: preference) else {
                throw reader.failure("\(preference) is no preference of a router")
            }
            return DefaultRouteFact(
                family: family, interface: interface, gateway: gateway, metric: metric, preference: preference
            )
        }
        reach = InternetReach()
        for family in IPAddress.Family.allCases {
            reach.chosen[family] = try reader.optionalNumber()
            let list = try reader.list { reader throws(RecordingError) in
                try reader.number(InterfaceIndex.self)
            }
            if !list.isEmpty { reach.interfaces[family] = Set(list) }
        }
        try reader.end()
    }
}

extension RecordingReader {
    fileprivate mutating func optionalFlag() throws(RecordingError) -> Bool? {
        try optional { reader throws(RecordingError) in try reader.flag() }
    }

    fileprivate mutating func optionalText() throws(RecordingError) -> String? {
        try optional { reader throws(RecordingError) in try reader.text() }
    }

    fileprivate mutating func optionalNumber() throws(RecordingError) -> UInt32? {
        try optional { reader throws(RecordingError) in try reader.number() }
    }

    fileprivate mutating func addresses() throws(RecordingError) -> [IPAddress] {
        try list { reader throws(RecordingError) in try reader.address() }
    }
}
