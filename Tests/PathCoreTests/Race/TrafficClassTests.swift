import PathCore
import Testing

@Suite("Traffic classes")
struct TrafficClassNumbersTests {
    @Test("have the code points of RFC 4594 and RFC 8622")
    func codePoints() {
        let expected: [TrafficClass: UInt8] = [
            .background: 1, .bestEffort: 0, .bulk: 10, .interactive: 18, .streaming: 26,
            .conversationalVideo: 34, .voice: 46, .signalling: 40, .networkControl: 48,
        ]
        #expect(Dictionary(uniqueKeysWithValues: TrafficClass.allCases.map { ($0, $0.dscp) }) == expected)
    }

    @Test("say in words what is marked")
    func words() {
        #expect("\(TrafficMarking(.conversationalVideo))" == "conversational video (DSCP 34)")
        #expect(
            "\(TrafficMarking(.voice, unmarkedFamily: .ipv6))"
                == "voice (DSCP 46); IPv6 is not marked: the kernel refuses that for MPTCP")
    }
}
