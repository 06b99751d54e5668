/// What NetworkManager says of one device.
package struct NetworkManagerDevice: Sendable, Hashable {
    package var metered: Metered
    /// The network's name, for a Wi-Fi device that is in one.
    package var ssid: String?
    package var nameServers: [IPAddress]
    /// To be compared with the link's own: NetworkManager may describe another network namespace.
    package var hardwareAddress: [UInt8]

    /// NMMetered.
    package enum Metered: UInt32, Sendable, Hashable {
        case unknown = 0
        case yes = 1
        case no = 2
        case guessedYes = 3
        case guessedNo = 4

        var expense: Expense {
            switch self {
            case .unknown: .unknown
            case .yes: .yes
            case .no: .no
            case .guessedYes: .guessedYes
            case .guessedNo: .guessedNo
            }
        }
    }

    package init(
        metered: Metered, ssid: String? = nil, nameServers: [IPAddress] = [], hardwareAddress: [UInt8] = []
    ) {
        self.metered = metered
        self.ssid = ssid
        self.nameServers = nameServers
        self.hardwareAddress = hardwareAddress
    }
}
