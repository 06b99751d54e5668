/// The path that a policy would choose now: the current one first, then each time that it is another, or its tags are. Nil is
/// an element, too: no path is allowed.
///
/// Every iterator is a consumer of its own; a slow one skips to the newest.
public struct AllowedPathUpdates: AsyncSequence, Sendable {
    /// The path that would be chosen; nil where none is allowed.
    public typealias Element = PathInterface?
    /// The sequence ends, and never fails.
    public typealias Failure = Never

    let updates: PathUpdates
    let policy: PathPolicy

    /// A new consumer, from this moment on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(updates: updates.makeAsyncIterator(), filter: AllowedPathFilter(policy), unprepared: policy)
    }

    /// An iterator is for one task. It ends when that task is cancelled, or if the monitor could not start.
    public struct Iterator: AsyncIteratorProtocol {
        var updates: PathUpdates.Iterator
        var filter: AllowedPathFilter
        /// Until the paths are known to tell of the policy's budget.
        var unprepared: PathPolicy?

        /// The next choice, which may be none; nil at the end.
        public mutating func next() async -> PathInterface?? {
            await next(isolation: nil)
        }

        /// The next choice, which may be none; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> PathInterface?? {
            if let policy = unprepared.take() { await updates.consumer.channel.prepare(for: policy) }
            while let snapshot = await updates.next(isolation: actor) {
                if let choice = filter.ingest(snapshot) { return .some(choice) }
            }
            return nil
        }
    }
}
