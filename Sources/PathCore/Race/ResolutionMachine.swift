// When a name's addresses are good enough to start with (RFC 8305 section 3).
//
// IPv6 and IPv4 addresses are asked for separately, and answered separately. An IPv6 answer starts the race;
// an IPv4 answer that comes first waits 50 ms for it (the Resolution Delay), unless the IPv6 answer has
// already been that there is none. What comes after the start joins in.
//
// Call order: `begin`; then `answered` and `failed` once for each family, and `timeReached` at
// `nextDeadline`.

/// Decides when the race starts, and with which addresses.
public struct ResolutionMachine: Sendable {
    /// RFC 8305's Resolution Delay.
    public static let delay = Duration.milliseconds(50)

    public enum Action: Sendable, Hashable {
        /// All addresses so far, each family's in the order of its answer. More come where it is not final.
        case use([IPAddress.Family: [IPAddress]], isFinal: Bool)
        case fail(ResolutionError)
    }

    private enum Answer: Sendable {
        case addresses([IPAddress])
        case failure(String)
    }

    /// One family's part. There are two, for which a dictionary does more than it is worth.
    private struct Question: Sendable {
        let family: IPAddress.Family
        var answer: Answer?

        /// Nil for none.
        var addresses: [IPAddress]? {
            if case .addresses(let addresses) = answer, !addresses.isEmpty { addresses } else { nil }
        }
    }

    /// What was asked, in the order of `IPAddress.Family`.
    private var questions: [Question] = []
    private var deadline: MonotonicTime?
    private var hasStarted = false

    public init() {}

    /// When to call `timeReached`.
    public var nextDeadline: MonotonicTime? { deadline }

    /// These families are being asked for.
    public mutating func begin(_ families: Set<IPAddress.Family>) {
        questions = IPAddress.Family.allCases.filter(families.contains).map { Question(family: $0) }
    }

    public mutating func answered(
        _ family: IPAddress.Family, _ addresses: [IPAddress], at now: MonotonicTime
    ) -> Action? {
        take(.addresses(addresses), family, at: now)
    }

    public mutating func failed(
        _ family: IPAddress.Family, reason: String, at now: MonotonicTime
    ) -> Action? {
        take(.failure(reason), family, at: now)
    }

    /// The clock shows `nextDeadline` or later.
    public mutating func timeReached(_ now: MonotonicTime) -> Action? {
        guard let deadline, now >= deadline else { return nil }
        return start()
    }

    private mutating func take(
        _ answer: Answer, _ family: IPAddress.Family, at now: MonotonicTime
    ) -> Action? {
        guard let place = questions.firstIndex(where: { $0.family == family }),
            questions[place].answer == nil
        else { return nil }
        questions[place].answer = answer
        guard questions[place].addresses != nil else {
            // Nothing new. It may end the wait for this family, or the whole.
            if isFinal && !hasStarted && questions.allSatisfy({ $0.addresses == nil }) {
                return .fail(failure)
            }
            return isFinal || deadline != nil ? start() : nil
        }
        if hasStarted || isFinal || family == .ipv6 { return start() }
        deadline = now.advanced(by: Self.delay)
        return nil
    }

    private mutating func start() -> Action {
        deadline = nil
        hasStarted = true
        var found = [IPAddress.Family: [IPAddress]](minimumCapacity: questions.count)
        for question in questions {
            if let addresses = question.addresses { found[question.family] = addresses }
        }
        return .use(found, isFinal: isFinal)
    }

    /// Whether every family has been answered.
    private var isFinal: Bool { questions.allSatisfy { $0.answer != nil } }

    /// The families mostly fail alike; where they don't, both are told.
    private var failure: ResolutionError {
        let reasons = questions.compactMap { question -> String? in
            switch question.answer {
            case .failure(let reason): reason
            case .addresses: "no address"
            case nil: nil
            }
        }
        let unique = Set(reasons)
        return ResolutionError(unique.count == 1 ? reasons[0] : reasons.joined(separator: "; "))
    }
}

/// Why a name has no address: the resolver's words.
public struct ResolutionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The resolver's words.
    public var reason: String

    /// An error with its reason.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { reason }
}
