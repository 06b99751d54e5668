import Multipath
import MultipathNIO
import NIOCore

func addHeartbeat(to connection: MultipathConnection) async throws {
    // snippet
    try await connection.channel.eventLoop.submit {
        try connection.channel.pipeline.syncOperations.addHandler(
            HeartbeatHandler<ByteBuffer, ByteBuffer>(
                of: connection, pingSize: 6, ping: { ByteBuffer(string: "PING\r\n") },
                isAnswer: { $0 == ByteBuffer(string: "PONG\r\n") }))
    }.get()
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
