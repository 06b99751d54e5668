/// What the process or its user says about an interface by its name, against what the evidence says.
public struct InterfaceOverride: Sendable, Hashable {
    /// The type, if it is said.
    public var type: InterfaceType?
    /// Whether traffic over it costs money, if it is said.
    public var isExpensive: Bool?
    /// Whether data is to be saved on it, if it is said.
    public var isConstrained: Bool?

    /// An override of what is given.
    public init(type: InterfaceType? = nil, isExpensive: Bool? = nil, isConstrained: Bool? = nil) {
        self.type = type
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}

/// Overrides by interface name, from the program itself and from the environment; the program's win.
public struct InterfaceOverrides: Sendable, Hashable {
    /// What the program says, by the interface's name.
    public var configuration: [String: InterfaceOverride]
    /// What the environment says, by the interface's name.
    public var environment: [String: InterfaceOverride]

    /// Overrides of what is given, by the interface's name.
    public init(
        configuration: [String: InterfaceOverride] = [:], environment: [String: InterfaceOverride] = [:]
    ) {
        self.configuration = configuration
        self.environment = environment
    }

    /// The first answer to an interface's property, with its source.
    func verdict<Value>(
        for name: String, _ property: KeyPath<InterfaceOverride, Value?>
    ) -> Verdict<Value>? {
        if let value = configuration[name]?[keyPath: property] { return Verdict(value, .configuration) }
        if let value = environment[name]?[keyPath: property] { return Verdict(value, .environment) }
        return nil
    }

    /// The variable's name.
    public static let environmentVariable = "MULTIPATH_INTERFACES"

    /// Why the variable's text could not be read.
    public struct Malformed: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// Reads `NAME=WORD[,WORD…] …`, for example `wlan0=wifi wwan0=cellular,expensive,constrained`. A word is
    /// an interface type, `expensive` or `constrained`, or either with `not-` before it.
    public static func parse(_ text: String) throws(Malformed) -> [String: InterfaceOverride] {
        var overrides: [String: InterfaceOverride] = [:]
        for entry in text.split(whereSeparator: { $0.isWhitespace || $0 == ";" }) {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else {
                throw Malformed(
                    description: "\(environmentVariable): '\(entry)' should read NAME=WORD, as in wlan0=wifi")
            }
            var override = overrides[String(parts[0])] ?? InterfaceOverride()
            for word in parts[1].split(separator: ",") {
                switch word {
                case "expensive": override.isExpensive = true
                case "not-expensive": override.isExpensive = false
                case "constrained": override.isConstrained = true
                case "not-constrained": override.isConstrained = false
                default:
                    guard let type = InterfaceType(rawValue: String(word)) else {
                        let types = InterfaceType.allCases.map(\.rawValue)
                        let words = types + ["expensive", "not-expensive", "constrained", "not-constrained"]
                        throw Malformed(
                            description: """
                                \(environmentVariable): '\(word)' in '\(entry)' is none of \
                                \(types.joined(separator: ", ")), [not-]expensive, [not-]constrained\
                                \(Suggestion.hint(for: word, among: words))
                                """)
                    }
                    override.type = type
                }
            }
            overrides[String(parts[0])] = override
        }
        return overrides
    }
}
