/// A kind of network, with conditions that are typical of it. Those of one link vary by the hour; these are middling ones.
public enum LinkPreset: String, Sendable, Hashable, CaseIterable {
    /// A home's Wi-Fi.
    case wifi
    /// A 4G modem.
    case lte
    /// A 3G modem.
    case umts
    /// A 2G modem.
    case edge
    /// A geostationary satellite.
    case satellite
    /// A crowded hotel's Wi-Fi.
    case hotel

    /// What it is, for help texts.
    public var about: String {
        switch self {
        case .wifi: "a home's Wi-Fi: fast, its frames in bursts"
        case .lte: "a 4G modem: fast down, slower up, 300 ms of queue"
        case .umts: "a 3G modem: a few Mbit/s, and a second of queue"
        case .edge: "a 2G modem: 200 kbit/s, half a second away"
        case .satellite: "a geostationary satellite: 600 ms away, a little loss"
        case .hotel: "a crowded hotel's Wi-Fi: policed, bloated, lossy, behind a forgetful NAT"
        }
    }

    /// Its conditions, as a user would write them.
    public var text: String {
        switch self {
        case .wifi: "rtt=10ms,jitter=1ms,rate=80mbit,queue=60ms,burst=4ms"
        case .lte: "rtt=50ms,jitter=5ms,up.rate=12mbit,down.rate=40mbit,queue=300ms"
        case .umts: "rtt=120ms,jitter=15ms,up.rate=1mbit,down.rate=4mbit,queue=1s"
        case .edge: "rtt=500ms,jitter=80ms,up.rate=100kbit,down.rate=200kbit,queue=2s"
        case .satellite: "rtt=600ms,jitter=5ms,up.rate=3mbit,down.rate=25mbit,queue=500ms,loss=0.3%"
        case .hotel:
            "rtt=40ms,jitter=10ms,rate=15mbit,queue=800ms,policer=10mbit/500kb,loss=0.5%,burst=4ms,nat=120s"
        }
    }

    /// - Throws: never; its own texts are tested.
    var conditions: LinkConditions {
        get throws(LabTextError) { try ConditionChange(parsing: text).applied(to: LinkConditions()) }
    }
}
