import PathCore

/// Reads nl80211's answers (net/wireless/nl80211.c). What is missing or cut stays open.
enum WirelessDecoder {
    /// What CMD_NEW_INTERFACE says of an interface.
    struct Interface: Hashable {
        var index: InterfaceIndex
        /// Whether it is a client of an access point: NL80211_IFTYPE_STATION or P2P_CLIENT.
        var isClient: Bool
        var ssid: String?
    }

    /// What CMD_NEW_STATION says of the access point.
    struct Station: Hashable {
        /// In dBm.
        var signal: Int?
        /// In Mbit/s.
        var rate: UInt32?
    }

    static func interface(_ message: GenericMessage) -> Interface? {
        guard message.command == WirelessCommand.newInterface else { return nil }
        var index: InterfaceIndex?
        var isClient = false
        var ssid: String?
        message.attributes.visit { type, value in
            switch type {
            case WirelessAttribute.interface: index = value.number()
            case WirelessAttribute.interfaceType: isClient = [2, 8].contains(value.number(UInt32.self))
            // An SSID is bytes; one that is no UTF-8 is shown with the marks of what can't be.
            case WirelessAttribute.ssid:
                if (1...32).contains(value.count) { ssid = String(decoding: value, as: UTF8.self) }
            default: break
            }
        }
        return index.map { Interface(index: $0, isClient: isClient, ssid: ssid) }
    }

    static func station(_ message: GenericMessage) -> Station? {
        guard message.command == WirelessCommand.newStation else { return nil }
        var station = Station()
        message.attributes.visit { type, value in
            guard type == WirelessAttribute.stationInformation else { return }
            NetlinkAttributes(value).visit { type, value in
                switch type {
                case WirelessAttribute.signal: station.signal = value.number(Int8.self).map(Int.init)
                case WirelessAttribute.transmitRate: station.rate = rate(NetlinkAttributes(value))
                default: break
                }
            }
        }
        return station
    }

    /// The kernel counts in units of 100 kbit/s; the 16-bit form is missing where the rate doesn't fit.
    private static func rate(_ attributes: NetlinkAttributes) -> UInt32? {
        var rate: UInt32?
        attributes.visit { type, value in
            switch type {
            case WirelessAttribute.rate32: rate = value.number() ?? rate
            case WirelessAttribute.rate16: rate = rate ?? value.number(UInt16.self).map(UInt32.init)
            default: break
            }
        }
        return rate.map { ($0 / 10) + ($0 % 10 >= 5 ? 1 : 0) }
    }

    /// Whether an announcement may mean another network or another quality. The group carries more than
    /// that: each station of an access point, say, and requests of the program that runs the association.
    static func mayChangeFacts(_ message: GenericMessage) -> Bool { relevant.contains(message.command) }

    private static let relevant: Set<UInt8> = [
        WirelessCommand.setInterface, WirelessCommand.newInterface, WirelessCommand.deleteInterface,
        WirelessCommand.newStation, WirelessCommand.deleteStation, WirelessCommand.associate,
        WirelessCommand.deauthenticate, WirelessCommand.disassociate, WirelessCommand.connect,
        WirelessCommand.roam, WirelessCommand.disconnect, WirelessCommand.notifyConnectionQuality,
        WirelessCommand.channelSwitch,
    ]
}
