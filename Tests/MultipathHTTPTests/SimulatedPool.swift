#if HTTP
    import Multipath

    @testable import MultipathHTTP

    /// What becomes of an origin's requests and connections, in time that the test makes.
    struct SimulatedPool {
        var machine: PoolMachine
        var now = MonotonicTime.zero

        init(
            _ configuration: PoolMachine.Configuration = PoolMachine.Configuration(),
            knows kind: PoolMachine.ProtocolKind? = nil
        ) {
            machine = PoolMachine(configuration, knownProtocol: kind)
        }

        mutating func request(_ id: Int) -> [PoolMachine.Action] { machine.request(id, at: now) }

        mutating func dialed(
            _ id: Int, _ kind: PoolMachine.ProtocolKind, over path: PathID = "wlan0"
        ) -> [PoolMachine.Action] { machine.dialed(id, kind, over: path, at: now) }

        mutating func ended(_ id: Int, isReusable: Bool = true) -> [PoolMachine.Action] {
            machine.exchangeEnded(id, isReusable: isReusable, at: now)
        }

        mutating func path(_ id: Int, is standing: PathStanding) -> [PoolMachine.Action] {
            machine.path(id, is: standing, at: now)
        }

        mutating func pass(_ time: Duration) -> [PoolMachine.Action] {
            now = now.advanced(by: time)
            return machine.timeReached(now)
        }

        /// An open connection that carries nothing.
        mutating func idle(_ kind: PoolMachine.ProtocolKind, over path: PathID = "wlan0") -> Int {
            guard case .dial(let id)? = request(-1).first else { preconditionFailure("nothing was dialed") }
            _ = dialed(id, kind, over: path)
            _ = ended(id)
            return id
        }
    }
#endif
