// What an answer's head says about a resource of which a part may be there (RFC 9110 sections 14 and 15).

/// The fields of a head that count.
struct ResourceHead: Sendable, Equatable {
    var status: Int
    var contentRange: String?
    var contentLength: Int64?
    /// A strong entity tag, else the date of the last change; nil for a weak tag without a date, and for none.
    var validator: String?

    /// What to do with the body.
    struct Plan: Sendable, Equatable {
        /// How many bytes of the body to drop first.
        var skipped: Int64 = 0
        /// How many bytes of the resource are there before the body: 0 where it begins anew.
        var offset: Int64 = 0
        /// How long the resource is in the end; nil where the server does not say it.
        var total: Int64?
        /// Whether everything is there already, and the body is none.
        var isComplete = false
    }

    /// The value of the field `Range` for what is missing; nil to ask for all.
    static func range(_ request: FetchRequest) -> String? {
        let start = (request.resource.range?.start ?? 0) + request.offset
        if let end = request.resource.range?.end { return "bytes=\(start)-\(end - 1)" }
        return request.offset > 0 ? "bytes=\(start)-" : nil
    }

    func plan(for request: FetchRequest) throws(FetchFailure) -> Plan {
        let wanted = request.resource.range
        try Self.check(wanted?.length, request)
        switch status {
        case 200:
            guard let wanted else {
                try Self.check(contentLength, request)
                return Plan(total: contentLength)
            }
            // A server that knows no ranges sends everything.
            guard wanted.start <= request.limit else {
                throw FetchFailure(
                    kind: .unusable, reason: "the server sends no ranges, and the part begins too far behind")
            }
            try Self.check(wanted, in: contentLength)
            return Plan(skipped: wanted.start, total: wanted.length)
        case 206:
            guard Self.range(request) != nil else {
                throw FetchFailure(kind: .unusable, reason: "206 for a request without a range")
            }
            let start = (wanted?.start ?? 0) + request.offset
            guard let (first, last, whole) = Self.parse(contentRange), first == start else {
                throw FetchFailure(
                    kind: request.offset > 0 ? .changed : .unusable,
                    reason: "the server sent another part than was asked for")
            }
            // The rest of something else is no rest (RFC 9110 section 13.1.5).
            if request.offset > 0 {
                let isSame =
                    request.validator == nil && validator == nil
                    ? whole != nil && whole == request.total : request.validator == validator
                guard isSame, request.total == nil || whole == nil || wanted != nil || whole == request.total
                else {
                    throw FetchFailure(kind: .changed, reason: "the server has changed what it sends")
                }
            }
            if let wanted {
                guard last < wanted.end else {
                    throw FetchFailure(kind: .unusable, reason: "the server sent more than was asked for")
                }
                try Self.check(wanted, in: whole)
                return Plan(offset: request.offset, total: wanted.length)
            }
            try Self.check(whole, request)
            return Plan(offset: request.offset, total: whole)
        case 416:
            if request.offset > 0 {
                if let whole = Self.wholeLength(contentRange), wanted == nil, whole == request.offset {
                    return Plan(offset: request.offset, total: whole, isComplete: true)
                }
                throw FetchFailure(kind: .changed, reason: "416: the server has no such part any more")
            }
            throw FetchFailure(kind: .unusable, reason: "416: the server has no such part")
        case 404, 410: throw FetchFailure(kind: .missing, reason: "the server answered \(status)")
        case 408, 425, 429, 500...599:
            throw FetchFailure(kind: .busy, reason: "the server answered \(status)")
        default:
            throw FetchFailure(kind: .unusable, reason: "the server answered \(status)")
        }
    }

    private static func check(_ length: Int64?, _ request: FetchRequest) throws(FetchFailure) {
        guard let length, length > request.limit else { return }
        throw FetchFailure(
            kind: .unusable, reason: "it has \(length) bytes, more than the limit of \(request.limit)")
    }

    private static func check(_ wanted: MediaPlaylist.ByteRange, in whole: Int64?) throws(FetchFailure) {
        guard let whole, whole < wanted.end else { return }
        throw FetchFailure(
            kind: .unusable,
            reason: "the server has \(whole) bytes, the playlist wants those up to \(wanted.end)")
    }

    /// `bytes 100-199/200`, with the whole length where it is known.
    private static func parse(_ field: String?) -> (first: Int64, last: Int64, whole: Int64?)? {
        guard let match = field?.wholeMatch(of: #/bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)/#),
            let first = Int64(match.1), let last = Int64(match.2), last >= first
        else { return nil }
        let whole = Int64(match.3)
        guard whole.map({ last < $0 }) ?? true else { return nil }
        return (first, last, whole)
    }

    /// `bytes */200`
    private static func wholeLength(_ field: String?) -> Int64? {
        field?.wholeMatch(of: #/bytes \*/(\d{1,18})/#).flatMap { Int64($0.1) }
    }
}
