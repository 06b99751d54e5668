/// One thing to be done to a connection's subflows: what the machines of the modes decide, and what a
/// `SubflowControl` performs.
package enum SubflowAction: Sendable, Hashable {
    /// Makes another subflow, bound to its interface. The id is the caller's to choose, one for each address
    /// of the connection: 0 is the first subflow's address.
    case create(LocalAddress, isBackup: Bool, remote: IPEndpoint)
    /// Takes an address back (RM_ADDR): the peer gives up the subflows of that address, and sends again what
    /// was on its way there. It travels over another subflow, so it goes before `destroy`.
    case withdraw(LocalAddress)
    /// Gives up a subflow: this side sends again what was on its way there.
    case destroy(local: IPEndpoint, remote: IPEndpoint)
    /// The same by a reset: nothing more is carried there, in neither direction, not even what both ends had queued for it. A
    /// first subflow that is only given up goes on receiving until the peer has sent all that.
    case reset(local: IPEndpoint, remote: IPEndpoint, interface: UInt32)
    /// Makes a subflow backup, or not, and tells the peer over that subflow (MP_PRIO).
    case prioritize(local: IPEndpoint, remote: IPEndpoint, isBackup: Bool)
    /// Tells the peer of an address it may connect to (ADD_ADDR).
    case announce(LocalAddress)

    /// An address of this machine's, as a connection numbers it.
    package struct LocalAddress: Sendable, Hashable {
        package var address: IPAddress
        /// RFC 8684 section 3.2's address id.
        package var id: UInt8
        /// What a subflow from there is bound to; nil lets the routing table choose.
        package var interface: UInt32?

        package init(_ address: IPAddress, id: UInt8, interface: UInt32? = nil) {
            self.address = address
            self.id = id
            self.interface = interface
        }
    }
}

/// What became of an action.
package enum SubflowOutcome: Sendable, Hashable {
    /// The kernel took it. A new subflow is there when its event says so.
    case accepted
    /// What was to be given up is gone already.
    case alreadyGone
    /// Nothing was done, because this process may not.
    case refused(ControlLimit)
    /// Another process was asked to do it. What became of it is told later.
    case underWay
}
