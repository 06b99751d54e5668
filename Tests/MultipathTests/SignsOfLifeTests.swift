import PathCore
import Testing

@testable import Multipath

@Suite("What connections hear of their peers")
struct SignsOfLifeTests {
    private let way = PathToHost(3, IPAddress(ipv4: 0xC000_0201))
    private let first = ConnectionToken(1)
    private let second = ConnectionToken(2)

    private func sign(_ milliseconds: Int64, answerTime: Duration = .milliseconds(40)) -> SignOfLife {
        SignOfLife(at: MonotonicTime(nanoseconds: milliseconds * 1_000_000), answerTime: answerTime)
    }

    @Test("is told to others, and not to the one that heard it")
    func others() {
        var signs = SignsOfLife()
        signs.seek([way], insteadOf: [])
        #expect(signs.latest(over: way, besides: first) == nil)
        signs.note(sign(100), over: way, by: first)
        #expect(signs.latest(over: way, besides: first) == nil)
        #expect(signs.latest(over: way, besides: second) == sign(100))
        signs.note(sign(90), over: way, by: second)
        #expect(signs.latest(over: way, besides: first) == sign(90))
        signs.note(sign(110), over: way, by: second)
        #expect(signs.latest(over: way, besides: first) == sign(110))
        #expect(signs.latest(over: way, besides: second) == sign(100))
        signs.note(sign(105), over: way, by: second)
        #expect(signs.latest(over: way, besides: first) == sign(110), "an older one says nothing new")
    }

    @Test("says how long answers take behind the fullest queue")
    func answerTimes() {
        var signs = SignsOfLife()
        signs.seek([way], insteadOf: [])
        signs.note(sign(100, answerTime: .milliseconds(200)), over: way, by: first)
        signs.note(sign(110), over: way, by: second)
        #expect(
            signs.latest(over: way, besides: ConnectionToken(3)) == sign(110, answerTime: .milliseconds(200)))
    }

    @Test("is kept of the same host over the same interface, where that is sought")
    func ways() {
        var signs = SignsOfLife()
        #expect(!signs.areSought)
        signs.note(sign(50), over: way, by: first)
        signs.seek([way], insteadOf: [])
        #expect(signs.areSought && signs.latest(over: way, besides: second) == nil)
        let others = [PathToHost(4, way.remote), PathToHost(3, IPAddress(ipv4: 0xC000_0202))]
        for other in others { signs.note(sign(100), over: other, by: first) }
        #expect(others.allSatisfy { signs.latest(over: $0, besides: second) == nil })
    }

    @Test("is forgotten when the last one that sought it does no more")
    func forgotten() {
        var signs = SignsOfLife()
        let other = PathToHost(4, way.remote)
        signs.seek([way], insteadOf: [])
        signs.seek([way, other], insteadOf: [])
        signs.note(sign(100), over: way, by: first)
        signs.seek([other], insteadOf: [way, other])
        #expect(signs.latest(over: way, besides: second) == sign(100))
        signs.seek([], insteadOf: [way])
        #expect(signs.latest(over: way, besides: second) == nil && signs.areSought)
        signs.seek([], insteadOf: [other])
        #expect(!signs.areSought)
    }
}
