import Testing

@testable import PathCore

// That a state has no illegal predecessor is shown by the compiler: a `PathState.Validating` is made from a
// `PathState.Failed` alone, a `PathState.Suspect` from a `PathState.Good` alone, and no payload has another initializer.

@Suite("A path")
struct PathMachineTests {
    private let tuning = SteeringTuning()
    private var path = PathMachine()

    private mutating func handle(_ evidence: Evidence, _ milliseconds: Int64 = 0) -> [PathEffect] {
        path.handle(evidence, at: at(milliseconds), tuning)
    }

    private var standing: PathView.Standing { PathView.Standing(path.state) }

    @Test(
        "is suspect when data waits too long, and probed; and good again, with its age, when data gets through"
    )
    mutating func falseAlarm() {
        _ = handle(.joined(isOnly: true), 100)
        #expect(handle(.noProgress, 200) == [.tellSuspected(.noAcknowledgement), .probe(.noAcknowledgement)])
        #expect(standing == .suspect)
        #expect(handle(.progress(isCarrying: true), 210) == [.tellCleared])
        #expect(standing == .good)
        #expect(path.state.goodSince == at(100))
    }

    @Test("is told suspect once, and probed each time")
    mutating func onceSuspect() {
        _ = handle(.noProgress)
        #expect(handle(.noProgress, 10) == [.probe(.noAcknowledgement)])
    }

    @Test("has failed when probes go unanswered, and is tried a quarter of a second later")
    mutating func fails() {
        _ = handle(.noProgress)
        #expect(handle(.probesUnanswered(.noAcknowledgement), 50) == [.tellFailed(.noAcknowledgement)])
        #expect(standing == .failed && path.state.trouble == .noAcknowledgement)
        #expect(path.retry.at == at(300))
    }

    @Test("is validating when it is joined after it failed, and good when it has kept answering")
    mutating func validates() {
        _ = handle(.longSilence)
        #expect(handle(.joined(isOnly: false), 1000) == [.tellAnswered])
        #expect(standing == .validating && path.state.overcame == .noAcknowledgement)
        #expect(path.validate(isOnly: false, at: at(1199)) == at(1200))
        #expect(path.validate(isOnly: false, at: at(1200)) == nil)
        #expect(standing == .good && path.state.goodSince == at(1200))
    }

    @Test("proves nothing where there is nothing else")
    mutating func onlyPath() {
        _ = handle(.longSilence)
        _ = handle(.joined(isOnly: true), 1000)
        #expect(standing == .good)
        var other = PathMachine()
        _ = other.handle(.longSilence, at: at(0), tuning)
        _ = other.handle(.joined(isOnly: false), at: at(1000), tuning)
        #expect(other.validate(isOnly: true, at: at(1001)) == nil)
        #expect(PathView.Standing(other.state) == .good)
    }

    @Test("begins its validation anew, and does not become suspect, when data waits again")
    mutating func restarts() {
        _ = handle(.longSilence)
        _ = handle(.joined(isOnly: false), 1000)
        #expect(handle(.noProgress, 1100) == [.probe(.noAcknowledgement)])
        #expect(path.validate(isOnly: false, at: at(1200)) == at(1300))
    }

    @Test("validates for longer after each failure in a row, and forgets them after a good minute")
    mutating func failures() {
        for (round, length) in [200, 400, 800, 1600].enumerated() as EnumeratedSequence<[Int64]> {
            let start = Int64(round) * 10_000
            _ = handle(.longSilence, start)
            _ = handle(.joined(isOnly: false), start + 10)
            #expect(path.validate(isOnly: false, at: at(start + 10)) == at(start + 10 + length))
            _ = path.validate(isOnly: false, at: at(start + 10 + length))
        }
        _ = handle(.longSilence, 100_000)
        _ = handle(.joined(isOnly: false), 100_010)
        #expect(path.validate(isOnly: false, at: at(100_010)) == at(100_210))
    }

    @Test("was not dead where its data gets through after all, but not where it only stands by")
    mutating func revives() {
        _ = handle(.longSilence)
        #expect(handle(.progress(isCarrying: false), 10).isEmpty && path.hasFailed)
        #expect(handle(.progress(isCarrying: true), 20) == [.tellAnswered])
        #expect(standing == .good)
    }

    @Test("takes longer to be suspect from the third false alarm on, until a quiet time has passed")
    mutating func patience() {
        for alarm in 0..<4 as Range<Int64> {
            _ = handle(.noProgress, alarm * 100)
            _ = handle(.probeAnswered, alarm * 100 + 10)
        }
        #expect(path.patience(at: at(400), tuning) == 4)
        #expect(path.patience(at: at(10_311), tuning) == 1)
    }

    @Test("has new trouble, and nothing else, where the kernel's tables say so of one that has failed")
    mutating func tables() {
        _ = handle(.longSilence)
        path.wakeUp(at: at(5))
        #expect(path.isAwake)
        #expect(handle(.tablesSay(.noCarrier), 10) == [.tellFailed(.noCarrier)])
        #expect(path.state.trouble == .noCarrier && !path.isAwake && path.retry.at == at(10))
    }

    @Test("is left alone for longer each time that the peer ends its subflow soon")
    mutating func shortLived() {
        var pauses: [Duration] = []
        for _ in 0..<4 {
            #expect(handle(.subflowEnded(wasShort: true)).isEmpty)
            pauses.append(at(0).duration(to: path.retry.at))
            _ = handle(.joined(isOnly: false))
        }
        #expect(pauses == [1, 2, 4, 8].map { .seconds($0) })
    }

    @Test("is not being probed any more when it has failed")
    mutating func probing() {
        #expect(path.beginProbing(.trouble(.noAnswer), tuning) == true)
        #expect(path.beginProbing(.trouble(.noAnswer), tuning) == false)
        #expect(path.state.probing != nil && !path.isCalm)
        _ = handle(.longSilence)
        #expect(path.state.probing == nil)
    }

    @Test("counts a probe that was to measure as the first of those that look for trouble")
    mutating func measurement() {
        let plan = ProbePlan(answerTime: .milliseconds(40), tuning)
        #expect(path.beginProbing(.measurement, tuning) == true)
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(0)) == .send(lookAt: at(50)))
        #expect(path.advanceProbing(plan, repairedAt: at(20), at: at(20)) == .wait(until: at(50)))
        #expect(path.beginProbing(.trouble(.noAnswer), tuning) == true)
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(49)) == .wait(until: at(50)))
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(50)) == .unanswered)
    }

    @Test("is probed by several, a quarter of an answer's time apart, where it loses packets")
    mutating func spacing() {
        for _ in 0..<20 { path.noteProbe(isAnswered: false, tuning) }
        let plan = ProbePlan(answerTime: .milliseconds(40), tuning)
        #expect(path.beginProbing(.trouble(.noAnswer), tuning) == true)
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(0)) == .send(lookAt: at(10)))
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(9)) == .wait(until: at(10)))
        #expect(path.advanceProbing(plan, repairedAt: nil, at: at(10)) == .send(lookAt: at(20)))
    }

    @Test(
        "is asked once more for what comes in behind a lost segment, ever later, until the most have been sent"
    )
    mutating func repairs() {
        tuning.mostProbes = 4
        let plan = ProbePlan(answerTime: .milliseconds(40), tuning)
        #expect(path.beginProbing(.trouble(.noAnswer), tuning) == true)
        // What came before it says nothing of it.
        #expect(path.advanceProbing(plan, repairedAt: at(100), at: at(100)) == .send(lookAt: at(150)))
        #expect(path.advanceProbing(plan, repairedAt: at(100), at: at(110)) == .wait(until: at(150)))
        #expect(path.advanceProbing(plan, repairedAt: at(105), at: at(105)) == .wait(until: at(110)))
        #expect(path.advanceProbing(plan, repairedAt: at(105), at: at(110)) == .send(lookAt: at(160)))
        #expect(path.advanceProbing(plan, repairedAt: at(112), at: at(112)) == .wait(until: at(130)))
        #expect(path.advanceProbing(plan, repairedAt: at(112), at: at(130)) == .send(lookAt: at(180)))
        #expect(path.advanceProbing(plan, repairedAt: at(140), at: at(170)) == .send(lookAt: at(220)))
        #expect(path.advanceProbing(plan, repairedAt: at(200), at: at(220)) == .unanswered)
    }
}
