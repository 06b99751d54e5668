import Multipath
import MultipathNIO
import NIOCore

func chooseMode() async throws {
    // snippet
    let connection = try await MultipathConnection.connect(host: "media.example", port: 443) {
        $0.mode = .handover
        $0.pathLossTimeout = .seconds(60)
    }
    for await case .steering(let event) in connection.events { print(event) }
    // end
}

func steerOwnDescriptor() async throws {
    // snippet
    let socket = try await Connector.shared.connect(host: "media.example", port: 443) {
        $0.mode = .interactive
    }
    let follower = try socket.follow(hasHints: true)
    let descriptor = socket.takeDescriptor()
    // … write 1,200 bytes to it, then say so: it makes a dead path known tens of milliseconds later.
    follower.didSend(1_200)
    // end
    _ = descriptor
}
