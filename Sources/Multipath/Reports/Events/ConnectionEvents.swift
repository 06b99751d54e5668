/// What happens to a connection, for any number of consumers.
///
/// ```swift
/// for await event in connection.events { print(event) }
/// ```
///
/// Each iterator is a consumer of its own. It first gets what holds at that moment (`established`, `fallback`, and
/// where they apply `viabilityChanged`, `waiting`, `betterPathAvailable`, `pathChanged` and `pathNotAllowed`), then what happens, in order, and
/// `closed` as the last. A consumer that leaves 256 events unread loses those, gets `dropped` with their number, and
/// after it what holds then: a loop that reads slowly costs no memory, and ends with the right state.
public struct ConnectionEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = ConnectionEvent
    /// The sequence ends, and never fails.
    public typealias Failure = Never

    let channel: ConnectionEventChannel

    /// A new consumer, from this moment on.
    public func makeAsyncIterator() -> Iterator { Iterator(consumer: Consumer(channel)) }

    /// An iterator is for one task. It ends after `closed`, or when its task is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
        let consumer: Consumer

        /// The next event; nil at the end.
        public mutating func next() async -> ConnectionEvent? {
            await consumer.channel.next(consumer.id)
        }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ConnectionEvent? {
            await consumer.channel.next(consumer.id)
        }
    }

    /// A consumer's place in the channel, given back when the iterator goes.
    final class Consumer: Sendable {
        let channel: ConnectionEventChannel
        let id: UInt64

        init(_ channel: ConnectionEventChannel) {
            self.channel = channel
            id = channel.addConsumer()
        }

        deinit { channel.removeConsumer(id) }
    }
}
