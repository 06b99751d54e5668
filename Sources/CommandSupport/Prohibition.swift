import ArgumentParser
public import Multipath

/// What `--prohibit` rules out. It guards money and data volumes, so a word that means nothing is an error.
public struct Prohibition {
    /// A name in front of which this stands is taken as it is, whether or not there is such an interface now.
    private static let interfacePrefix = "interface:"
    private static let words = ["expensive", "constrained"] + InterfaceType.allCases.map(\.rawValue)

    private var allowsExpensive = true
    private var allowsConstrained = true
    private var types: Swift.Set<InterfaceType> = []
    private var interfaces: Swift.Set<String> = []
    /// Words that must be names of interfaces.
    private var unchecked: [String] = []

    /// Reads the option's arguments, each a list with commas.
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

    /// Puts it into a policy.
    ///
    /// - Throws: `ValidationError` for a word that is neither a type nor an interface of this machine;
    ///   `MessageError` where the paths can't be read.
    public func apply(to policy: inout PathPolicy, _ monitor: PathMonitor) async throws {
        if !allowsExpensive { policy.allowsExpensivePaths = false }
        if !allowsConstrained { policy.allowsConstrainedPaths = false }
        policy.prohibitedInterfaceTypes.formUnion(types)
        policy.prohibitedInterfaces.formUnion(interfaces)
        guard !unchecked.isEmpty else { return }
        let names = try await currentPath(monitor).allInterfaces.map(\.name)
        for word in unchecked where !names.contains(word) {
            let shown = TerminalText.safe(word)
            throw ValidationError(
                """
                --prohibit: '\(shown)' is none of \(Self.words.joined(separator: ", ")), and no interface here\
                \(Suggestion.hint(for: word, among: Self.words + names)); an interface that may appear later is \
                \(Self.interfacePrefix)\(shown)
                """)
        }
        policy.prohibitedInterfaces.formUnion(unchecked)
    }
}
