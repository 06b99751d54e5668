import LinuxNet

/// What a process has one of: the event thread, and what lives on it for all connections. A `PathMonitor` brings it,
/// and with that every `Connector` and every connection.
package final class Runtime: Sendable {
    /// The one that all monitors share unless they are given another.
    package static let process = Runtime(thread: .shared)

    /// Where netlink, NetworkManager's D-Bus connection, races, timers and machines live.
    package let thread: EventThread
    let deferredStarts: DeferredStarts
    let steering: SteeringRegistry
    let load = SamplingLoad()
    let wakeList: WakeList
    let glances: GlanceList
    let routes: RouteLookup
    let budgets: BudgetBook
    /// Tells of sockets that other programs hold.
    let diagnosis = DiagnosisSource()
    let lentConnections: LentConnections

    /// - Parameter budgets: what the user's processes have used; in the user's state folder unless given.
    package init(thread: EventThread, budgets: SharedBudgets? = nil) {
        self.thread = thread
        self.budgets = BudgetBook(thread, shared: budgets)
        deferredStarts = DeferredStarts(thread)
        steering = SteeringRegistry(thread, deferredStarts)
        wakeList = WakeList(thread, load)
        glances = GlanceList(thread)
        lentConnections = LentConnections(thread)
        routes = RouteLookup()
    }
}
