#if HTTP
    import NIOCore

    /// Pieces of messages that came and are not yet received, and whether more should be read: a slow receiver stops the
    /// connection's reading, and by that the peer.
    struct IncomingQueue: Sendable {
        /// What the receiver waits for.
        enum Demand: Sendable, Hashable {
            /// The whole next message; the rest of one that was received in part is skipped.
            case message
            /// The first piece of the next message; likewise.
            case nextMessage
            /// The next piece of the message with this number.
            case piece(of: Int)
        }

        /// What each piece costs beside its bytes, so that many small ones count, too.
        private static let overhead = 64
        /// Where more wait, the pieces of one message become one …
        private static let mostApart = 64
        /// … up to so many bytes: a peer may send a message byte by byte.
        private static let joined = 16 * 1024

        private let highMark: Int
        private var fragments = CircularBuffer<WebSocketFragment>()
        private var size = 0
        /// How many of the pieces are the last of theirs.
        private var wholeMessages = 0
        /// Whether the first of the pieces goes on with a message whose beginning was taken.
        private var isWithinMessage = false
        /// The number of the message that was begun last; they count from 1.
        private(set) var current = 0

        /// - Parameter highMark: bytes beyond which no more is read.
        init(highMark: Int) { self.highMark = highMark }

        mutating func append(_ fragment: WebSocketFragment) {
            let length = fragment.bytes.readableBytes
            if fragment.isLast { wholeMessages += 1 }
            size += length
            if fragments.count >= Self.mostApart, joins(length) {
                let place = fragments.index(before: fragments.endIndex)
                return fragments.modify(place) {
                    $0.bytes.writeImmutableBuffer(fragment.bytes)
                    $0.isLast = fragment.isLast
                }
            }
            var fragment = fragment
            // A slice keeps all alive that was read with it.
            if length < fragment.bytes.storageCapacity / 2 {
                fragment.bytes = ByteBuffer(buffer: fragment.bytes)
            }
            fragments.append(fragment)
            size += Self.overhead
        }

        /// Whether the piece that came last takes so many bytes more.
        private func joins(_ length: Int) -> Bool {
            fragments.last.map { !$0.isLast && $0.bytes.readableBytes + length <= Self.joined } ?? false
        }

        /// Whether the connection should be read: a receiver who waits for a whole message gets it however long it is.
        func wantsMore(for demand: Demand?) -> Bool { size < highMark || demand != nil }

        /// Whether no more can come of what is asked for: that message was taken to its end, or another one begun.
        func isOver(_ demand: Demand) -> Bool {
            guard case .piece(let message) = demand else { return false }
            return message != current || !isWithinMessage
        }

        /// Takes what is asked for; nil where it is not here yet.
        mutating func take(_ demand: Demand) -> WebSocketFragment? {
            switch demand {
            case .piece: return isOver(demand) ? nil : takeFirst()
            case .nextMessage:
                skipRest()
                return isWithinMessage ? nil : takeFirst()
            case .message:
                skipRest()
                guard !isWithinMessage, wholeMessages > 0, var message = takeFirst() else { return nil }
                while !message.isLast, var next = takeFirst() {
                    message.bytes.writeBuffer(&next.bytes)
                    message.isLast = next.isLast
                }
                return message
            }
        }

        private mutating func skipRest() {
            while isWithinMessage, takeFirst() != nil {}
        }

        private mutating func takeFirst() -> WebSocketFragment? {
            guard let fragment = fragments.popFirst() else { return nil }
            size -= fragment.bytes.readableBytes + Self.overhead
            if fragment.isLast { wholeMessages -= 1 }
            if !isWithinMessage { current += 1 }
            isWithinMessage = !fragment.isLast
            return fragment
        }
    }
#endif
