/// What the races over a monitor's paths worked out last of a snapshot and a policy: mostly the next one has the same two.
/// Only the event thread may use it.
final class LatestCandidatePaths: @unchecked Sendable {
    private var latest: CandidatePaths?

    func paths(of snapshot: PathSnapshot, _ policy: PathPolicy) -> CandidatePaths {
        if let latest, latest.isMade(of: snapshot, policy) { return latest }
        let paths = CandidatePaths(snapshot, policy)
        latest = paths
        return paths
    }
}
