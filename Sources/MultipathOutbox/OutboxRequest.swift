#if Outbox
    /// How much depends on a request.
    public enum OutboxRequestClass: String, Sendable, Hashable, CaseIterable {
        /// It is written to disk before the first attempt and deleted when it has succeeded; a kill and a reboot in between do no
        /// harm. It is tried again whenever a path appears, and with growing pauses, at least every 60 s while there is one.
        case mustArrive
        /// It is tried three times, 5 s apart, after time-outs and agreed statuses only. A process that ends forgets it.
        case important
        /// It is tried once, where there is a path.
        case bestEffort
    }

    /// A request for an outbox, as its transport understands it: mostly of HTTP.
    public struct OutboxRequest: Sendable, Hashable {
        /// A header.
        public struct Header: Sendable, Hashable, Codable {
            /// The field's name.
            public var name: String
            /// The field's value.
            public var value: String

            /// A header of this name and value.
            public init(_ name: String, _ value: String) {
                self.name = name
                self.value = value
            }
        }

        /// How much depends on it.
        public var requestClass: OutboxRequestClass
        /// The method, of HTTP. POST unless given.
        public var method: String
        /// Where it goes, as the transport understands it.
        public var url: String
        /// Without the idempotency key, which `headersWithKey` adds.
        public var headers: [Header]
        /// The content, in bytes.
        public var body: [UInt8]
        /// 0 for the most urgent to 7, as with HTTP (RFC 9218 section 4.1); 3 unless set. Others count as the nearest.
        public var urgency: Int
        /// What the server knows the request by, so that one that it has done, and whose answer was lost, is not done again.
        /// One request of an outbox's file has it at a time: submitting another with the same key changes nothing.
        public var idempotencyKey: String

        /// A request.
        ///
        /// - Parameters:
        ///   - requestClass: how much depends on it.
        ///   - method: of HTTP.
        ///   - url: as the transport understands it.
        ///   - headers: without the idempotency key.
        ///   - body: its bytes.
        ///   - urgency: 0 to 7.
        ///   - idempotencyKey: 128 random bits unless given.
        public init(
            _ requestClass: OutboxRequestClass, method: String = "POST", url: String, headers: [Header] = [],
            body: [UInt8] = [], urgency: Int = 3, idempotencyKey: String? = nil
        ) {
            self.requestClass = requestClass
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.urgency = urgency
            self.idempotencyKey = idempotencyKey ?? Self.randomKey()
        }

        /// The headers with `Idempotency-Key`, a quoted string (draft-ietf-httpapi-idempotency-key-header section 2.1).
        public var headersWithKey: [Header] {
            let quoted = idempotencyKey.reduce(into: "") { text, character in
                if character == "\"" || character == "\\" { text.append("\\") }
                text.append(character)
            }
            return headers + [Header("Idempotency-Key", "\"\(quoted)\"")]
        }

        private static func randomKey() -> String {
            (0..<2).map { _ in
                let digits = String(UInt64.random(in: .min ... .max), radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
        }
    }

    /// A request's number in its outbox. Those of requests that must arrive are positive, and the same after a restart.
    public struct OutboxID: Sendable, Hashable, CustomStringConvertible {
        /// Positive for a request that must arrive, negative for others.
        public let number: Int64

        init(_ number: Int64) { self.number = number }

        public var description: String { "\(number)" }
    }

    /// What one attempt came to.
    public enum OutboxOutcome: Sendable, Hashable {
        /// The server answered with a status of HTTP, and may have said when to come again (`Retry-After`, RFC 9110
        /// section 10.2.3).
        case answered(status: Int, retryAfter: Duration?)
        /// There was no answer in time.
        case timedOut
        /// It failed otherwise; an error's words.
        case failed(String)
    }

    /// How a request ended.
    public enum OutboxResult: Sendable, Hashable {
        /// The server has done it: a status from 200 to 299, or 303.
        case delivered(status: Int)
        /// The server says that the request itself is wrong. It must arrive, so it is kept, and tried again by
        /// `Outbox.retry` only.
        case setAside(status: Int)
        /// An important or a best-effort request has failed for good; what its last attempt came to.
        case failed(OutboxOutcome)
        /// A best-effort request found no path.
        case noPath
        /// It was taken from the outbox.
        case removed
    }

    /// A request that must arrive, and has not yet.
    public struct OutboxEntry: Sendable, Hashable {
        /// Its number, by which `Outbox.retry` and `Outbox.remove` know it.
        public let id: OutboxID
        /// What was submitted.
        public let request: OutboxRequest
        /// The status for which it was set aside; nil while it is tried.
        public let setAsideStatus: Int?
    }
#endif
