import PathCore

/// Reads what NetworkManager sends into its objects.
struct NetworkManagerDecoder {
    private typealias Malformed = BusMessage.Malformed
    private typealias Interface = NetworkManagerObjects.Interface
    private typealias Property = NetworkManagerObjects.Property

    /// Properties of another type than theirs, and messages that could not be read to their end.
    private(set) var malformed = 0

    /// The answer to org.freedesktop.DBus.ObjectManager.GetManagedObjects; nil where it can't be read.
    mutating func objects(_ answer: BusMessage) -> NetworkManagerObjects? {
        var objects = NetworkManagerObjects()
        let isGood = attempt { (decoder) throws(Malformed) in
            try answer.dictionary(of: "oa{sa{sv}}") { () throws(Malformed) in
                try decoder.addObject(answer, to: &objects)
            }
        }
        return isGood ? objects : nil
    }

    /// InterfacesAdded or InterfacesRemoved.
    /// - Returns: false where it can't be read, and everything has to be read again.
    mutating func apply(objectSignal signal: BusMessage, to objects: inout NetworkManagerObjects) -> Bool {
        attempt { (decoder) throws(Malformed) in
            guard signal.member == "InterfacesRemoved" else {
                return try decoder.addObject(signal, to: &objects)
            }
            let path = try signal.objectPath()
            var gone: [Interface] = []
            try signal.array(of: "s") { () throws(Malformed) in
                if let interface = Interface(rawValue: try signal.string()) { gone.append(interface) }
            }
            objects.remove(path, gone)
        }
    }

    /// PropertiesChanged.
    /// - Returns: false where it can't be read, or names properties without their new values.
    mutating func apply(propertiesChanged signal: BusMessage, to objects: inout NetworkManagerObjects) -> Bool
    {
        var isComplete = true
        let isGood = attempt { (decoder) throws(Malformed) in
            guard let interface = Interface(rawValue: try signal.string()) else { return }
            let properties = try decoder.properties(signal, of: interface)
            objects.update(signal.path, interface, with: properties)
            try signal.array(of: "s") { () throws(Malformed) in
                isComplete = false
                try signal.skip("s")
            }
        }
        return isGood && isComplete
    }

    /// Reads with `body`, and counts what it can't read.
    private mutating func attempt(_ body: (inout Self) throws(Malformed) -> Void) -> Bool {
        do throws(Malformed) {
            try body(&self)
            return true
        } catch {
            malformed += 1
            return false
        }
    }

    /// A path, then a dictionary of interfaces with their properties.
    private mutating func addObject(
        _ message: BusMessage, to objects: inout NetworkManagerObjects
    ) throws(Malformed) {
        let path = try message.objectPath()
        try message.dictionary(of: "sa{sv}") { () throws(Malformed) in
            guard let interface = Interface(rawValue: try message.string()) else {
                return try message.skip("a{sv}")
            }
            objects.update(path, interface, with: try properties(message, of: interface))
        }
    }

    private mutating func properties(
        _ message: BusMessage, of interface: Interface
    ) throws(Malformed) -> [Property] {
        var properties: [Property] = []
        try message.dictionary(of: "sv") { () throws(Malformed) in
            if let property = try property(message, of: interface) { properties.append(property) }
        }
        return properties
    }

    /// A name and a variant.
    private mutating func property(
        _ message: BusMessage, of interface: Interface
    ) throws(Malformed) -> Property? {
        let property: Property?
        switch (interface, try message.string()) {
        case (.device, "Interface"):
            property = try message.variant(of: "s", message.string).map(Property.controlInterface)
        case (.device, "IpInterface"):
            property = try message.variant(of: "s", message.string).map(Property.ipInterface)
        case (.device, "HwAddress"):
            property = try message.variant(of: "s", message.string).map(Property.hardwareAddress)
        case (.device, "Metered"):
            property = try message.variant(of: "u", message.number).map(Property.metered)
        case (.device, "Ip4Config"):
            property = try message.variant(of: "o", message.objectPath).map(Property.ip4Configuration)
        case (.device, "Ip6Config"):
            property = try message.variant(of: "o", message.objectPath).map(Property.ip6Configuration)
        case (.wireless, "ActiveAccessPoint"):
            property = try message.variant(of: "o", message.objectPath).map(Property.activeAccessPoint)
        case (.accessPoint, "Ssid"):
            property = try message.variant(of: "ay", message.bytes).map(Property.ssid)
        case (.ip4Configuration, "NameserverData"), (.ip6Configuration, "NameserverData"):
            property = try message.variant(of: "aa{sv}") { () throws(Malformed) in
                .nameServerData(try addressData(message))
            }
        case (.ip4Configuration, "Nameservers"):
            property = try message.variant(of: "au") { () throws(Malformed) in
                var addresses: [IPAddress] = []
                try message.array(of: "u") { () throws(Malformed) in
                    // The four bytes in network order, whatever number they make on this machine.
                    addresses.append(IPAddress(ipv4: UInt32(bigEndian: try message.number())))
                }
                return .nameServers(addresses)
            }
        case (.ip6Configuration, "Nameservers"):
            property = try message.variant(of: "aay") { () throws(Malformed) in
                var addresses: [IPAddress] = []
                try message.array(of: "ay") { () throws(Malformed) in
                    if let address = IPAddress(networkBytes: try message.bytes()) {
                        addresses.append(address)
                    }
                }
                return .nameServers(addresses)
            }
        default:
            try message.skip("v")
            return nil
        }
        if property == nil { malformed += 1 }
        return property
    }

    /// An array of dictionaries, whose `address` is the address as text.
    private mutating func addressData(_ message: BusMessage) throws(Malformed) -> [IPAddress] {
        var addresses: [IPAddress] = []
        try message.array(of: "a{sv}") { () throws(Malformed) in
            try message.dictionary(of: "sv") { () throws(Malformed) in
                guard try message.string() == "address" else { return try message.skip("v") }
                let text = try message.variant(of: "s", message.string)
                if let address = text.flatMap({ IPAddress($0) }) {
                    addresses.append(address)
                } else {
                    malformed += 1
                }
            }
        }
        return addresses
    }
}
