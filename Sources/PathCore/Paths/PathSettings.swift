/// The user's own word about interfaces and Wi-Fi networks, as the settings file keeps it.
package struct PathSettings: Sendable, Hashable {
    /// By interface name or SSID.
    package var entries: [String: Entry]

    /// What is nil is left to the other sources.
    package struct Entry: Sendable, Hashable {
        package var isExpensive: Bool?
        package var isConstrained: Bool?

        package init(isExpensive: Bool? = nil, isConstrained: Bool? = nil) {
            self.isExpensive = isExpensive
            self.isConstrained = isConstrained
        }
    }

    package init(entries: [String: Entry] = [:]) { self.entries = entries }

    /// The word about an interface in a network: the network's is the closer one.
    func value(_ property: KeyPath<Entry, Bool?>, interface: String, ssid: String?) -> Bool? {
        ssid.flatMap { entries[$0]?[keyPath: property] } ?? entries[interface]?[keyPath: property]
    }
}
