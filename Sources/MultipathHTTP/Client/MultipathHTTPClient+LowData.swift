#if HTTP
    public import NIOCore

    extension MultipathHTTPClient {
        /// A resource's content, or where the user asked to save data (Low Data Mode) something smaller in its place.
        ///
        /// The first is asked for where data need not be saved. Only where that is the reason why it can't be had
        /// (`networkUnavailableReason == .constrained`), the second is asked for over whatever path there is. Nothing is looked up
        /// beforehand, so that nothing can change in between.
        ///
        /// - Parameters:
        ///   - url: with http or https.
        ///   - lowData: what is asked for where the first can't be had; nil to have the first over any path.
        ///   - limit: how long the body may be, in bytes. 64 MiB unless set.
        ///   - configure: what the requests may do, from the client's own options on.
        /// - Returns: the whole body.
        /// - Throws: `MultipathHTTPError`, with the code `.unexpectedStatus` for an answer that is no success; `CancellationError`.
        public func data(
            _ url: String, lowData: String? = nil, collectUpTo limit: Int = 64 * 1024 * 1024,
            configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) async throws -> ByteBuffer {
            var options = configuration.options
            configure(&options)
            guard let lowData else { return try await content(url, limit, options) }
            var careful = options
            careful.allowsConstrainedNetworkAccess = false
            // To wait for another path would be to wait for the user's mind to change.
            careful.waitsForConnectivity = false
            do {
                return try await content(url, limit, careful)
            } catch let error as MultipathHTTPError where error.networkUnavailableReason == .constrained {
                return try await content(lowData, limit, options)
            }
        }

        private func content(
            _ url: String, _ limit: Int, _ options: HTTPRequestOptions
        ) async throws -> ByteBuffer {
            let (response, body) = try await collect(Self.request(.get, url), nil, limit, options)
            guard response.status.kind == .successful else {
                var error = MultipathHTTPError(.unexpectedStatus, "\(url): \(response.status)")
                error.status = response.status.code
                throw error
            }
            return body
        }
    }
#endif
