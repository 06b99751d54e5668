#if Outbox && HTTP
    import FoundationEssentials
    import HTTPTypes
    public import MultipathHTTP

    /// Sends an outbox's requests by a client that follows the better path. It needs the trait `HTTP`, too.
    public struct HTTPOutboxTransport: OutboxTransport {
        private let client: MultipathHTTPClient

        /// - Parameter client: its options hold for the requests, but for their urgency.
        public init(_ client: MultipathHTTPClient) { self.client = client }

        /// Sends a request once, and drops the answer's body. `Retry-After` counts where it is a number of seconds. Redirects are not
        /// followed: a status from 300 to 399 is a failure.
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
            // Whoever answers a POST by a redirect has not taken it, and 301, 302 and 303 would make a GET without its body of it
            // (RFC 9110 section 15.4). Portals do that.
            options.maximumRedirects = 0
            options.priority = HTTPRequestOptions.Priority(urgency: min(max(request.urgency, 0), 7))
            do {
                return try await client.perform(
                    request: HTTPRequest(method: method, url: url, headerFields: fields),
                    body: request.body.isEmpty ? nil : .bytes(request.body), options: options
                ) { response, _ in
                    let pause = response.head.headerFields[.retryAfter].flatMap { Int64($0) }
                    return OutboxAnswer(
                        status: response.head.status.code,
                        retryAfter: pause.map { Duration.seconds(max($0, 0)) })
                }
            } catch let error as MultipathHTTPError where error.code == .timedOut || error.code == .stalled {
                throw OutboxTimeout()
            }
        }
    }
#endif
