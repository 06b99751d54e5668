// What is kept of the answers to questions about names (RFC 1035 section 7.4, RFC 8767).
//
// Rules:
//  1. An answer is fresh for its time to live, or for an assumed one where the resolver tells none. One whose time to live
//     is 0 is told to those that wait for it, and not kept.
//  2. After that it is stale for a while: it is still the answer, and the first that gets it asks again. So a server that
//     is dead holds nothing up (RFC 8767 section 5).
//  3. A failure is kept for some seconds at most, so that a burst of connections asks once. It does not take the place of
//     a stale answer, unless it says that the name does not exist any more. That a name has no address counts as one.
//  4. A question is asked once, however many wait for its answer. One that is not answered in its time is asked anew.
//  5. An answer that comes after its question was forgotten is told to those that wait, and not kept: the network on which
//     it held is gone.
//  6. The number of questions is bounded; those that were of use longest ago go first.
//
// Call order: `look` for each question. Where that says to ask, ask, and then call `answered`, `failed` or `abandoned`, once,
// with its number. `keep` and `expire` are legal at any time.

/// The answers to questions about names, by question. Time is an argument.
package struct NameCache<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    /// How long what is kept.
    package struct Configuration: Sendable, Hashable {
        /// The time to live of an answer that comes without one, as getaddrinfo's do.
        package var assumedTimeToLive: Duration = .seconds(60)
        /// RFC 8767 section 4 advises a limit of 7 days for times to live; this is shorter, for a client has no operator.
        package var longestTimeToLive: Duration = .seconds(24 * 3600)
        /// How long an answer is of use after its time to live (RFC 8767 section 5: one to three days).
        package var staleness: Duration = .seconds(24 * 3600)
        /// How long a failure is the answer; 5 s at most (RFC 2308 section 7 allows 5 minutes).
        package var failureTime: Duration = .seconds(5)
        /// After so long a question counts as lost, and is asked anew.
        package var patience: Duration = .seconds(30)
        /// At most so many questions are kept.
        package var capacity = 1024

        package init() {}
    }

    /// Numbers what was asked, from 1.
    package typealias InquiryNumber = UInt64

    /// What is to be done for a question.
    package enum Reply: Sendable {
        /// An answer within its time to live.
        case fresh(Answer)
        /// An answer beyond it. Where there is an inquiry, its caller asks again.
        case stale(Answer, asking: InquiryNumber?)
        /// The last inquiry failed a moment ago.
        case failed(ResolutionError)
        /// The caller asks.
        case ask(InquiryNumber)
        /// Another caller has asked, and is not answered yet.
        case wait(InquiryNumber)
    }

    private struct Entry: Sendable {
        var answer: (value: Answer, expires: MonotonicTime, staleness: Duration)?
        var failure: (error: ResolutionError, ends: MonotonicTime)?
        var inquiry: (number: InquiryNumber, since: MonotonicTime)?
        var lastUse: MonotonicTime
    }

    package let configuration: Configuration
    private var entries: [Question: Entry] = [:]
    private var inquiries: InquiryNumber = 0

    package init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    /// How many questions are kept.
    package var count: Int { entries.count }

    /// What is known of a question, and whether the caller has to ask it.
    ///
    /// - Parameter takesStale: whether a stale answer is one: not where it was found to hold no more.
    package mutating func look(
        _ question: Question, takesStale: Bool = true, at now: MonotonicTime
    ) -> Reply {
        if entries[question] == nil { makeRoom() }
        var entry = entries[question] ?? Entry(lastUse: now)
        defer { entries[question] = entry }
        return reply(&entry, takesStale, at: now)
    }

    private mutating func reply(
        _ entry: inout Entry, _ takesStale: Bool, at now: MonotonicTime
    ) -> Reply {
        entry.lastUse = now
        if let inquiry = entry.inquiry, inquiry.since.duration(to: now) >= configuration.patience {
            entry.inquiry = nil
        }
        if let failure = entry.failure, failure.ends <= now { entry.failure = nil }
        if let answer = entry.answer {
            if now < answer.expires { return .fresh(answer.value) }
            if now >= answer.expires.advanced(by: answer.staleness) {
                entry.answer = nil
            } else if takesStale {
                let rests = entry.inquiry != nil || entry.failure != nil
                return .stale(answer.value, asking: rests ? nil : ask(&entry, at: now))
            }
        }
        if let failure = entry.failure { return .failed(failure.error) }
        if let inquiry = entry.inquiry { return .wait(inquiry.number) }
        return .ask(ask(&entry, at: now))
    }

    private mutating func ask(_ entry: inout Entry, at now: MonotonicTime) -> InquiryNumber {
        inquiries += 1
        entry.inquiry = (inquiries, now)
        return inquiries
    }

    /// An inquiry has its answer.
    ///
    /// - Parameters:
    ///   - timeToLive: nil where the resolver tells none.
    ///   - isEmpty: whether it says that there is nothing.
    package mutating func answered(
        _ question: Question, _ inquiry: InquiryNumber, _ answer: Answer, timeToLive: Duration?,
        isEmpty: Bool = false, at now: MonotonicTime
    ) {
        end(question, inquiry) { entry, configuration in
            let longest = isEmpty ? configuration.failureTime : configuration.longestTimeToLive
            let time = min(timeToLive ?? configuration.assumedTimeToLive, longest)
            let staleness = isEmpty ? .zero : configuration.staleness
            entry.failure = nil
            entry.answer = time > .zero ? (answer, now.advanced(by: time), staleness) : nil
        }
    }

    /// An inquiry came to nothing.
    package mutating func failed(
        _ question: Question, _ inquiry: InquiryNumber, _ error: ResolutionError, at now: MonotonicTime
    ) {
        end(question, inquiry) { entry, configuration in
            if error.isNoSuchName { entry.answer = nil }
            entry.failure = (error, now.advanced(by: configuration.failureTime))
        }
    }

    /// An inquiry was given up, because nothing waits for its answer any more.
    package mutating func abandoned(_ question: Question, _ inquiry: InquiryNumber) {
        end(question, inquiry) { _, _ in }
    }

    private mutating func end(
        _ question: Question, _ inquiry: InquiryNumber, _ change: (inout Entry, Configuration) -> Void
    ) {
        guard var entry = entries[question], entry.inquiry?.number == inquiry else { return }
        entry.inquiry = nil
        change(&entry, configuration)
        entries[question] = entry.answer == nil && entry.failure == nil ? nil : entry
    }

    /// Forgets the questions for which this is false: their network is gone.
    package mutating func keep(where isValid: (Question) -> Bool) {
        entries = entries.filter { isValid($0.key) }
    }

    /// Every answer is stale now: the clock stood still while the machine slept, and the times to live went on.
    package mutating func expire(at now: MonotonicTime) {
        for (question, var entry) in entries {
            guard let answer = entry.answer, answer.expires > now else { continue }
            entry.answer = (answer.value, now, answer.staleness)
            entries[question] = entry
        }
    }

    /// A tenth at a time, so that a program with a new name for every connection pays seldom.
    private mutating func makeRoom() {
        guard entries.count >= configuration.capacity else { return }
        let ages = entries.values.map(\.lastUse).sorted()
        let limit = ages[min(ages.count / 10, ages.count - 1)]
        entries = entries.filter { $0.value.lastUse > limit }
    }
}
