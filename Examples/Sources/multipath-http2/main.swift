// HTTP/2 over MultipathBootstrap: paths, addresses and protocols are raced, and the first connection wins whose
// TLS is up and speaks h2.
//
//   multipath-http2 HOST PORT PATH [AUTHORITIES.pem [ADDRESS,…]]

import Foundation
import Multipath
import MultipathNIO
import MultipathTLS
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

let arguments = CommandLine.arguments
guard arguments.count > 3, let port = Int(arguments[2]) else {
    print("usage: multipath-http2 HOST PORT PATH [AUTHORITIES.pem [ADDRESS,…]]")
    exit(2)
}
let (host, path) = (arguments[1], arguments[3])

var configuration = TLSConfiguration.makeClientConfiguration()
configuration.applicationProtocols = ["h2"]
if arguments.count > 4 { configuration.trustRoots = .file(arguments[4]) }
let tls = try TLSClient(host: host, configuration: configuration)

var addresses: [String: [IPAddress]] = [:]
if arguments.count > 5 {
    addresses[host] = arguments[5].split(separator: ",").compactMap { IPAddress(String($0)) }
}

do {
    let connected = try await tls.apply(
        to: MultipathBootstrap(
            group: .singletonMultiThreadedEventLoopGroup,
            connector: Connector(resolver: StaticResolver(addresses)))
    ).connect(host: host, port: port) { channel in
        // Runs for each attempt whose TCP is up; what HTTP/2 says first goes out when its TLS is.
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureAsyncHTTP2Pipeline(mode: .client) {
                $0.eventLoop.makeSucceededFuture($0)
            }
        }
    }
    let (connection, multiplexer) = (connected.connection, connected.output)
    if let report = connection.establishment {
        for attempt in report.attempts { print("attempt \(attempt)") }
    }
    guard connection.applicationProtocol == "h2" else {
        print("\(host) does not speak HTTP/2")
        exit(1)
    }

    let stream = try await multiplexer.openStream { channel in
        channel.eventLoop.makeCompletedFuture {
            try NIOAsyncChannel<HTTP2Frame.FramePayload, HTTP2Frame.FramePayload>(
                wrappingChannelSynchronously: channel)
        }
    }
    try await stream.executeThenClose { inbound, outbound in
        let request: HPACKHeaders = [":method": "GET", ":scheme": "https", ":authority": host, ":path": path]
        try await outbound.write(.headers(.init(headers: request, endStream: true)))
        var (status, count) = ("none", 0)
        answer: for try await frame in inbound {
            switch frame {
            case .headers(let headers):
                status = headers.headers.first(name: ":status") ?? status
                if headers.endStream { break answer }
            case .data(let data):
                if case .byteBuffer(let bytes) = data.data { count += bytes.readableBytes }
                if data.endStream { break answer }
            default: break
            }
        }
        // A stream is looked at as well as its connection.
        print("\(status), \(count) bytes; \(try await ChannelInspection(of: stream.channel))")
    }
    // The answer was complete: whether the server says TLS's farewell makes no difference.
    try? await connection.channel.close().get()
} catch let error as ConnectionError {
    print("\(error)")
    for attempt in error.attempts { print("attempt \(attempt)") }
    exit(1)
} catch {
    print("\(error)")
    exit(1)
}
