import Foundation
import Multipath
import MultipathNIO
import NIOCore
import NIOHTTP1

/// One file, by as many connections as it takes.
struct Download: Sendable {
    typealias Stream = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
    typealias Session = ReconnectionSession<MultipathConnection, Stream>

    let host: String
    let port: Int
    let target: String

    /// What is known of the file, and how much of it is written.
    struct Progress: Sendable {
        var offset = 0
        /// The file's name for this version of itself (RFC 9110 section 8.8.3).
        var tag: String?
        var connections = 0
        var pauses = Pauses()
    }

    /// The longest time in which nothing came.
    struct Pauses: Sendable {
        private var latest: ContinuousClock.Instant?
        private(set) var longest = Duration.zero
        /// Before which byte it was.
        private(set) var offset = 0

        mutating func bytesCame(at offset: Int) {
            let now = ContinuousClock.now
            if let latest, now - latest > longest { (longest, self.offset) = (now - latest, offset) }
            latest = now
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Returns: what to tell of it.
    func run() async throws -> String {
        let begun = ContinuousClock.now
        var options = ReconnectionOptions()
        options.isBreak = { $0 is HTTPParserError }
        let progress = try await MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .withReconnection(
                host: host, port: port, progress: Progress(), options: options,
                channelInitializer: Self.addHandlers
            ) { session, progress in
                let report = session.connection.establishment
                let time = ContinuousClock.now - begun
                Main.tell(
                    "\(Self.milliseconds(time)) ms: from byte \(progress.offset) over "
                        + "\(report?.path ?? "?") by \(report?.transport.isMPTCP == true ? "mptcp" : "tcp") "
                        + "(\(Self.words(session.cause)))")
                progress.connections += 1
                return try await fetch(session, &progress) ? .finished : .reconnect
            }
        return "\(progress.offset) bytes in \(Self.milliseconds(ContinuousClock.now - begun)) ms by "
            + "\(progress.connections) connections; longest pause "
            + "\(Self.milliseconds(progress.pauses.longest)) ms, before byte \(progress.pauses.offset)"
    }

    /// Gets what is missing, as far as this connection goes.
    /// - Returns: whether that was all.
    private func fetch(_ session: Session, _ progress: inout Progress) async throws -> Bool {
        let connection = session.connection
        connection.expectsData = true
        defer { connection.expectsData = false }
        var state = progress
        defer { progress = state }
        let request = request(state)
        return try await session.output.executeThenClose { inbound, outbound in
            try await outbound.write(.head(request))
            try await outbound.write(.end(nil))
            var rest = 0
            /// What a server sends again that knows no ranges.
            var skipped = 0
            for try await part in inbound {
                switch part {
                case .head(let head):
                    (skipped, rest) = try state.accept(head)
                case .body(var bytes):
                    state.pauses.bytesCame(at: state.offset)
                    let known = min(skipped, bytes.readableBytes)
                    bytes.moveReaderIndex(forwardBy: known)
                    skipped -= known
                    rest -= bytes.readableBytes
                    guard rest >= 0 else { throw Failure(description: "the server sends too much") }
                    try FileHandle.standardOutput.write(contentsOf: Data(bytes.readableBytesView))
                    state.offset += bytes.readableBytes
                    session.madeProgress()
                    // The next connection is there: go on from this byte on it.
                    if session.shouldMigrate, rest > 0 { return false }
                case .end:
                    return rest == 0 && skipped == 0
                }
            }
            return false
        }
    }

    private func request(_ progress: Progress) -> HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target)
        head.headers.add(name: "Host", value: port == 80 ? host : "\(host):\(port)")
        if progress.offset > 0 {
            head.headers.add(name: "Range", value: "bytes=\(progress.offset)-")
            if let tag = progress.tag { head.headers.add(name: "If-Range", value: tag) }
        }
        return head
    }

    @Sendable
    private static func addHandlers(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try Stream(wrappingChannelSynchronously: channel)
        }
    }

    private static func words(_ cause: ReconnectionCause) -> String {
        switch cause {
        case .first: "first"
        case .pathLost(let trouble): "path lost: \(trouble.rawValue)"
        case .betterPath(let path): "better path: \(path)"
        case .requested: "as asked"
        case .failed(let reason): "broken: \(reason)"
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}

extension Download.Progress {
    /// Checks that an answer goes on where the last one ended, with the same file.
    /// - Returns: how many bytes of it are known already, and how many follow them.
    fileprivate mutating func accept(_ head: HTTPResponseHead) throws -> (skipped: Int, rest: Int) {
        guard let length = head.headers.first(name: "Content-Length").flatMap(Int.init) else {
            throw Download.Failure(description: "the server does not tell the length")
        }
        let newTag = head.headers.first(name: "ETag")
        switch head.status {
        case .ok:
            guard offset == 0 || (newTag != nil && newTag == tag && length >= offset) else {
                throw Download.Failure(description: "the file has changed at byte \(offset)")
            }
            tag = newTag
            return (offset, length - offset)
        case .partialContent:
            let range = head.headers.first(name: "Content-Range") ?? "none"
            guard range.hasPrefix("bytes \(offset)-") else {
                throw Download.Failure(description: "the server sends another range: \(range)")
            }
            return (0, length)
        default:
            throw Download.Failure(description: "the server says \(head.status)")
        }
    }
}
