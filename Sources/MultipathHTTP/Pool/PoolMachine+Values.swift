#if HTTP
    import Multipath

    extension PoolMachine {
        struct Configuration: Sendable, Hashable {
            /// HTTP/1.1 connections at a time, dials included.
            var maximumHTTP1Connections = 6
            /// How long an idle connection is kept.
            var idleTimeout = Duration.seconds(60)
            /// How long after its last request a connection counts as in use: then a replacement is dialed beforehand.
            var warmth = Duration.seconds(10)
            /// How long after a replacement that brought nothing the next is tried, doubled each time …
            var replacementPause = Duration.seconds(2)
            /// … up to this.
            var longestReplacementPause = Duration.seconds(60)
            /// How many requests HTTP/2 takes at a time before the server has said so.
            var assumedStreams = 100
        }

        enum ProtocolKind: Sendable, Hashable {
            case http1
            case http2
        }

        enum Action: Sendable, Hashable {
            /// Open a connection; say `dialed` or `dialFailed`.
            case dial(ConnectionID)
            /// The dial is not wanted any more.
            case cancelDial(ConnectionID)
            /// The connection carries the request; say `exchangeEnded` when that has ended.
            case lease(RequestID, ConnectionID)
            /// No connection can be had: the dial's error is the request's.
            case fail(RequestID, because: ConnectionID)
            /// There is a better connection: what this one carries may go on there.
            case supersede(ConnectionID)
            /// Close the connection, which carries nothing.
            case close(ConnectionID)
            /// Close the connection at once, with whatever it carries: its path has failed.
            case breakOff(ConnectionID)
        }

        struct OpenConnection: Sendable {
            var kind: ProtocolKind
            var capacity: Int
            /// The one that it came about over.
            var path: PathID
            /// Whether it leaves a path that fails by itself.
            var changesPaths: Bool
            var active = 0
            var lastUse: MonotonicTime
            var standing = PathStanding.good
            var isSuspect = false
            /// Takes no request any more, whatever its path does: GOAWAY, 421.
            var isDraining = false

            var isHeld: Bool {
                switch standing {
                case .failed, .refused, .waiting: true
                case .good, .moved, .bettered: isSuspect
                }
            }
            /// Whether another one is wanted in its place: for the requests to come, and where its path carries nothing for those that it
            /// carries as well.
            var isStale: Bool {
                switch standing {
                case .moved, .bettered: !isDraining
                case .waiting: !isDraining || active > 0
                case .good, .failed, .refused: false
                }
            }
            /// Whether it can carry a request, now or later.
            var isUsable: Bool { !isDraining && !isHeld }
            var hasRoom: Bool { isUsable && active < capacity }
        }
    }

    extension PoolMachine.OpenConnection {
        /// - Parameter isOlder: what decides where nothing else does.
        func isPreferred(to other: PoolMachine.OpenConnection, _ isOlder: Bool) -> Bool {
            if isStale != other.isStale { return !isStale }
            if lastUse != other.lastUse { return lastUse > other.lastUse }
            return isOlder
        }
    }
#endif
