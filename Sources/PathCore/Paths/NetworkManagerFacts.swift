/// What NetworkManager says of one device.
public struct NetworkManagerDevice: Sendable, Hashable {
    public var metered: Metered
    /// The network's name, for a Wi-Fi device that is in one.
    public var ssid: String?
    public var nameServers: [IPAddress]
    /// To be compared with the link's own: NetworkManager may describe another network namespace.
    public var hardwareAddress: [UInt8]

    /// NMMetered.
    public enum Metered: UInt32, Sendable, Hashable {
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

    public init(
        metered: Metered, ssid: String? = nil, nameServers: [IPAddress] = [], hardwareAddress: [UInt8] = []
    ) {
        self.metered = metered
        self.ssid = ssid
        self.nameServers = nameServers
        self.hardwareAddress = hardwareAddress
    }
}
