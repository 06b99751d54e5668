import PathCore

/// What one user may have of the daemon, and what all may have. Each bounds what is kept, or how much work there is.
package struct BrokerLimits: Sendable, Hashable {
    /// How often something may happen.
    package struct Rate: Sendable, Hashable {
        /// In a second, in the long run.
        package var perSecond: Int
        /// At once.
        package var burst: Int

        package init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// Clients of all users: a thread and some descriptors each.
    package var clients = 256
    /// Clients of one user: its programs that steer at the same time.
    package var clientsPerUser = 16
    /// Refused clients of all users that have not read why: a thread each.
    package var refused = 32
    /// Those of one user.
    package var refusedPerUser = 4
    /// Memory in which answers and events wait for one client to read them: the kernel's, on this process's account. A client that
    /// has more to read is dropped. A network that fails is an event for each connection at once, of 1,280 bytes in the kernel
    /// where both addresses are long: 1.25 MiB for `connectionsPerUser`.
    package var unreadBytes = 3 << 19
    /// Connections that are attached.
    package var connections = 16_384
    /// Those of one user: the buffer of one client holds an event of each.
    package var connectionsPerUser = 1_024
    /// Subflows of one connection beside its first: the kernel counts them in eight bits, and knows eight addresses.
    package var subflowsPerConnection = 8
    /// Addresses that one peer may have announced: as many as a kernel does.
    package var addressesPerPeer = 8
    /// Clients that connect, of one user.
    package var connects = Rate(perSecond: 100, burst: 256)
    /// Packets of one user, whatever is in them. A user who sends more is answered later.
    package var packets = Rate(perSecond: 2_000, burst: 4_096)
    /// Sockets of one user that get the userspace path manager: each changes a setting that others see.
    package var prepares = Rate(perSecond: 500, burst: 1_024)
    /// Orders of one user. Steering gives some ten a second for a connection whose path fails.
    package var orders = Rate(perSecond: 1_000, burst: 2_048)
    /// Packets of one client that are no requests, before it is dropped.
    package var malformedPackets = 16
    /// How long a call may take before its user is taken to hold it up, and gets no other.
    package var longestCall = Duration.milliseconds(250)
    /// How long a user waits whose socket had the setting changed for too long.
    package var heldPause = Duration.seconds(1)
    /// For how long the setting may be changed for one user's sockets, in microseconds: each takes some two, or as long as the
    /// socket's owner holds it, up to `GuardedSelection.limit`.
    package var changedMicroseconds = Rate(perSecond: 20_000, burst: 100_000)
    /// Events of connections that are not attached yet, kept for their owners.
    package var earlyEvents = 1_024
    /// Those of one user's connections.
    package var earlyEventsPerUser = 64
    /// Those of one of them.
    package var earlyEventsPerConnection = 8
    /// Announcements and wishes of all peers in a second (ADD_ADDR, RM_ADDR, MP_PRIO), before the kernel is told to keep them to
    /// itself for one.
    package var announcements = 2_000
    /// Those of one peer in a second that are passed on.
    package var announcementsPerConnection = 16

    package init() {}

    /// What a client may want to know.
    var json: JSONObject {
        var object = JSONObject()
        object.put("clients_per_user", clientsPerUser)
        object.put("connections_per_user", connectionsPerUser)
        object.put("subflows_per_connection", subflowsPerConnection)
        object.put("prepares_per_second", prepares.perSecond)
        object.put("orders_per_second", orders.perSecond)
        object.put("longest_request", BrokerProtocol.longestRequest)
        return object
    }

    init?(_ object: SmallJSON) {
        guard let clients = object["clients_per_user"]?.number(Int.self),
            let connections = object["connections_per_user"]?.number(Int.self),
            let subflows = object["subflows_per_connection"]?.number(Int.self),
            let prepares = object["prepares_per_second"]?.number(Int.self),
            let orders = object["orders_per_second"]?.number(Int.self)
        else { return nil }
        clientsPerUser = clients
        connectionsPerUser = connections
        subflowsPerConnection = subflows
        self.prepares.perSecond = prepares
        self.orders.perSecond = orders
    }
}
