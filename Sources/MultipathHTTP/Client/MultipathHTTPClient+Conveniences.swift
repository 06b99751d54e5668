#if HTTP
    import FoundationEssentials
    public import HTTPTypes
    import LinuxNet
    import Multipath
    public import NIOCore

    extension MultipathHTTPClient {
        /// Asks for a resource, and collects the whole answer.
        ///
        /// An answer with a status such as 404 is an answer: look at `response.status`.
        ///
        /// - Parameters:
        ///   - url: with http or https.
        ///   - headerFields: what the request carries.
        ///   - limit: how long the body may be, in bytes.
        ///   - configure: what it may do, from the client's own options on.
        /// - Throws: `MultipathHTTPError`; `CancellationError`.
        public func get(
            _ url: String, headerFields: HTTPFields = [:], collectUpTo limit: Int,
            configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) async throws -> (response: MultipathHTTPResponse, body: ByteBuffer) {
            var options = configuration.options
            configure(&options)
            return try await collect(Self.request(.get, url, headerFields), nil, limit, options)
        }

        /// Sends a body to a resource, and collects the whole answer.
        ///
        /// It is not sent again where its connection breaks, because POST is not idempotent (RFC 9110 section 9.2.2).
        ///
        /// - Parameters:
        ///   - url: with http or https.
        ///   - headerFields: what the request carries: the body's type, say.
        ///   - body: what is sent.
        ///   - limit: how long the answer's body may be, in bytes.
        ///   - configure: what it may do, from the client's own options on.
        /// - Throws: `MultipathHTTPError`; `CancellationError`.
        public func post(
            _ url: String, headerFields: HTTPFields = [:], body: HTTPRequestBody, collectUpTo limit: Int,
            configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) async throws -> (response: MultipathHTTPResponse, body: ByteBuffer) {
            var options = configuration.options
            configure(&options)
            return try await collect(Self.request(.post, url, headerFields), body, limit, options)
        }

        /// A request whose connection is left in the middle of the answer, because its path has failed, is sent again where it is
        /// idempotent: its caller has seen nothing of the answer yet (RFC 9110 section 9.2.2).
        func collect(
            _ request: HTTPRequest, _ body: HTTPRequestBody?, _ limit: Int, _ options: HTTPRequestOptions
        ) async throws -> (response: MultipathHTTPResponse, body: ByteBuffer) {
            let (begun, time) = (MonotonicTime.now, options.requestTimeout)
            let canRepeat = request.method.isIdempotent && body?.canBeRepeated ?? true
            var (options, repetitions) = (options, 0)
            while true {
                do {
                    return try await perform(request: request, body: body, options: options) {
                        response, body in
                        let whole = try await body.collect(upTo: limit)
                        response.record.update { $0.retryCount += repetitions }
                        return (response, whole)
                    }
                } catch let error as MultipathHTTPError
                    where error.isPathLoss && canRepeat && repetitions < options.maximumRetries
                {
                    repetitions += 1
                    options.requestTimeout = time.map { max($0 - begun.duration(to: .now), .zero) }
                }
            }
        }

        /// - Throws: `MultipathHTTPError` with the code `.invalidURL`.
        static func request(
            _ method: HTTPRequest.Method, _ url: String, _ headerFields: HTTPFields = [:]
        ) throws(MultipathHTTPError) -> HTTPRequest {
            // Parsed strictly: what is repaired here, the server may read otherwise.
            guard let parsed = URL(string: url, encodingInvalidCharacters: false) else {
                throw MultipathHTTPError(.invalidURL, "'\(url)' is no URL")
            }
            guard parsed.scheme != nil else {
                throw MultipathHTTPError(.invalidURL, "'\(url)': the scheme is missing")
            }
            // RFC 9110 section 4.2.4.
            guard parsed.user() == nil else {
                throw MultipathHTTPError(.invalidURL, "'\(url)': a user's name does not belong there")
            }
            return HTTPRequest(method: method, url: parsed, headerFields: headerFields)
        }
    }
#endif
