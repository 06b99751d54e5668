import Multipath
import MultipathNIO
import NIOCore

func checkControl(_ connection: MultipathConnection) {
    // snippet
    switch connection.transferReport().control {
    case .perConnection, .perConnectionByBroker: break
    case .systemWide(let limit): print("steered by the namespace's endpoints:", limit)
    case .observeOnly(let limit): print("not steered:", limit)
    }
    // end
}

func adoptChannel(_ channel: any Channel) async throws {
    // snippet
    let connection = try await MultipathConnection(adopting: channel, mode: .handover)
    // end
    _ = connection
}
