/// What a connection does when a path goes bad.
public enum MultipathMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Survives losing its path, and costs nothing on the others until then.
    case handover
    /// Small messages see the lowest latency any allowed path offers.
    case interactive
    /// The most throughput all allowed paths give together. A bulk transfer has one subflow more, in reserve over the
    /// less preferred path, for when the other dies.
    case aggregate
}
