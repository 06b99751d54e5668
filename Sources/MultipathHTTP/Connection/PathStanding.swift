#if HTTP
    import LinuxNet
    import Multipath
    internal import MultipathNIO

    /// What a connection's path is to the next request.
    enum PathStanding: Sendable, Hashable {
        /// It is the one that a new connection would take.
        case good
        /// The connection has left the path that it began on: it works, but towards most servers it is slow for good, because
        /// its sender's buffer never grows again ("What the kernel does" in the documentation).
        case moved
        /// A new connection would take a better path.
        case bettered
        /// The connection has no path that works, and waits for one: MPTCP outlives that.
        case waiting
        /// The path does not carry the connection any more, which can't leave it: plain TCP.
        case failed
        /// The connection's rules do not allow the path any more.
        case refused
    }

    /// Reads a connection's standing from its events. It lives on the thread that tells them.
    final class PathStandingObserver: @unchecked Sendable {
        private var isMPTCP: Bool
        /// The path that the connection came about over.
        private let began: PathID?
        private var isViable = true
        private var isRefused = false
        private var isBettered = false
        private var hasMoved = false
        /// The path that carries, and whether it is dead. A connection that died before its peer had acknowledged a byte
        /// can't leave it (the kernel takes no order before that), and tells nothing else.
        private var carrier: PathID?
        private var isDead = false
        private var told = PathStanding.good

        convenience init(_ connection: MultipathConnection) {
            self.init(
                isMPTCP: connection.transport.isMPTCP, began: connection.establishment?.path)
        }

        init(isMPTCP: Bool, began: PathID?) {
            self.isMPTCP = isMPTCP
            self.began = began
            carrier = began
        }

        /// - Returns: the standing where it is another now.
        func ingest(_ event: ConnectionEvent) -> PathStanding? {
            switch event {
            case .fallback: (isMPTCP, isDead) = (false, false)
            case .viabilityChanged(let isViable, _): self.isViable = isViable
            case .betterPathAvailable(let path): isBettered = path != nil
            case .pathChanged(let path):
                // Once is for good: the subflow that it began with has ended.
                if isMPTCP, path.id != began { hasMoved = true }
                isRefused = path.refusal != nil
            case .pathNotAllowed: isRefused = true
            case .steering(.moved(_, let to, _)):
                if to != began { hasMoved = true }
                (carrier, isDead) = (to, false)
            case .steering(.failed(let path, _)): if path == carrier { isDead = true }
            case .steering(.answered(let path)): if path == carrier { isDead = false }
            default: return nil
            }
            let now = standing
            guard now != told else { return nil }
            told = now
            return now
        }

        private var standing: PathStanding {
            if isRefused { return .refused }
            if !isViable { return isMPTCP ? .waiting : .failed }
            if isDead { return .waiting }
            if hasMoved { return .moved }
            return isBettered ? .bettered : .good
        }
    }
#endif
