import LinuxNet

/// What was asked, and on which network: there its answer holds.
struct NameQuestion: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case addresses(IPAddress.Family)
        /// HTTPS records, for a port.
        case services(UInt16)
    }

    /// In lower case.
    var host: String
    var kind: Kind
    var network: AnswerNetwork
    /// Which resolver of a chain was asked; 0 is the first.
    var level = 0
}

/// What an answer depends on: another network, or other servers, may answer otherwise.
struct AnswerNetwork: Hashable, Sendable {
    /// Nil for a machine without a path.
    var network: PathHistory.Network?
    var servers: [IPAddress]

    /// The network that a path belongs to.
    init(_ path: PathInterface) {
        network = PathHistory.Network(path)
        servers = path.nameServers
    }

    /// Where the system's resolver asks: over the preferred path, as a rule.
    init(machine snapshot: PathSnapshot?) {
        network = snapshot?.primary.map(PathHistory.Network.init)
        servers = snapshot?.nameServers ?? []
    }

    /// Every network that there is now.
    static func all(in snapshot: PathSnapshot) -> Set<AnswerNetwork> {
        var all: Set = [AnswerNetwork(machine: snapshot)]
        for var path in snapshot.interfaces + snapshot.excluded.map(\.interface) {
            all.insert(AnswerNetwork(path))
            // A path whose servers are not known asks the system's.
            guard path.nameServers.isEmpty else { continue }
            path.nameServers = snapshot.nameServers
            all.insert(AnswerNetwork(path))
        }
        return all
    }
}

/// The runner of `NameCache`: it asks, and hands each answer to all that wait for it.
///
/// An inquiry is a task of its own, because it outlives the caller that began it where others wait too, or where that
/// caller got a stale answer. It ends by its resolver's own limits; it is cancelled when nothing waits for it any more, and
/// with the cache.
final class AnswerCache<Answer: Sendable>: Sendable {
    /// What a resolver said.
    struct Found: Sendable {
        var answer: Answer
        /// Nil where the resolver tells none.
        var timeToLive: Duration?
        /// Whether it says that there is nothing, as a failure does.
        var isEmpty = false
    }

    typealias Ask = @Sendable () async throws(ResolutionError) -> Found
    private typealias Outcome = Result<Answer, ResolutionError>
    private typealias Cache = NameCache<NameQuestion, Answer>

    private struct Inquiry {
        let question: NameQuestion
        let task: Task<Void, Never>
        /// The callers that wait, by their numbers.
        var waiting: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        /// Its answer is for later callers: this one has a stale one.
        let isRefresh: Bool
    }

    private struct State {
        var cache: Cache
        var inquiries: [Cache.InquiryNumber: Inquiry] = [:]
        var callers: UInt64 = 0
        /// The hosts of which a stale answer was told, and when last.
        var staleHosts: [String: MonotonicTime] = [:]
    }

    /// A connection that got a stale answer has found out by then whether it holds.
    private static var staleTime: Duration { .seconds(300) }
    private static var mostStaleHosts: Int { 1024 }

    private let state: Locked<State>

    init(_ configuration: NameCache<NameQuestion, Answer>.Configuration) {
        state = Locked(State(cache: Cache(configuration)))
    }

    deinit { for inquiry in state.withLock({ Array($0.inquiries.values) }) { inquiry.task.cancel() } }

    /// The answer to a question, from the cache or from `ask`.
    ///
    /// - Parameter takesStale: whether a stale answer is one.
    func answer(
        to question: NameQuestion, takesStale: Bool = true, _ ask: @escaping Ask
    ) async throws(ResolutionError) -> Answer {
        let caller = state.withLock { state in
            state.callers += 1
            return state.callers
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(caller, question, takesStale, continuation, ask)
                // Cancelled before it waited.
                if Task.isCancelled { cancel(caller) }
            }
        } onCancel: {
            cancel(caller)
        }.get()
    }

    /// Forgets the answers of networks that are gone.
    func forget(_ networks: Set<AnswerNetwork>) {
        guard !networks.isEmpty else { return }
        state.withLock { $0.cache.keep { !networks.contains($0.network) } }
    }

    /// Whether a stale answer about a host was told lately.
    func hasToldStale(of host: String) -> Bool {
        state.withLock { state in
            state.staleHosts[host].map { $0.duration(to: .now) < Self.staleTime } ?? false
        }
    }

    /// Every answer is stale now.
    func expire() { state.withLock { $0.cache.expire(at: .now) } }

    private func wait(
        _ caller: UInt64, _ question: NameQuestion, _ takesStale: Bool,
        _ continuation: CheckedContinuation<Outcome, Never>, _ ask: @escaping Ask
    ) {
        let outcome: Outcome? = state.withLock { state in
            switch state.cache.look(question, takesStale: takesStale, at: .now) {
            case .fresh(let answer): return .success(answer)
            case .failed(let error): return .failure(error)
            case .stale(let answer, let inquiry):
                if state.staleHosts.count >= Self.mostStaleHosts { state.staleHosts = [:] }
                state.staleHosts[question.host] = .now
                if let inquiry { begin(inquiry, question, &state, isRefresh: true, ask) }
                return .success(answer)
            case .ask(let inquiry):
                begin(inquiry, question, &state, isRefresh: false, ask)
                state.inquiries[inquiry]?.waiting[caller] = continuation
            case .wait(let inquiry): state.inquiries[inquiry]?.waiting[caller] = continuation
            }
            return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    /// Under the lock.
    private func begin(
        _ number: Cache.InquiryNumber, _ question: NameQuestion, _ state: inout State, isRefresh: Bool,
        _ ask: @escaping Ask
    ) {
        // One that the cache has given up, and that nothing waits for.
        for (old, inquiry) in state.inquiries where inquiry.question == question && inquiry.waiting.isEmpty {
            inquiry.task.cancel()
            state.inquiries[old] = nil
        }
        let task = Task { [weak self] in
            let found: Result<Found, ResolutionError>
            do throws(ResolutionError) {
                found = .success(try await ask())
            } catch {
                found = .failure(error)
            }
            self?.end(number, question, found)
        }
        state.inquiries[number] = Inquiry(question: question, task: task, isRefresh: isRefresh)
    }

    private func end(
        _ number: Cache.InquiryNumber, _ question: NameQuestion,
        _ found: Result<Found, ResolutionError>
    ) {
        let waiting = state.withLock { state in
            switch found {
            case .success(let found):
                state.cache.answered(
                    question, number, found.answer, timeToLive: found.timeToLive, isEmpty: found.isEmpty,
                    at: .now)
            case .failure(let error): state.cache.failed(question, number, error, at: .now)
            }
            return state.inquiries.removeValue(forKey: number)?.waiting ?? [:]
        }
        for continuation in waiting.values { continuation.resume(returning: found.map(\.answer)) }
    }

    private func cancel(_ caller: UInt64) {
        let continuation: CheckedContinuation<Outcome, Never>? = state.withLock { state in
            guard let (number, inquiry) = state.inquiries.first(where: { $0.value.waiting[caller] != nil })
            else {
                return nil
            }
            let continuation = state.inquiries[number]?.waiting.removeValue(forKey: caller)
            if !inquiry.isRefresh, state.inquiries[number]?.waiting.isEmpty == true {
                inquiry.task.cancel()
                state.cache.abandoned(inquiry.question, number)
                state.inquiries[number] = nil
            }
            return continuation
        }
        continuation?.resume(returning: .failure(ResolutionError("cancelled")))
    }
}
