/// As an object: "class": "voice", "dscp": 46, "unmarked_family": "ipv6". The code point follows from the class, and is not read
/// back.
extension TrafficMarking: Codable {
    private enum Key: String, CodingKey {
        case trafficClass = "class"
        case dscp
        case unmarkedFamily = "unmarked_family"
    }

    private enum FamilyName: String, Codable { case ipv4, ipv6 }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(trafficClass, forKey: .trafficClass)
        try object.encode(trafficClass.dscp, forKey: .dscp)
        let family: FamilyName? = unmarkedFamily.map { $0 == .ipv4 ? .ipv4 : .ipv6 }
        try object.encode(family, forKey: .unmarkedFamily)
    }

    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        let family = try object.decodeIfPresent(FamilyName.self, forKey: .unmarkedFamily)
        self.init(
            try object.decode(TrafficClass.self, forKey: .trafficClass),
            unmarkedFamily: family.map { $0 == .ipv4 ? .ipv4 : .ipv6 })
    }
}
