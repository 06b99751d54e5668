#if HTTP
    import FoundationEssentials
    import HTTPTypes
    import Multipath
    import MultipathHTTP
    import NIOCore

    /// One request, as it runs: tells what arrives, and ends once.
    struct SegmentFetch: Sendable {
        /// What a fetch tells.
        enum News: Sendable {
            case head(FetchID, offset: Int64, total: Int64?, validator: String?)
            case bytes(FetchID, ByteBuffer)
            case carried(FetchID, by: StreamPath)
            case finished(FetchID)
            case playlist(FetchID, Playlist, from: URL)
            case failed(FetchID, FetchFailure)
        }

        /// How often to look at which path carries.
        private static let glance = Duration.milliseconds(100)

        let request: FetchRequest
        let client: MultipathHTTPClient
        /// What goes to the origin of this URL alone.
        var credentials: (origin: URL, fields: HTTPFields)?
        let tell: @Sendable (News) -> Void

        func run() async {
            do {
                try await fetch()
            } catch let failure as FetchFailure {
                tell(.failed(request.id, failure))
            } catch let error as MultipathHTTPError {
                tell(.failed(request.id, FetchFailure(error)))
            } catch is CancellationError {
                // The caller that cancelled it knows.
            } catch {
                tell(.failed(request.id, FetchFailure(kind: .broken, reason: "\(error)")))
            }
        }

        private var isPlaylist: Bool {
            if case .playlist = request.purpose { true } else { false }
        }

        private func fetch() async throws {
            var head = HTTPRequest(method: .get, url: request.resource.url)
            if let range = ResourceHead.range(request) {
                head.headerFields[.range] = range
                if request.offset > 0 { head.headerFields[.ifRange] = request.validator }
            }
            var options = client.configuration.options
            if let (origin, fields) = credentials, origin.hasSameOrigin(as: request.resource.url) {
                head.headerFields.append(contentsOf: fields)
                options.credentialFields.formUnion(fields.map(\.name))
            }
            options.mode = request.isUrgent ? .interactive : .handover
            if !isPlaylist { options.decompression = .disabled }
            // Repeated from here.
            options.maximumRetries = 0
            try await client.perform(request: head, options: options) { response, body in
                if isPlaylist { try await playlist(response, body) } else { try await media(response, body) }
            }
        }

        private func playlist(_ response: MultipathHTTPResponse, _ body: HTTPResponseBody) async throws {
            let plan = try response.resourceHead.plan(for: request)
            look(response)
            tell(.head(request.id, offset: 0, total: plan.total, validator: nil))
            var text = ByteBuffer()
            for try await part in body {
                guard text.readableBytes + part.readableBytes <= request.limit else {
                    throw FetchFailure(
                        kind: .unusable, reason: "the playlist is longer than \(request.limit) bytes")
                }
                text.writeImmutableBuffer(part)
                tell(.bytes(request.id, part))
            }
            let url = response.request.url ?? request.resource.url
            do throws(PlaylistError) {
                tell(
                    .playlist(
                        request.id, try PlaylistParser.parse(text.readableBytesView, from: url), from: url))
            } catch {
                let isPage = MediaFormat.words(text.readableBytesView) == "a page of HTML"
                throw FetchFailure(
                    kind: .unusable,
                    reason: isPage ? "\(url) is no playlist but a page of HTML" : "\(url): \(error)")
            }
        }

        private func media(_ response: MultipathHTTPResponse, _ body: HTTPResponseBody) async throws {
            let plan = try response.resourceHead.plan(for: request)
            look(response)
            tell(
                .head(
                    request.id, offset: plan.offset, total: plan.total,
                    validator: response.resourceHead.validator))
            if plan.isComplete { return tell(.finished(request.id)) }
            var (skip, received) = (plan.skipped, plan.offset)
            var looked = ContinuousClock.now
            let most = min(request.resource.range?.length ?? request.limit, request.limit)
            for try await part in body {
                var part = part
                if skip > 0 {
                    let dropped = min(Int64(part.readableBytes), skip)
                    part.moveReaderIndex(forwardBy: Int(dropped))
                    skip -= dropped
                }
                let now = ContinuousClock.now
                if now - looked >= Self.glance {
                    look(response)
                    looked = now
                }
                if let range = request.resource.range, received + Int64(part.readableBytes) > range.length {
                    // The rest of a server's whole resource is not wanted.
                    part = part.getSlice(at: part.readerIndex, length: Int(range.length - received)) ?? part
                }
                received += Int64(part.readableBytes)
                guard received <= most else {
                    throw FetchFailure(
                        kind: .unusable, reason: "it is longer than the limit of \(request.limit) bytes")
                }
                if part.readableBytes > 0 { tell(.bytes(request.id, part)) }
                if request.resource.range != nil, received == most { break }
            }
            try Task.checkCancellation()
            guard received > 0 else { throw FetchFailure(kind: .unusable, reason: "the server sent nothing") }
            guard plan.total == nil || received == plan.total else {
                throw FetchFailure(
                    kind: .broken,
                    reason: "\(received) bytes arrived where the server named \(plan.total ?? 0)")
            }
            tell(.finished(request.id))
        }

        private func look(_ response: MultipathHTTPResponse) {
            guard let path = response.metrics.path else { return }
            tell(
                .carried(
                    request.id,
                    by: StreamPath(
                        path.id, isExpensive: path.isExpensive, isConstrained: path.isConstrained)))
        }
    }

    extension URL {
        /// Scheme, host and port (RFC 6454).
        fileprivate func hasSameOrigin(as other: URL) -> Bool {
            func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
            return scheme?.lowercased() == other.scheme?.lowercased()
                && host()?.lowercased() == other.host()?.lowercased() && port(self) == port(other)
        }
    }

    extension MultipathHTTPResponse {
        fileprivate var resourceHead: ResourceHead {
            ResourceHead(
                status: head.status.code, contentRange: head.headerFields[.contentRange],
                contentLength: head.headerFields[.contentLength].flatMap { Int64($0) },
                validator: head.headerFields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : $0 }
                    ?? head.headerFields[.lastModified])
        }
    }

    extension FetchFailure {
        init(_ error: MultipathHTTPError) {
            let kind: Kind
            switch error.code {
            case .notConnected:
                let code = error.connectionError?.code
                kind = code == .noAllowedPath || code == .noRoute ? .noPath : .broken
            case .connectionLost, .bodyCutShort, .stalled, .timedOut, .refused, .http2: kind = .broken
            case .pathNotAllowed: kind = .broken
            case .malformedAnswer, .invalidLength, .unexpectedUpgrade, .invalidCompression, .proxy:
                kind = .busy
            default: kind = .unusable
            }
            self.init(kind: kind, reason: error.reason)
        }
    }
#endif
