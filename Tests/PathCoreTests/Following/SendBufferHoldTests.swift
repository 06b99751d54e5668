import PathCore
import Testing

@Suite("The send buffer after the first subflow's end")
struct SendBufferHoldTests {
    private static func sample(lacks first: UInt64) -> ConnectionSample {
        var sample = ConnectionSample(token: ConnectionToken(1))
        sample.firstUnacknowledged = first
        return sample
    }

    @Test("is made large once, and not before the peer has acknowledged more than at the end")
    func once() {
        var hold = SendBufferHold()
        var answers = [hold.isOver(by: Self.sample(lacks: 5))]
        hold.firstSubflowEnded(Self.sample(lacks: 7))
        answers.append(hold.isOver(by: Self.sample(lacks: 7)))
        answers.append(hold.isOver(by: nil))
        answers.append(hold.isOver(by: Self.sample(lacks: 9)))
        answers.append(hold.isOver(by: Self.sample(lacks: 11)))
        #expect(answers == [false, false, false, true, false])
    }

    @Test("stays as it is where the connection could not be looked at any more")
    func unknown() {
        var hold = SendBufferHold()
        hold.firstSubflowEnded(nil)
        let isOver = hold.isOver(by: Self.sample(lacks: 5))
        #expect(!isOver)
    }
}
