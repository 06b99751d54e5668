/// What a connection does when a path goes bad.
public enum MultipathMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Survives losing its path, and costs nothing on the others until then.
    case handover
    /// Small messages see the lowest latency any allowed path offers.
    case interactive
    /// The most throughput all allowed paths give together. When a path may be dying in a bulk transfer, another one gets a second
    /// subflow, which has nothing queued: what is sent again does not wait there.
    case aggregate
}
