#if Outbox
    /// Sends an outbox's requests: an HTTP client, or a test's own.
    public protocol OutboxTransport: Sendable {
        /// Sends a request once, with `headersWithKey`, and waits for the answer's status. It returns soon after its task is
        /// cancelled.
        ///
        /// - Throws: `OutboxTimeout` where there was no answer in time; any other error where there was none at all.
        func send(_ request: OutboxRequest) async throws -> OutboxAnswer
    }

    /// A server's answer to a request of an outbox.
    public struct OutboxAnswer: Sendable, Hashable {
        /// HTTP's status (RFC 9110 section 15).
        public var status: Int
        /// What `Retry-After` said, as the time from now.
        public var retryAfter: Duration?

        /// An answer.
        public init(status: Int, retryAfter: Duration? = nil) {
            self.status = status
            self.retryAfter = retryAfter
        }
    }

    /// There was no answer in time.
    public struct OutboxTimeout: Error, Sendable, Hashable {
        /// The error.
        public init() {}
    }

    /// Why an outbox can't work.
    public enum OutboxError: Error, Sendable, Hashable, CustomStringConvertible {
        /// Another outbox, mostly of another process, has the file open.
        case inUse(String)
        /// The file can't be read or written, or is none of an outbox; SQLite's words.
        case storage(String)
        /// `run()` was called while another call of it runs.
        case alreadyRunning
        /// `close()` was called.
        case closed
        /// There is no such request in the file.
        case unknownRequest(OutboxID)

        public var description: String {
            switch self {
            case .inUse(let path): "another outbox has \(path) open"
            case .storage(let words): "the outbox's file: \(words)"
            case .alreadyRunning: "the outbox runs already"
            case .closed: "the outbox is closed"
            case .unknownRequest(let id): "the outbox has no request \(id)"
            }
        }
    }
#endif
