#if Outbox && HTTP
    import FoundationEssentials
    import HTTPTypes
    public import MultipathHTTP

    /// Sends an outbox's requests by a client that follows the better path. It needs the trait `HTTP`, too.
    public struct HTTPOutboxTransport: OutboxTransport {
        private let client: MultipathHTTPClient

        /// - Parameter client: its options hold for the requests, but for their urgency.
        public init(_ client: MultipathHTTPClient) { self.client = client }

        /// Sends a request once, and drops the answer's body. `Retry-After` counts where it is a number of seconds.
        ///
        /// A redirect is followed with the method and the body as they are (RFC 9110 section 15.4), and only from https to the same
        /// origin: over http any network on the way can send one, as portals do, and has delivered nothing. So 303 (See Other), which
        /// says that the request is done, is an error over http.
        ///
        /// - Throws: `OutboxTimeout`; `MultipathHTTPError`, of what is no URL or no header, too; `CancellationError`.
        public func send(_ request: OutboxRequest) async throws -> OutboxAnswer {
            guard let url = URL(string: request.url, encodingInvalidCharacters: false),
                let method = HTTPRequest.Method(rawValue: request.method)
            else { throw MultipathHTTPError(.invalidURL, "\(request.method) '\(request.url)' is no request") }
            var fields = HTTPFields()
            for header in request.headersWithKey {
                guard let name = HTTPField.Name(header.name) else {
                    throw MultipathHTTPError(.invalidURL, "'\(header.name)' is no header")
                }
                fields.append(HTTPField(name: name, value: header.value))
            }
            var options = client.configuration.options
            // They would make a GET without a body of a POST.
            options.maximumRedirects = 0
            options.priority = HTTPRequestOptions.Priority(urgency: min(max(request.urgency, 0), 7))
            do {
                var place = HTTPRequest(method: method, url: url, headerFields: fields)
                for _ in 0..<Self.mostRedirects {
                    let (answer, next) = try await send(place, request.body, options)
                    guard let next else { return answer }
                    place = next
                }
                throw MultipathHTTPError(
                    .tooManyRedirects, "more than \(Self.mostRedirects) redirects from \(url)")
            } catch let error as MultipathHTTPError where error.code == .timedOut || error.code == .stalled {
                throw OutboxTimeout()
            }
        }

        private static let mostRedirects = 10

        /// - Returns: the answer, and the request that is to be sent instead, where it leads there.
        private func send(
            _ request: HTTPRequest, _ body: [UInt8], _ options: HTTPRequestOptions
        ) async throws -> (OutboxAnswer, HTTPRequest?) {
            try await client.perform(
                request: request, body: body.isEmpty ? nil : .bytes(body), options: options
            ) { response, _ in
                let (status, fields) = (response.head.status.code, response.head.headerFields)
                let isSecure = request.scheme?.lowercased() == "https"
                if status == 303, !isSecure {
                    var error = MultipathHTTPError(.unexpectedStatus, "303 over http may be anybody's")
                    error.status = status
                    throw error
                }
                let pause = fields[.retryAfter].flatMap { Int64($0) }
                let answer = OutboxAnswer(
                    status: status, retryAfter: pause.map { Duration.seconds(max($0, 0)) })
                guard isSecure, [301, 302, 307, 308].contains(status), let location = fields[.location],
                    let target = HTTPOrigin.place(location, of: request).flatMap({ URL(string: $0) })
                else { return (answer, nil) }
                let next = HTTPRequest(
                    method: request.method, url: target, headerFields: request.headerFields)
                return (answer, next)
            }
        }
    }
#endif
