import ArgumentParser
public import Multipath

/// What `--prohibit` rules out. It guards money and data volumes, so a word that means nothing is an error.
public struct Prohibition: Sendable {
    /// A name in front of which this stands is taken as it is, whether or not there is such an interface now.
    private static let interfacePrefix = "interface:"
    private static let words = ["expensive", "constrained"] + InterfaceType.allCases.map(\.rawValue)

    private var allowsExpensive = true
    private var allowsConstrained = true
    private var types: Swift.Set<InterfaceType> = []
    private var interfaces: Swift.Set<String> = []
    /// Words that must be names of interfaces.
    private var unchecked: [String] = []

    /// Takes the option's words, which commas may separate.
    public init(parsing arguments: [String]) {
        for word in arguments.flatMap({ $0.split(separator: ",") }).map(String.init) {
            if word == "expensive" {
                allowsExpensive = false
            } else if word == "constrained" {
                allowsConstrained = false
            } else if let type = InterfaceType(rawValue: word) {
                types.insert(type)
            } else if word.hasPrefix(Self.interfacePrefix) {
                interfaces.insert(String(word.dropFirst(Self.interfacePrefix.count)))
            } else {
                unchecked.append(word)
            }
        }
    }

    /// Puts it into a configuration.
    ///
    /// - Throws: `ValidationError` for a word that is neither a type nor an interface of this machine;
    ///   `MessageError` where the paths can't be read.
    public func apply(
        to configuration: inout ConnectionConfiguration, _ monitor: PathMonitor
    ) async throws {
        let names = unchecked.isEmpty ? [] : try await currentPath(monitor).allInterfaces.map(\.name)
        try apply(to: &configuration, interfaces: names)
    }

    /// Puts it into a configuration.
    ///
    /// - Parameter names: of this machine's interfaces.
    /// - Throws: `ValidationError` for a word that is neither a type nor one of those.
    public func apply(to configuration: inout ConnectionConfiguration, interfaces names: [String]) throws {
        if !allowsExpensive { configuration.allowsExpensivePaths = false }
        if !allowsConstrained { configuration.allowsConstrainedPaths = false }
        configuration.prohibitedInterfaceTypes.formUnion(types)
        configuration.prohibitedInterfaces.formUnion(interfaces)
        for word in unchecked where !names.contains(word) {
            let shown = TerminalText.safe(word)
            throw ValidationError(
                """
                --prohibit: '\(shown)' is none of \(Self.words.joined(separator: ", ")), and no interface here\
                \(Suggestion.hint(for: word, among: Self.words + names)); an interface that may appear later is \
                \(Self.interfacePrefix)\(shown)
                """)
        }
        configuration.prohibitedInterfaces.formUnion(unchecked)
    }
}
