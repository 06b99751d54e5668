import AsyncHTTPClient
import Foundation
import Multipath
import MultipathHTTP
import NIOCore
import NIOSSL

/// What is the same for every contender.
struct Options: Sendable {
    /// The file of the roots that are trusted; nil for the system's.
    var roots: String?
    /// HTTP/1.1 alone.
    var isHTTP1 = false

    /// As many as AsyncHTTPClient has by itself.
    static let mostHTTP1Connections = 8

    func trustRoots() -> NIOSSLTrustRoots { roots.map { .file($0) } ?? .default }
}

/// What became of a request.
struct Answer: Sendable {
    var bytes: Int
    var status: Int
    /// Where the client knows it.
    var path: String?
    var isHTTP2: Bool
}

/// A contender.
protocol Client: Sendable {
    /// The whole answer.
    ///
    /// - Parameters:
    ///   - pause: after each 256 kB of the body.
    ///   - describes: whether to say which path and protocol it came by, which costs something.
    func get(_ url: String, pause: Duration?, describes: Bool) async throws -> Answer
    func close() async throws
}

struct Ours: Client {
    let client: MultipathHTTPClient

    init(_ options: Options) {
        var configuration = MultipathHTTPClient.Configuration()
        configuration.tls.trustRoots = options.trustRoots()
        configuration.maximumHTTP1Connections = Options.mostHTTP1Connections
        if options.isHTTP1 { configuration.protocols = [.http1] }
        client = MultipathHTTPClient(configuration: configuration)
    }

    func get(_ url: String, pause: Duration?, describes: Bool) async throws -> Answer {
        guard let parsed = URL(string: url) else { throw InvalidURL() }
        return try await client.perform(request: .init(url: parsed)) { response, body in
            var bytes = 0
            for try await part in body {
                let before = bytes
                bytes += part.readableBytes
                if let pause, before >> 18 != bytes >> 18 { try await Task.sleep(for: pause) }
            }
            let metrics = describes ? response.metrics : nil
            return Answer(
                bytes: bytes, status: response.head.status.code, path: metrics?.path?.id.name,
                isHTTP2: metrics?.protocolName == .http2)
        }
    }

    func close() async { await client.close() }
}

/// AsyncHTTPClient, with and without its `enableMultipath`.
struct Theirs: Client {
    let client: HTTPClient

    init(_ options: Options, isMultipath: Bool) {
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = options.trustRoots()
        configuration.tlsConfiguration = tls
        configuration.enableMultipath = isMultipath
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Options.mostHTTP1Connections
        if options.isHTTP1 { configuration.httpVersion = .http1Only }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func get(_ url: String, pause: Duration?, describes: Bool) async throws -> Answer {
        let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(600))
        var bytes = 0
        for try await part in response.body {
            let before = bytes
            bytes += part.readableBytes
            if let pause, before >> 18 != bytes >> 18 { try await Task.sleep(for: pause) }
        }
        return Answer(
            bytes: bytes, status: Int(response.status.code), path: nil,
            isHTTP2: response.version.major == 2)
    }

    func close() async throws { try await client.shutdown() }
}

struct InvalidURL: Error {}
