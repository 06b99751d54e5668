// AsyncHTTPClient with MPTCP on: each connection says what carries it, when it opens and after the answer.
//
//   multipath-http-client https://example.org/ [AUTHORITIES.pem [ADDRESS]]
//
// AsyncHTTPClient connects by itself and takes the kernel's default route. To race paths, and to go on when one
// is dead, connect with MultipathBootstrap: see multipath-http2.

import AsyncHTTPClient
import Foundation
import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

guard CommandLine.arguments.count > 1, let url = URL(string: CommandLine.arguments[1]), let host = url.host
else {
    print("usage: multipath-http-client URL [AUTHORITIES.pem [ADDRESS]]")
    exit(2)
}

let connections = NIOLockedValueBox<[(name: String, channel: any Channel)]>([])

/// Keeps a connection's channel, and says what it is.
@Sendable
func opened(_ kind: String, _ channel: any Channel) -> EventLoopFuture<Void> {
    let name = connections.withLockedValue { connections in
        connections.append(("\(kind) connection \(connections.count + 1)", channel))
        return connections.last?.name ?? kind
    }
    return channel.eventLoop.makeFutureWithTask {
        print("\(name) opened: \(try await ChannelInspection(of: channel))")
    }
}

var configuration = HTTPClient.Configuration()
configuration.enableMultipath = true
configuration.http1_1ConnectionDebugInitializer = { opened("HTTP/1.1", $0) }
configuration.http2ConnectionDebugInitializer = { opened("HTTP/2", $0) }
var tls = TLSConfiguration.makeClientConfiguration()
if CommandLine.arguments.count > 2 { tls.trustRoots = .file(CommandLine.arguments[2]) }
configuration.tlsConfiguration = tls
if CommandLine.arguments.count > 3 { configuration.dnsOverride = [host: CommandLine.arguments[3]] }

let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
do {
    let response = try await client.execute(
        HTTPClientRequest(url: url.absoluteString), timeout: .seconds(30))
    var count = 0
    for try await buffer in response.body { count += buffer.readableBytes }
    print("\(response.status.code) by \(response.version), \(count) bytes")
    for connection in connections.withLockedValue({ $0 }) {
        // A server that closes after its answer leaves nothing to look at.
        guard let inspection = try? await ChannelInspection(of: connection.channel) else { continue }
        print("\(connection.name) now: \(inspection)")
    }
} catch {
    print("\(url): \(error)")
    try? await client.shutdown()
    exit(1)
}
try await client.shutdown()
