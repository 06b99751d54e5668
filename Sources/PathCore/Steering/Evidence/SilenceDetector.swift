// Whether a peer that is to say something has been silent for too long. Silence is no proof: a peer with nothing to say is
// silent too. So it is a reason to probe, ever less often while the answer is that all is well.

/// Tells when silence is to be probed: on a subflow that brought a stream (`StreamDetector`), and on a plain TCP connection
/// whose user expects data (`SilenceWatch`). Each has its own pauses.
struct SilenceDetector: Sendable {
    /// When bytes last came in that carried the stream on, and when any did that was not acknowledged yet: behind a lost
    /// segment the kernel counts none until it is sent again.
    private(set) var receivedAt: MonotonicTime?
    private(set) var heardAt: MonotonicTime?
    /// When the last of those came that carry nothing on, if nothing has since: a loss is being repaired.
    var repairedAt: MonotonicTime? {
        guard let receivedAt, let heardAt, heardAt > receivedAt else { return nil }
        return heardAt
    }
    /// How often silence was probed since the peer last said something.
    private(set) var probes = 0

    /// Bytes came in that carry the stream on; or they are to come in from now on.
    mutating func received(at time: MonotonicTime) { (receivedAt, heardAt) = (time, time) }

    /// Bytes came in that carry nothing on yet.
    mutating func heard(at time: MonotonicTime) { heardAt = time }

    /// A probe was sent because of it.
    mutating func wasProbed() { probes += 1 }

    /// The latest one is not to count.
    mutating func forgetLatestProbe() { probes = max(probes - 1, 0) }

    /// The peer has said something: the next silence is probed as soon as the first was.
    mutating func forgetProbes() { probes = 0 }

    /// When silence is to be probed.
    ///
    /// - Parameters:
    ///   - pause: how long it is nothing strange.
    ///   - repairTime: how much longer bytes may come that carry nothing on: a lost segment gets the time to be repaired.
    ///     After that it is sent again in vain, because our acknowledgements don't get through.
    ///   - answeredAt: when something else showed last that the peer's host is there.
    func due(
        after pause: Duration, repairTime: Duration = .zero, answeredAt: MonotonicTime = .zero
    ) -> MonotonicTime? {
        guard let receivedAt, let heardAt else { return nil }
        return min(
            max(heardAt, answeredAt).advanced(by: pause),
            max(receivedAt, answeredAt).advanced(by: pause + repairTime))
    }
}
