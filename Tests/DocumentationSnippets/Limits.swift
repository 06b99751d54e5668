import Multipath
import MultipathNIO

func meetLimits(_ connection: MultipathConnection, _ reconnect: () async throws -> Void) async throws {
    // snippet
    let report = connection.transferReport()
    switch report.control.limit {
    case nil: break
    case .oldKernel?, .mptcpDisabled?: print("no MPTCP that can be steered on this machine")
    case .some(let limit): print("not steered:", limit)
    }
    // From now on what the peer sends is slower than on a new connection.
    if report.isBetterOnNewConnection { try await reconnect() }
    // end
}
