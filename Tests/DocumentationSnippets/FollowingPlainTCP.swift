import Multipath
import MultipathNIO
import NIOCore

func watchTrouble(_ connection: MultipathConnection) async {
    // snippet
    connection.expectsData = true  // silence is strange now: ask whether the path lives
    for await event in connection.events {
        switch event {
        case .viabilityChanged(let isViable, let reason): print(isViable, reason?.words ?? "")
        case .betterPathAvailable(let path?): print("better:", path)
        default: break
        }
    }
    // end
}

typealias Bytes = NIOAsyncChannel<ByteBuffer, ByteBuffer>

func resume(
    _ group: any EventLoopGroup, addHandlers: @escaping @Sendable (any Channel) -> EventLoopFuture<Bytes>,
    request: @escaping @Sendable (Int) -> ByteBuffer
) async throws {
    // snippet
    let size = try await MultipathBootstrap(group: group).withReconnection(
        host: "media.example", port: 80, progress: 0, channelInitializer: addHandlers
    ) { session, offset in
        session.connection.expectsData = true
        var position = offset
        defer { offset = position }
        return try await session.output.executeThenClose { inbound, outbound in
            try await outbound.write(request(position))
            for try await bytes in inbound {
                position += bytes.readableBytes
                session.madeProgress()
                if session.shouldMigrate { return .reconnect }  // the next connection is open already
            }
            return .finished
        }
    }
    // end
    _ = size
}
