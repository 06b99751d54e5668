import Multipath
import MultipathNIO
import NIOCore

func addHeartbeat(to connection: MultipathConnection) async throws {
    // snippet
    let handler = HeartbeatHandler<ByteBuffer, ByteBuffer>(
        of: connection, pingSize: 6, ping: { ByteBuffer(string: "PING\r\n") },
        isAnswer: { $0 == ByteBuffer(string: "PONG\r\n") })
    try await connection.channel.pipeline.addHandler(handler)
    // end
}

func heartbeat(
    _ follower: ConnectionFollower, _ line: String, send: @escaping @Sendable (String) -> Void,
    reconnect: @escaping @Sendable () -> Void
) {
    // snippet
    let heartbeat = Heartbeat(of: follower, pingSize: 6) {
        send("PING\r\n")
    } told: { event in
        if case .dead = event { reconnect() }
    }
    // Where bytes are read:
    if line == "PONG\r\n" { heartbeat.answered() }
    // end
}
