// When a name's addresses are good enough to start with (RFC 8305 section 3).
//
// IPv6 and IPv4 addresses are asked for separately, and answered separately. An IPv6 answer starts the race;
// an IPv4 answer that comes first waits 50 ms for it (the Resolution Delay), unless the IPv6 answer has
// already been that there is none. What comes after the start joins in.
//
// The address hints of HTTPS records (RFC 9460 section 7.3) stand for a family's answer until that comes, or for good where
// it fails.
//
// Call order: `begin`; then `answered` and `failed` once for each family, and `timeReached` at
// `nextDeadline`; `hinted` at any time.

/// Decides when the race starts, and with which addresses.
package struct ResolutionMachine: Sendable {
    /// RFC 8305's Resolution Delay.
    package static let delay = Duration.milliseconds(50)

    package enum Action: Sendable, Hashable {
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
        /// What an HTTPS record says of the addresses.
        var hints: [IPAddress] = []

        /// Nil for none.
        var addresses: [IPAddress]? {
            let known =
                switch answer {
                case .addresses(let addresses): addresses
                case .failure, nil: hints
                }
            return known.isEmpty ? nil : known
        }
    }

    /// What was asked, in the order of `IPAddress.Family`.
    private var questions: [Question] = []
    private var deadline: MonotonicTime?
    private var hasStarted = false

    package init() {}

    /// When to call `timeReached`.
    package var nextDeadline: MonotonicTime? { deadline }

    /// These families are being asked for.
    package mutating func begin(_ families: Set<IPAddress.Family>) {
        questions = IPAddress.Family.allCases.filter(families.contains).map { Question(family: $0) }
    }

    package mutating func answered(
        _ family: IPAddress.Family, _ addresses: [IPAddress], at now: MonotonicTime
    ) -> Action? {
        ingest(.addresses(addresses), family, at: now)
    }

    package mutating func failed(
        _ family: IPAddress.Family, reason: String, at now: MonotonicTime
    ) -> Action? {
        ingest(.failure(reason), family, at: now)
    }

    /// An HTTPS record names addresses.
    package mutating func hinted(_ addresses: [IPAddress], at now: MonotonicTime) -> Action? {
        var news: Set<IPAddress.Family> = []
        for place in questions.indices where questions[place].answer == nil {
            let hints = addresses.filter { $0.family == questions[place].family }
            guard !hints.isEmpty, hints != questions[place].hints else { continue }
            questions[place].hints = hints
            news.insert(questions[place].family)
        }
        guard !news.isEmpty else { return nil }
        if hasStarted || news.contains(.ipv6) { return start() }
        deadline = deadline ?? now.advanced(by: Self.delay)
        return nil
    }

    /// The clock shows `nextDeadline` or later.
    package mutating func timeReached(_ now: MonotonicTime) -> Action? {
        guard let deadline, now >= deadline else { return nil }
        return start()
    }

    private mutating func ingest(
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
        deadline = deadline ?? now.advanced(by: Self.delay)
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
