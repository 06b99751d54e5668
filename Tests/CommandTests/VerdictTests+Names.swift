import Multipath
import PathDoctor
import Testing

// Name servers: those that lie, those that do not answer, and those that only seem to.
extension VerdictTests {
    @Test("names the name server that lies, what it said, and whose certificate is there")
    func lyingServer() {
        let verdict = check(
            well("wlan0") {
                $0.names = [
                    NameFinding(
                        server: ip("192.0.2.1"), duration: .milliseconds(3),
                        answer: .addresses([ip("203.0.113.66")]))
                ]
                $0.address = ip("203.0.113.66")
                $0.tls = .refused(reason: "the certificate is for other names", names: ["ads.example"])
            }, well("wwan0"))
        #expect(verdict.fault == .lyingNameServer)
        #expect(
            verdict.sentence
                == """
                The name server 192.0.2.1 of wlan0 answers 203.0.113.66 for host.example, where another host is (it is for \
                ads.example); wwan0 reaches host.example:443.
                """)
    }

    @Test(
        "tells another address of the host beside a dead path from a lie: the path reaches the host at no address"
    )
    func otherAddress() {
        let elsewhere: (inout PathFindings) -> Void = {
            $0.names = [
                NameFinding(
                    server: ip("192.0.2.1"), duration: .milliseconds(3),
                    answer: .addresses([ip("203.0.113.77")]))
            ]
            $0.address = ip("203.0.113.77")
            $0.tcp = .silent
        }
        for answer in [nil, false] as [Bool?] {
            let dead = check(
                well("wlan0") {
                    elsewhere(&$0)
                    $0.reachesOthersAddress = answer
                }, well("wwan0"))
            #expect(dead.fault == .pathSilent && dead.path == "wlan0")
        }
        let lie = check(
            well("wlan0") {
                elsewhere(&$0)
                $0.reachesOthersAddress = true
            }, well("wwan0"))
        #expect(lie.fault == .lyingNameServer)
    }

    @Test("tells a dead path before name servers that do not answer")
    func deadBeforeNames() {
        let verdict = check(
            well("wlan0") {
                $0.names = [
                    NameFinding(server: ip("192.0.2.1"), duration: .zero, answer: .failed("no answer"))
                ]
            }, well("wwan0") { $0.tcp = .silent })
        #expect(verdict.fault == .pathSilent && verdict.path == "wwan0")
    }

    @Test("takes an address of this machine for a lie where other servers have a real one")
    func sinkhole() {
        let verdict = check(
            well("wlan0") {
                $0.names = [
                    NameFinding(
                        server: ip("192.0.2.1"), duration: .zero, answer: .addresses([ip("127.0.0.1")]))
                ]
                $0.address = ip("127.0.0.1")
                $0.tcp = .refused
            })
        #expect(verdict.fault == .lyingNameServer)
    }

    @Test("takes different answers for no lie where both lead to the host")
    func differentAnswers() {
        let verdict = check(
            well("wlan0") {
                $0.names = [
                    NameFinding(
                        server: ip("192.0.2.1"), duration: .zero, answer: .addresses([ip("203.0.113.9")]))
                ]
                $0.address = ip("203.0.113.9")
            }, well("wwan0"))
        #expect(verdict.isHealthy)
    }

    @Test("tells a name that does not exist from servers that do not answer")
    func names() {
        let none: (inout PathFindings) -> Void = {
            $0.address = nil
            $0.tcp = .untried
            $0.names = []
        }
        let missing = check(well("wlan0", none)) {
            $0.systemName = NameFinding(server: nil, duration: .zero, answer: .noSuchName)
        }
        #expect(missing.sentence == "No name server knows host.example.")
        let dead = check(well("wlan0", none)) {
            $0.systemName = NameFinding(server: nil, duration: .zero, answer: .failed("Temporary failure"))
        }
        #expect(dead.fault == .namesUnanswered)
        #expect(dead.sentence == "No name server gives an address of host.example: Temporary failure.")
    }
}
