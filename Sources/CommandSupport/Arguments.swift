public import ArgumentParser
import Multipath

extension Duration {
    /// Reads a duration from an argument, for an option's `transform`.
    ///
    /// - Throws: `ValidationError`, which lists the forms.
    public static func argument(_ text: String) throws -> Duration {
        guard let duration = Duration(parsing: text) else {
            throw ValidationError("'\(TerminalText.safe(text))' is no duration; write one as \(textForms)")
        }
        return duration
    }
}

/// An argument that is one of a few words.
public protocol WordArgument: ExpressibleByArgument, CaseIterable, RawRepresentable<String> {}

extension WordArgument {
    /// Reads one of the words, for an option's `transform`.
    ///
    /// - Throws: `ValidationError`, which suggests the nearest word and lists all.
    public static func argument(_ text: String) throws -> Self {
        if let value = Self(rawValue: text) { return value }
        let words = allCases.map(\.rawValue)
        throw ValidationError(
            """
            '\(TerminalText.safe(text))' is none of \(words.joined(separator: ", "))\
            \(Suggestion.hint(for: text, among: words))
            """)
    }
}
