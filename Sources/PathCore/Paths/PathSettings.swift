/// The user's own word about interfaces and Wi-Fi networks, as the settings file keeps it.
public struct PathSettings: Sendable, Hashable {
    /// By interface name or SSID.
    public var entries: [String: Entry]

    /// What is nil is left to the other sources.
    public struct Entry: Sendable, Hashable {
        public var isExpensive: Bool?
        public var isConstrained: Bool?

        public init(isExpensive: Bool? = nil, isConstrained: Bool? = nil) {
            self.isExpensive = isExpensive
            self.isConstrained = isConstrained
        }
    }

    public init(entries: [String: Entry] = [:]) { self.entries = entries }

    /// The word about an interface in a network: the network's is the closer one.
    func value(_ property: KeyPath<Entry, Bool?>, interface: String, ssid: String?) -> Bool? {
        ssid.flatMap { entries[$0]?[keyPath: property] } ?? entries[interface]?[keyPath: property]
    }
}
