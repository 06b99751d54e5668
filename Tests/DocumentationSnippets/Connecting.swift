import Multipath
import MultipathDNS
import MultipathNIO
import NIOCore

func choosePaths() async throws {
    // snippet
    let connection = try await MultipathConnection.connect(host: "media.example", port: 443) {
        $0.allowsExpensivePaths = false
        $0.prohibitedInterfaceTypes = [.cellular]
        $0.preferredInterface = "wlan1"
        $0.connectTimeout = .seconds(5)
    }
    // end
    _ = connection
}

func handleErrors() async throws {
    // snippet
    do {
        _ = try await MultipathConnection.connect(host: "media.example", port: 443) {
            $0.allowsConstrainedPaths = false
        }
    } catch let error as ConnectionError where error.code == .noAllowedPath {
        print("later:", error.omissions)  // [wlan0: constrained]
    } catch let error as ConnectionError {
        print(error.reason, error.attempts.count)
    }
    // end
}

func raceUntilTLS<TLS: NIOClientTLSProvider>(
    _ group: any EventLoopGroup, tls: TLS
) async throws where TLS.Bootstrap == MultipathBootstrap {
    // snippet
    let raced = MultipathBootstrap(group: group).raceUntil(.tlsHandshakeCompleted)
    let secure = try await NIOClientTCPBootstrap(raced, tls: tls).enableTLS()
        .connect(host: "media.example", port: 443).get()
    // end
    _ = secure
}

func useBootstrap(
    _ group: any EventLoopGroup, handler: @escaping @Sendable () -> any ChannelHandler & Sendable
) async throws {
    // snippet
    let channel = try await MultipathBootstrap(group: group)
        .mode(.interactive)
        .channelInitializer { $0.pipeline.addHandler(handler()) }
        .connect(host: "media.example", port: 443).get()
    // end
    _ = channel
}

func serve(
    _ addHandlers: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>,
    _ handle: @escaping @Sendable (MultipathConnection) async -> Void
) async throws {
    // snippet
    let server = try await MultipathServerBootstrap()
        .bind(host: "::", port: 7000, childChannelInitializer: addHandlers)
    try await server.executeThenClose { connections in
        try await withThrowingDiscardingTaskGroup { tasks in
            for try await accepted in connections {
                tasks.addTask { await handle(accepted.connection) }
            }
        }
    }
    // end
}

func useDescriptor() async throws {
    // snippet
    let socket = try await Connector.shared.connect(host: "media.example", port: 443)
    print(socket.report.path)
    let descriptor = socket.takeDescriptor()  // connected, non-blocking, yours to close
    // end
    _ = descriptor
}

func resolveOverPaths() {
    // snippet
    let eachPathAsks = Connector(resolver: InterfaceResolver())
    let known = Connector(resolver: StaticResolver(["media.example": [IPAddress("192.0.2.1")!]]))
    // end
    _ = (eachPathAsks, known)
}
