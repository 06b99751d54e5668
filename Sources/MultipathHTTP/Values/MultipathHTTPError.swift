#if HTTP
    import LinuxNet
    public import Multipath
    internal import MultipathNIO
    import MultipathTLS
    import NIOCore
    import NIOHTTP1
    import NIOHTTP2
    import NIOHTTPCompression

    /// Why a request has no answer, or not all of one.
    public struct MultipathHTTPError: Error, Sendable, CustomStringConvertible {
        /// What went wrong. More codes may come.
        public struct Code: Sendable, Hashable, CustomStringConvertible {
            /// Its name in JSON, such as "body_cut_short".
            public let name: String

            public var description: String { name }

            // MARK: Before anything is sent

            /// The URL has no host, another scheme than http and https, or characters that don't belong there.
            public static let invalidURL = Code(name: "invalid_url")
            /// There is no connection; `connectionError` lists every attempt.
            public static let notConnected = Code(name: "not_connected")
            /// The request's body has another length than was said.
            public static let bodyLengthMismatch = Code(name: "body_length_mismatch")
            /// The client is closed.
            public static let clientClosed = Code(name: "client_closed")
            /// The proxy did not open a way to the origin.
            public static let proxy = Code(name: "proxy")

            // MARK: Time

            /// The request took longer than `requestTimeout`.
            public static let timedOut = Code(name: "timed_out")
            /// Not a byte came or went for `stallTimeout`.
            public static let stalled = Code(name: "stalled")

            // MARK: The connection

            /// The connection broke before the answer was complete.
            public static let connectionLost = Code(name: "connection_lost")
            /// The connection's path is not allowed any more.
            public static let pathNotAllowed = Code(name: "path_not_allowed")
            /// The server did not process the request, and said so (RFC 9113 section 8.7).
            public static let refused = Code(name: "refused")

            // MARK: Bad input

            /// The answer is no HTTP.
            public static let malformedAnswer = Code(name: "malformed_answer")
            /// The answer's head names a length that is none, or two that contradict each other (RFC 9112 section 6.3).
            public static let invalidLength = Code(name: "invalid_length")
            /// The answer's head is larger than `maximumHeadSize`, or has too many fields.
            public static let headTooLarge = Code(name: "head_too_large")
            /// The body ended before the length that its head promised, or without its last chunk.
            public static let bodyCutShort = Code(name: "body_cut_short")
            /// The body is longer than the caller wants to collect.
            public static let bodyTooLarge = Code(name: "body_too_large")
            /// The compressed body swells more than `decompression` allows.
            public static let decompressionLimit = Code(name: "decompression_limit")
            /// The compressed body can't be decompressed.
            public static let invalidCompression = Code(name: "invalid_compression")
            /// The server broke the rules of HTTP/2, or floods the connection (RFC 9113 section 10.5).
            public static let http2 = Code(name: "http2")
            /// The server answered with another protocol, which was not asked for (101).
            public static let unexpectedUpgrade = Code(name: "unexpected_upgrade")

            // MARK: Redirects

            /// More redirects than `maximumRedirects`.
            public static let tooManyRedirects = Code(name: "too_many_redirects")
            /// A redirect leads to a request that was sent before.
            public static let redirectLoop = Code(name: "redirect_loop")
            /// A redirect leads from https to http, to no URL, or wants a body again that can't be made again.
            public static let invalidRedirect = Code(name: "invalid_redirect")

            // MARK: Downloads and uploads

            /// The server's answer has another status than a download or upload can use; `status` has it.
            public static let unexpectedStatus = Code(name: "unexpected_status")
            /// What arrived is not what the server's digest says (RFC 9530).
            public static let digestMismatch = Code(name: "digest_mismatch")
            /// The server's answer to a resumed transfer does not fit what is there already.
            public static let resumptionMismatch = Code(name: "resumption_mismatch")
            /// A file can't be read or written.
            public static let file = Code(name: "file")
        }

        /// What went wrong.
        public var code: Code
        /// The same in words.
        public var reason: String
        /// For `.notConnected`: every attempt, and the interfaces that took no part.
        public var connectionError: ConnectionError?
        /// What this came from: an error of SwiftNIO, of NIOSSL, of the kernel.
        public var underlying: (any Error)?
        /// How the connection came about that broke; nil where there was none.
        public var establishment: EstablishmentReport?
        /// How often the request was sent, this time included.
        public var attempts = 1
        /// The status of the answer, where that is what is wrong.
        public var status: Int?

        /// Whether the connection was left because its path failed: another one will do better.
        var isPathLoss = false

        /// An error in words.
        package init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
            self.code = code
            self.reason = reason
            self.underlying = underlying
        }

        /// `body_cut_short: the server closed the connection before the end of the body`
        public var description: String { "\(code): \(reason)" }
    }

    extension MultipathHTTPError {
        /// The kernel's error number (errno(3)), where it is the kernel that refused: `ENOSPC` for a file that found no room, say.
        public var errno: CInt? { (underlying as? SystemError)?.errno ?? (underlying as? IOError)?.errnoCode }

        /// Why the network was not available for this request, as `URLError` says it.
        public enum NetworkUnavailableReason: String, Sendable, Hashable {
            /// The paths that are there cost money, and the request may not use those.
            case expensive
            /// On the paths that are there data is to be saved, and the request may not use those.
            case constrained
        }

        /// Why no path could be used, where the request's own options are what stood in the way; nil for every other error, and
        /// where there is no path at all. With `.constrained`, ask for something smaller (Low Data Mode).
        public var networkUnavailableReason: NetworkUnavailableReason? {
            if code == .pathNotAllowed, let refused = underlying as? PathNotAllowedError {
                return Self.reason([refused.refusal.reason])
            }
            guard let connectionError, connectionError.code == .noAllowedPath else { return nil }
            return Self.reason(connectionError.omissions.compactMap(\.refusal))
        }

        private static func reason(_ refusals: [PathPolicy.Refusal]) -> NetworkUnavailableReason? {
            // The user's word comes before the system's.
            if refusals.contains(.constrained) { return .constrained }
            if refusals.contains(.expensive) { return .expensive }
            return nil
        }
    }

    extension MultipathHTTPError {
        /// Whether the connection broke, or did not come about: nothing is said of the resource, and it may go better another time.
        public var isTransient: Bool {
            switch code {
            case .connectionLost, .bodyCutShort, .stalled, .pathNotAllowed, .refused, .http2: true
            case .notConnected: connectionError != nil
            // One that has answered has decided.
            case .proxy: status == nil
            default: false
            }
        }

        /// An error of a connection or its pipeline, in the client's words.
        ///
        /// - Parameter hasHead: whether the answer's head had arrived.
        package init(_ error: any Error, hasHead: Bool) {
            switch error {
            case let error as MultipathHTTPError: self = error
            case let error as ConnectionError:
                self.init(.notConnected, "\(error)")
                connectionError = error
            case let error as PathNotAllowedError:
                self.init(.pathNotAllowed, "\(error)", underlying: error)
            case let error as HTTPParserError: self.init(parser: error, hasHead: hasHead)
            case NIOHTTPDecompression.DecompressionError.limit:
                self.init(
                    .decompressionLimit, "the compressed body swells beyond the limit", underlying: error)
            case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
                self.init(
                    .invalidCompression, "the body can't be decompressed: \(error)", underlying: error)
            case let error as NIOHTTP2Errors.StreamClosed:
                self.init(reset: error.errorCode, error)
            case let error as NIOHTTP2Errors.StreamError:
                self.init(error.baseError, hasHead: hasHead)
            case is any NIOHTTP2Error:
                self.init(.http2, "the server broke the rules of HTTP/2: \(error)", underlying: error)
            case let error as TLSFailure where error.isTruncation:
                self.init(
                    hasHead ? .bodyCutShort : .connectionLost, error.description, underlying: error)
            default:
                self.init(
                    .connectionLost, "the connection broke: \(error)", underlying: error)
            }
        }

        /// Why there is no connection.
        init(notConnected error: any Error) {
            switch error {
            case let error as MultipathHTTPError: self = error
            case let error as ConnectionError: self.init(error, hasHead: false)
            default: self.init(.notConnected, "\(error)", underlying: error)
            }
        }

        private init(parser error: HTTPParserError, hasHead: Bool) {
            switch error {
            case .invalidEOFState where hasHead:
                self.init(
                    .bodyCutShort, "the server closed the connection before the end of the body",
                    underlying: error)
            case .invalidEOFState:
                self.init(
                    .malformedAnswer, "the server closed the connection in the middle of the answer's head",
                    underlying: error)
            case .headerOverflow:
                self.init(.headTooLarge, "the answer's head is too large", underlying: error)
            case .unexpectedContentLength, .invalidContentLength:
                self.init(
                    .invalidLength, "the answer's head names no length that can be right",
                    underlying: error)
            default: self.init(.malformedAnswer, "the answer is no HTTP: \(error)", underlying: error)
            }
        }

        private init(reset code: HTTP2ErrorCode, _ error: any Error) {
            switch code {
            case .refusedStream:
                self.init(.refused, "the server did not process the request", underlying: error)
            default:
                self.init(.http2, "the server ended the request: \(code)", underlying: error)
            }
        }
    }
#endif
