import Glibc
import PathCore

/// A question whose answer may take its time, or never come: a driver's, a file system's. It is asked on a thread that may
/// wait, and the answer comes back to the owner's thread.
///
///     idle ── ask ──► under way ── answer ──► idle            the owner is told, unless it stopped meanwhile
///                         └─ patience ──► overdue ── answer ──► idle
///
/// One question is under way at a time. So one that hangs for ever costs one thread, and no more.
final class Inquiry<Question: Sendable, Answer: Sendable>: @unchecked Sendable {
    /// Where questions are asked.
    struct Asker: Sendable {
        /// Runs a closure on a thread that may wait. Throws where there is none.
        let run: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
        /// Brings the answer to the owner's thread.
        let bring: @Sendable (EventThread, @escaping @Sendable () -> Void) -> Void

        /// On one of a pool's threads.
        static func pool(_ pool: BlockingCalls) -> Asker {
            Asker(
                run: { body throws(SystemError) in try pool.submit(body) },
                bring: { owner, body in owner.submit(body) })
        }

        /// At once, for a test whose answers don't take their time.
        static var here: Asker { Asker(run: { $0() }, bring: { $1() }) }
    }

    private let owner: EventThread
    private let asker: Asker
    private let patience: Duration
    private let answer: @Sendable (Question) -> Answer

    // Only the owner's thread touches these.
    private(set) var isUnderWay = false
    /// Whether the question under way has not been answered for longer than patience.
    private(set) var isOverdue = false
    /// How many questions were overdue.
    private(set) var delays = 0
    private var timer: EventThread.Token?
    private var ingest: ((Answer) -> Void)?
    private var onDelay: (() -> Void)?
    /// Each start has one, so that no answer to a question of an earlier start is told.
    private var run = 0

    /// - Parameter answer: finds the answer; it may wait for as long as it takes.
    init(
        on owner: EventThread, by asker: Asker, patience: Duration,
        _ answer: @escaping @Sendable (Question) -> Answer
    ) {
        self.owner = owner
        self.asker = asker
        self.patience = patience
        self.answer = answer
    }

    /// - Parameters:
    ///   - ingest: takes each answer, on the owner's thread.
    ///   - onDelay: told when an answer is overdue.
    func start(onDelay: @escaping () -> Void = {}, _ ingest: @escaping (Answer) -> Void) {
        run += 1
        self.ingest = ingest
        self.onDelay = onDelay
    }

    func stop() {
        if let timer { owner.cancelTimer(timer) }
        (timer, ingest, onDelay) = (nil, nil, nil)
    }

    /// Asks. While a question is under way it does nothing: the owner asks again after the answer. Where no thread can be
    /// had the answer is overdue at once, and the owner asks again when it needs to know the next time.
    func ask(_ question: Question) {
        guard !isUnderWay, ingest != nil else { return }
        (isUnderWay, isOverdue) = (true, false)
        let run = run
        do throws(SystemError) {
            try asker.run { [self] in
                let answer = answer(question)
                asker.bring(owner) { [self] in finish(answer, run) }
            }
        } catch {
            (isUnderWay, isOverdue) = (false, true)
            return
        }
        guard isUnderWay else { return }
        timer = owner.schedule(at: .now.advanced(by: patience)) { [weak self] in
            guard let self else { return }
            timer = nil
            isOverdue = true
            delays += 1
            onDelay?()
        }
    }

    private func finish(_ answer: Answer, _ run: Int) {
        if let timer { owner.cancelTimer(timer) }
        (timer, isUnderWay, isOverdue) = (nil, false, false)
        if run == self.run { ingest?(answer) }
    }
}

/// Says which answers of a series are told: those with news, and the one after which nothing more is awaited, for a first
/// reading waits until all is known.
struct AnswerSeries {
    /// Whether another question followed the latest answer at once.
    private var goesOn = false

    /// - Parameter isSettled: whether no answer is awaited that may still come soon.
    mutating func tells(isNews: Bool, isSettled: Bool) -> Bool {
        defer { goesOn = !isSettled }
        return isNews || goesOn && isSettled
    }
}
