// What a consumer that asks for allowed paths is told: the path that a policy would choose, as often as that is another
// one. Of the rest of a snapshot it hears nothing.

/// Finds what is news in a row of snapshots for one policy.
package struct AllowedPathFilter: Sendable {
    private let policy: PathPolicy
    /// What was told last: nil before the first, then the choice.
    private var told: ConnectionPath??

    package init(_ policy: PathPolicy) { self.policy = policy }

    /// A snapshot.
    ///
    /// - Returns: nil where the same path would be chosen, with the same tags, as was told last; else what to tell: the
    ///   path that would be chosen now, or nil where none is allowed.
    package mutating func ingest(_ snapshot: PathSnapshot) -> PathInterface?? {
        let choice = policy.allowed(in: snapshot).first
        let path = choice.map { ConnectionPath($0, policy: policy) }
        if let told, told == path { return nil }
        told = .some(path)
        return .some(choice)
    }
}
