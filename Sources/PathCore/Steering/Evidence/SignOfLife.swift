/// What shows that a host can be heard: something new came in from there.
package struct SignOfLife: Sendable, Hashable {
    /// When.
    package var at: MonotonicTime
    /// How long an answer takes at most over this way now; zero where that is not known.
    package var answerTime: Duration

    package init(at time: MonotonicTime, answerTime: Duration) {
        (at, self.answerTime) = (time, answerTime)
    }
}

/// An interface, and a host that is reached over it.
package struct PathToHost: Sendable, Hashable {
    package var interface: InterfaceIndex
    package var remote: IPAddress

    package init(_ interface: InterfaceIndex, _ remote: IPAddress) {
        (self.interface, self.remote) = (interface, remote)
    }
}

extension Subflow {
    var way: PathToHost { PathToHost(route.interface, remote.address) }
}
