/// What a `SteeringMachine` wants done.
package enum SteeringAction: Sendable, Hashable {
    /// To be performed by the connection's `SubflowControl`; say `failed` if it can't be.
    case perform(SubflowAction)
    /// To be told to the connection's user.
    case tell(SteeringEvent)
    /// Start a plain TCP handshake with the peer over a path; say `probeAnswered` with the key if anything comes back, or
    /// `probeFailed` if it did not leave this machine. It is closed then, without a word.
    case startProbe(PathKey, interface: InterfaceIndex, remote: IPEndpoint)
    /// Have the kernel send a keepalive probe on each subflow that has been idle for a second or longer.
    case probeIdle
    /// The subflow that the connection came about with has ended, and with it what the kernel reckons the size of the send
    /// buffer from: keep that as it was.
    case firstSubflowEnded
    /// Give the connection a larger receive buffer: what it needs next finds no room.
    case widenReceiveBuffer
    /// After `prepareToEnd`: this end may send no more now, without losing the other paths where that can be had. Say
    /// `hasEndedSending` when it does.
    case preparedToEnd
    /// Say `sharedVerdict` to the other connections of the process.
    case share(PathVerdict)
}

/// What one connection has found out about a path, for others that use it.
package struct PathVerdict: Sendable, Hashable {
    package var interface: InterfaceIndex
    /// Whose handshakes went unanswered, and since when.
    package var remote: IPAddress
    package var trouble: PathTrouble
    package var since: MonotonicTime

    package init(
        interface: InterfaceIndex, remote: IPAddress, trouble: PathTrouble, since: MonotonicTime
    ) {
        (self.interface, self.remote, self.trouble, self.since) = (interface, remote, trouble, since)
    }
}

/// Why an action was not performed.
package enum ActionFailure: Sendable, Hashable {
    /// The connection is not fully established yet: no data was acknowledged (ENOTCONN).
    case notReady
    /// There is nothing to be done it to any more.
    case alreadyGone
    /// This process may not.
    case refused(ControlLimit)
    /// The kernel's errno.
    case failed(Int32)
}
