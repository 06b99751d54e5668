import PathCore
import Testing

@Suite("A suspicion about a path")
struct PathSuspicionsTests {
    private static let wifi = PathInterface(
        index: 3, name: "wlan0", type: Verdict(.wifi, .kernel), gateways: [ip("192.0.2.1")])
    private static let cellular = PathInterface(index: 4, name: "wwan0", type: Verdict(.cellular, .kernel))
    private let snapshot = PathSnapshot(interfaces: [Self.wifi, Self.cellular])
    private var suspicions = PathSuspicions()

    init() { suspicions.silent(Self.wifi, at: at(1000)) }

    @Test("holds for ten seconds, and longer where it is renewed")
    mutating func time() {
        #expect(suspicions.suspects(in: snapshot, at: at(1000)) == [3])
        #expect(suspicions.suspects(in: snapshot, at: at(10_999)) == [3])
        #expect(suspicions.suspects(in: snapshot, at: at(11_000)) == [])
        suspicions.silent(Self.wifi, at: at(9000))
        suspicions.silent(Self.cellular, at: at(10_000))
        #expect(suspicions.suspects(in: snapshot, at: at(18_999)) == [3, 4])
        #expect(suspicions.suspects(in: snapshot, at: at(19_000)) == [4])
    }

    @Test("ends with a sign of life that came after it, and not with an older one, or with another path's")
    mutating func life() {
        let answers = [
            suspicions.alive(3, since: at(999)), suspicions.alive(4, since: at(2000)),
            suspicions.suspects(in: snapshot, at: at(2000)) == [3], suspicions.alive(3, since: at(2000)),
            suspicions.suspects(in: snapshot, at: at(2000)) == [], suspicions.alive(3, since: at(2000)),
        ]
        #expect(answers == [false, false, true, true, true, false])
    }

    @Test("is about the network where it arose")
    func network() {
        var elsewhere = Self.wifi
        elsewhere.gateways = [ip("198.51.100.1")]
        #expect(suspicions.suspects(in: PathSnapshot(interfaces: [elsewhere]), at: at(1500)) == [])
        #expect(suspicions.suspects(in: PathSnapshot(), at: at(1500)) == [])
        let excluded = PathSnapshot(excluded: [ExcludedInterface(Self.wifi, reason: .noDefaultRoute)])
        #expect(suspicions.suspects(in: excluded, at: at(1500)) == [3])
    }

    @Test("is raised by what a connection finds out by itself, not by what the kernel's tables say anyway")
    func troubles() {
        #expect(
            PathTrouble.allCases.filter(\.isSilence) == [.noAcknowledgement, .cannotSend, .noAnswer])
    }
}
