import Testing

@testable import PathCore

/// A connection over Wi-Fi (address id 0), and another subflow over cellular.
@Suite("The reconciler")
struct ReconcilerTests {
    private let tuning = SteeringTuning()
    private var reconciler: Reconciler
    private var paths = PathTable()
    private let wifi: PathKey
    private let cellular: PathKey

    private static let peer = IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443)
    private static let wifiAddress = SubflowAction.LocalAddress(
        IPAddress(ipv4: 0xC633_6402), id: 0, interface: 3)
    private static let cellularAddress = SubflowAction.LocalAddress(
        IPAddress(ipv4: 0xCB00_7102), id: 1, interface: 4)

    private var cellularRoute: Subflow.Route {
        Subflow.Route(path: cellular, interface: 4, address: Self.cellularAddress, remote: Self.peer)
    }

    init() {
        wifi = paths.key(for: "wlan0")
        cellular = paths.key(for: "wwan0")
        reconciler = Reconciler(first: Self.wifiAddress.address)
        let route = Subflow.Route(path: wifi, interface: 3, address: Self.wifiAddress, remote: Self.peer)
        let id = reconciler.subflows.add(route, .data, port: 40_001, isBackup: false, at: .zero)
        reconciler.subflows[id].phase = .open(since: .zero)
        reconciler.isReady = true
    }

    /// Joins cellular: ordered at 1000 ms, complete 40 ms later.
    private mutating func joinCellular() -> SubflowID {
        reconciler.create(cellularRoute, .data, isBackup: true, at: at(1000))
        let id = reconciler.subflows.data(on: cellular)!
        reconciler.subflows[id].port = 40_002
        reconciler.subflows[id].phase = .open(since: at(1040))
        _ = reconciler.drainActions()
        return id
    }

    private mutating func orders() -> [SubflowAction] {
        reconciler.drainActions().compactMap { if case .perform(let order) = $0 { order } else { nil } }
    }

    @Test("takes no joins before data was acknowledged, nor after the peer has ended")
    mutating func readiness() {
        #expect(reconciler.takesJoins)
        reconciler.peerHasEnded = true
        #expect(!reconciler.takesJoins)
        var other = Reconciler(first: Self.wifiAddress.address)
        #expect(!other.takesJoins)
        other.isReady = true
        #expect(other.takesJoins)
    }

    @Test("has room for two subflows beside the first")
    mutating func room() {
        for _ in 0..<2 {
            #expect(reconciler.hasRoom(tuning))
            reconciler.create(cellularRoute, .successor, isBackup: true, at: at(1000))
        }
        #expect(!reconciler.hasRoom(tuning))
    }

    @Test("gives each address one id, and the first subflow's is 0")
    mutating func ids() {
        #expect(reconciler.id(of: Self.wifiAddress.address) == 0)
        #expect(reconciler.id(of: Self.cellularAddress.address) == 1)
        #expect(reconciler.id(of: Self.cellularAddress.address) == 1)
    }

    @Test("withdraws an address over a subflow that is fully established, and then destroys")
    mutating func withdraws() {
        let id = joinCellular()
        reconciler.withdraw(Self.wifiAddress, of: wifi, paths, at: at(1082), tuning)
        reconciler.endAll(on: wifi, isCertain: false)
        #expect(
            orders() == [
                .withdraw(Self.wifiAddress),
                .destroy(local: IPEndpoint(Self.wifiAddress.address, port: 40_001), remote: Self.peer),
            ])
        #expect(reconciler.subflows.ids == [id])
    }

    @Test("resets what may carry nothing more, by the interface that it is bound to")
    mutating func resets() {
        let id = joinCellular()
        reconciler.endAll(on: wifi, isCertain: true, .reset)
        #expect(
            orders() == [
                .reset(
                    local: IPEndpoint(Self.wifiAddress.address, port: 40_001), remote: Self.peer,
                    interface: Self.wifiAddress.interface ?? 0)
            ])
        #expect(reconciler.subflows.ids == [id])
    }

    @Test("waits with RM_ADDR for one round trip over a subflow that is new, and does so then")
    mutating func waits() {
        _ = joinCellular()
        var timers = TimerTable()
        reconciler.withdraw(Self.wifiAddress, of: wifi, paths, at: at(1050), tuning)
        reconciler.endAll(on: wifi, isCertain: false)
        #expect(orders().count == 1)
        reconciler.settleWithdrawals(paths, &timers, at: at(1050), tuning)
        #expect(timers.due(.path(wifi, .withdrawal)) == at(1082))
        reconciler.settleWithdrawals(paths, &timers, at: at(1082), tuning)
        // Its id is 0, which the kernel needs no reminding of.
        #expect(orders() == [.withdraw(Self.wifiAddress)])
        reconciler.settleWithdrawals(paths, &timers, at: at(1083), tuning)
        #expect(orders().isEmpty)
    }

    @Test("keeps RM_ADDR back while there is no other path that works")
    mutating func keepsBack() {
        _ = joinCellular()
        _ = paths[cellular].handle(.longSilence, at: at(1500), tuning)
        var timers = TimerTable()
        reconciler.withdraw(Self.wifiAddress, of: wifi, paths, at: at(1500), tuning)
        reconciler.endAll(on: wifi, isCertain: false)
        _ = orders()
        reconciler.settleWithdrawals(paths, &timers, at: at(1500), tuning)
        #expect(orders().isEmpty && timers.next == nil)
        _ = paths[cellular].handle(.probeAnswered, at: at(2000), tuning)
        reconciler.settleWithdrawals(paths, &timers, at: at(2000), tuning)
        #expect(orders() == [.withdraw(Self.wifiAddress)])
    }

    @Test("does not take an address back that is in use again")
    mutating func inUse() {
        _ = joinCellular()
        var timers = TimerTable()
        reconciler.withdraw(Self.wifiAddress, of: wifi, paths, at: at(1050), tuning)
        reconciler.settleWithdrawals(paths, &timers, at: at(1050), tuning)
        #expect(timers.next == nil)
        reconciler.settleWithdrawals(paths, &timers, at: at(2000), tuning)
        #expect(orders().isEmpty)
    }

    @Test(
        "announces an address first that the kernel has forgotten, because one of its subflows was destroyed")
    mutating func announces() {
        let id = joinCellular()
        reconciler.create(cellularRoute, .successor, isBackup: true, at: at(1500))
        reconciler.subflows[reconciler.subflows.last { $0.role == .successor }!].port = 40_003
        reconciler.endAll { $0.role == .successor }
        _ = orders()
        reconciler.withdraw(Self.cellularAddress, of: cellular, paths, at: at(2000), tuning)
        #expect(orders() == [.announce(Self.cellularAddress), .withdraw(Self.cellularAddress)])
        #expect(reconciler.subflows.contains(id))
    }

    @Test("gives no order about a subflow whose handshake is not complete")
    mutating func unready() {
        reconciler.create(cellularRoute, .data, isBackup: true, at: at(1000))
        let id = reconciler.subflows.data(on: cellular)!
        #expect(reconciler.prioritize(id, isBackup: false, at: at(1001)) == .impossible)
        #expect(reconciler.subflows[id].isBackup)
    }

    @Test("asks again for a new subflow's priority when it is known, and not at all for a stubborn one's")
    mutating func priorities() {
        let id = joinCellular()
        #expect(reconciler.prioritize(id, isBackup: false, at: at(1041)) == .ordered)
        reconciler.prioritizationFailed(id, isBackup: false, at: at(1041), tuning)
        #expect(reconciler.subflows[id].isBackup)
        #expect(reconciler.prioritize(id, isBackup: false, at: at(1042)) == .later(at(1087)))
        #expect(reconciler.prioritize(id, isBackup: false, at: at(1087)) == .ordered)
        reconciler.prioritizationFailed(id, isBackup: false, at: at(2500), tuning)
        #expect(reconciler.prioritize(id, isBackup: false, at: at(9000)) == .impossible)
    }

    @Test("ends a reserve whose port it does not know as soon as it knows it")
    mutating func ending() {
        reconciler.create(cellularRoute, .reserve, isBackup: true, at: at(1000))
        _ = orders()
        reconciler.endAll(on: cellular, isCertain: false)
        #expect(orders().isEmpty)
        let id = reconciler.subflows.reserve!
        #expect(reconciler.subflows[id].phase == .ending)
    }

    @Test("forgets a subflow that the kernel did not make, and that it takes orders where it says so")
    mutating func creationFailed() {
        reconciler.create(cellularRoute, .data, isBackup: true, at: at(1000))
        let subflow = reconciler.creationFailed(Self.cellularAddress, Self.peer, isReady: false)
        #expect(subflow?.path == cellular)
        #expect(reconciler.subflows.ids == [.first] && !reconciler.isReady)
    }
}

@Suite("The subflow table")
struct SubflowTableTests {
    private static let local = SubflowAction.LocalAddress(IPAddress(ipv4: 0xC633_6402), id: 0)
    private static let remote = IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443)
    private static let route = Subflow.Route(
        path: PathKey(0), interface: 3, address: local, remote: remote)

    private func endpoint(_ port: UInt16) -> IPEndpoint { IPEndpoint(Self.local.address, port: port) }

    @Test("never gives an id to a second subflow")
    func ids() {
        var table = SubflowTable()
        let first = table.add(Self.route, .data, isBackup: false, at: .zero)
        table.remove(first)
        let second = table.add(Self.route, .data, isBackup: false, at: .zero)
        #expect(first == .first && second != first && !table.contains(first))
    }

    @Test("takes what is told late of those that are gone for no news of a new one, whose port is not known")
    func gone() {
        var table = SubflowTable()
        for port in 1...3 {
            table.add(Self.route, .data, port: UInt16(port), isBackup: false, at: .zero)
        }
        table.removeAll { $0.port != 3 }
        let new = table.add(Self.route, .data, isBackup: false, at: .zero)
        let found = (1...4).map { table.between(endpoint($0), Self.remote) }
        #expect(found == [nil, nil, table.ids[0], new])
        let elsewhere = IPEndpoint(Self.remote.address, port: 80)
        let other = table.add(Self.route.leading(to: elsewhere), .data, isBackup: false, at: .zero)
        #expect(table.between(endpoint(1), elsewhere) == other)
    }

    @Test("finds a subflow by its endpoints, and where none has the port, the first whose port is not known")
    func endpoints() {
        var table = SubflowTable()
        let known = table.add(Self.route, .data, port: 40_001, isBackup: false, at: .zero)
        let new = table.add(Self.route, .successor, isBackup: true, at: .zero)
        table.add(Self.route, .successor, isBackup: true, at: .zero)
        #expect(table.between(endpoint(40_001), Self.remote) == known)
        #expect(table.between(endpoint(40_009), Self.remote) == new)
        #expect(table.between(endpoint(40_009), Self.remote, mayBeNew: false) == nil)
    }
}
