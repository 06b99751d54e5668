import Multipath
import MultipathNIO

func call() async throws {
    // snippet
    let call = try await MultipathConnection.connect(host: "call.example", port: 5061) {
        $0.trafficClass = .voice
    }
    // end
    _ = call
}
