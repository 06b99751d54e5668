/// Whether traffic on a path costs money or uses up an allowance, and how sure that is.
///
/// "Unknown" is kept apart from "no", and a guess from a statement: a program that may spend on a
/// guess need not spend on a yes. NetworkManager's `NMMetered` tells the same five apart.
public enum Expense: String, Sendable, Hashable, CaseIterable {
    /// Nothing is known about it.
    case unknown
    /// A source says that it is not expensive.
    case no
    /// A source concludes that it is not.
    case guessedNo = "guessed_no"
    /// A source concludes that it is.
    case guessedYes = "guessed_yes"
    /// A source says that it is expensive.
    case yes

    /// The short form: what is unknown counts as not expensive.
    public var isExpensive: Bool { self == .yes || self == .guessedYes }

    /// Whether a source states it, rather than hints at it.
    public var isCertain: Bool { self == .yes || self == .no }

    /// What a person or a program said outright.
    public init(said: Bool) { self = said ? .yes : .no }
}
