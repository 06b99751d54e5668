import Multipath
import PathDoctor
import Testing

/// The verdict of `mppaths check`, sentence by sentence.
@Suite("The doctor's verdict")
struct VerdictTests {
    // MARK: Findings

    func ip(_ text: String) -> IPAddress { IPAddress(text)! }

    /// A path over which all is well.
    func well(_ name: String, _ change: (inout PathFindings) -> Void = { _ in }) -> PathFindings {
        var path = PathFindings(interface: name, type: name.hasPrefix("wl") ? .wifi : .cellular)
        path.names = [
            NameFinding(
                server: ip("192.0.2.53"), duration: .milliseconds(12), answer: .addresses([ip("203.0.113.1")])
            )
        ]
        path.address = ip("203.0.113.1")
        path.tcp = .connected(.milliseconds(20))
        path.mptcp = .works
        path.tls = .trusted(version: "TLSv1.3", names: ["host.example"], .milliseconds(30))
        path.packets = .arrive
        path.quality = QualityFinding(sent: 32, roundTrips: Array(repeating: .milliseconds(20), count: 32))
        change(&path)
        return path
    }

    func check(
        _ paths: PathFindings..., change: (inout CheckFindings) -> Void = { _ in }
    ) -> Diagnosis {
        var findings = CheckFindings(host: "host.example", port: 443)
        findings.paths = paths
        findings.systemName = NameFinding(
            server: nil, duration: .milliseconds(1), answer: .addresses([ip("203.0.113.1")]))
        change(&findings)
        return findings.verdict
    }

    // MARK: Nothing is wrong

    @Test("is that all is well")
    func healthy() {
        let verdict = check(well("wlan0"), well("wwan0"))
        #expect(verdict.sentence == "All is well: wlan0 and wwan0 reach host.example:443 by MPTCP.")
        #expect(verdict.advice == "")
        #expect(verdict.exitStatus == 0)
    }

    @Test("takes a server without MPTCP for no fault, and says what that means")
    func tcpOnly() {
        let verdict = check(well("wlan0") { $0.mptcp = .absent }, well("wwan0") { $0.mptcp = .absent })
        #expect(
            verdict.sentence
                == "All is well: wlan0 and wwan0 reach host.example:443, by TCP: it does not speak MPTCP.")
        #expect(
            verdict.advice == "A connection can't change its path; it has to be made again when that fails.")
        #expect(verdict.isHealthy)
    }

    @Test("says what the paths cost")
    func metered() {
        let verdict = check(
            well("wlan0") { ($0.isExpensive, $0.isConstrained) = (true, true) },
            well("wwan0") { $0.isExpensive = true })
        #expect(verdict.advice == "All paths cost money. Data is to be saved on wlan0.")
        #expect(verdict.isHealthy)
    }

    // MARK: Paths

    @Test("is that there is no path, and why")
    func noPath() {
        let verdict = check { $0.omissions = [PathOmission(interface: "wlan0", reason: "down")] }
        #expect(verdict.sentence == "There is no path to the Internet (wlan0: down).")
        #expect(verdict.exitStatus == 3)
    }

    @Test("names the path that carries nothing, and the one that does")
    func silentPath() {
        let verdict = check(well("wlan0") { $0.tcp = .silent }, well("wwan0"))
        #expect(verdict.fault == .pathSilent)
        #expect(verdict.path == "wlan0")
        #expect(
            verdict.sentence
                == "wlan0 is up and carries nothing to host.example:443; wwan0 reaches host.example:443.")
        #expect(verdict.exitStatus == 1)
    }

    @Test("is that no path carries anything, where none does")
    func allSilent() {
        let silent: (inout PathFindings) -> Void = {
            $0.tcp = .silent
            $0.names = []
        }
        let verdict = check(well("wlan0", silent), well("wwan0", silent))
        #expect(verdict.path == nil)
        #expect(
            verdict.sentence == "Nothing answers over wlan0 and wwan0: the paths are up, and carry nothing.")
    }

    @Test("blames the host where the paths' name servers answer")
    func silentHost() {
        let verdict = check(well("wlan0") { $0.tcp = .silent }, well("wwan0") { $0.tcp = .silent })
        #expect(
            verdict.sentence
                == "host.example:443 does not answer over any path, though the paths carry other things.")
    }

    @Test("is that a path comes and goes")
    func flapping() {
        let verdict = check(well("wlan0"), well("wwan0")) { $0.lost = ["wlan0"] }
        #expect(verdict.fault == .flapping)
        #expect(verdict.sentence.hasPrefix("wlan0 comes and goes: it was lost while this check ran;"))
    }

    @Test(
        "is that a path has gaps, where it was silent and then was not; unless it loses packets all the time")
    func gaps() {
        let verdict = check(well("wlan0") { $0.paused = true }, well("wwan0"))
        #expect(verdict.fault == .flapping)
        #expect(verdict.sentence.hasPrefix("wlan0 carries nothing at times:"))
        let lossy = check(
            well("wlan0") {
                $0.paused = true
                $0.quality = QualityFinding(
                    sent: 32, roundTrips: Array(repeating: .milliseconds(20), count: 20))
            })
        #expect(lossy.fault == .lossy)
    }

    @Test("is that one family of addresses is dead on a path")
    func family() {
        let verdict = check(well("wlan0") { $0.deadAddress = ip("2001:db8::1") }, well("wwan0"))
        #expect(verdict.fault == .familySilent)
        #expect(
            verdict.sentence
                == "IPv6 carries nothing to host.example:443 over wlan0, and IPv4 does; wwan0 reaches host.example:443."
        )
    }

    // MARK: Ports

    @Test("tells a blocked port from a dead path: the host answers otherwise")
    func blockedPort() {
        let verdict = check(
            well("wlan0") {
                $0.tcp = .silent
                $0.answersElsewhere = true
            }, well("wwan0"))
        #expect(verdict.fault == .portBlocked)
        #expect(
            verdict.sentence
                == "Port 443 is blocked on wlan0, where host.example answers otherwise; wwan0 reaches host.example:443."
        )
    }

    @Test("advises a port that passes, and not the one that was asked for")
    func otherPort() {
        func advice(port: UInt16) -> String {
            check(
                well("wlan0") {
                    $0.tcp = .silent
                    $0.answersElsewhere = true
                }, well("wwan0")
            ) { $0.port = port }.advice
        }
        #expect(advice(port: 443).hasSuffix("use another path, or a port that passes."))
        #expect(advice(port: 8443).hasSuffix("use another path, or a port that passes, such as 443."))
    }

    @Test("tells a firewall's refusal from the host's: over another path it is taken")
    func refused() {
        #expect(check(well("wlan0") { $0.tcp = .refused }, well("wwan0")).fault == .portBlocked)
        let host = check(well("wlan0") { $0.tcp = .refused }, well("wwan0") { $0.tcp = .refused })
        #expect(host.fault == .refused)
        #expect(host.sentence == "host.example refuses connections to port 443: nothing listens there.")
    }

    // MARK: What is in the way

    @Test("is that a captive portal is in the way, and not the certificate that it shows")
    func portal() {
        let verdict = check(
            well("wlan0") {
                $0.portal = .page(status: "HTTP/1.1 302 Found", location: "http://portal.example/")
                $0.tls = .refused(reason: "the certificate is not trusted", names: ["portal.example"])
            }, well("wwan0"))
        #expect(verdict.fault == .captivePortal)
        #expect(
            verdict.sentence
                == """
                wlan0 is behind a captive portal (http://portal.example/): HTTP answers where none was due; wwan0 reaches \
                host.example:443.
                """)
        #expect(verdict.advice == "Open a page in a browser over wlan0, and log in.")
    }

    @Test("takes HTTP in the clear for a portal only where another path finds TLS on that port")
    func plainHTTP() {
        let plain: (inout PathFindings) -> Void = { $0.tls = .plainHTTP("HTTP/1.1 400 Bad Request") }
        #expect(check(well("wlan0", plain), well("wwan0")).fault == .captivePortal)
        let server = check(well("wlan0", plain), well("wwan0", plain))
        #expect(server.fault == .tlsFailed && server.path == nil)
        #expect(
            server.sentence
                == "host.example:443 speaks no TLS, over any path: HTTP answers in the clear (HTTP/1.1 400 Bad Request)."
        )
        #expect(check(well("wlan0", plain)).fault == .tlsFailed)
    }

    @Test("takes a proxy's error for no portal")
    func proxy() {
        #expect(check(well("wlan0") { $0.portal = .proxy(status: "HTTP/1.1 504 Gateway Timeout") }).isHealthy)
    }

    @Test("tells a wrong certificate of the host from that of a path")
    func certificate() {
        let wrong: (inout PathFindings) -> Void = {
            $0.tls = .refused(reason: "it has expired", names: ["host.example"])
        }
        let host = check(well("wlan0", wrong), well("wwan0", wrong))
        #expect(host.path == nil)
        #expect(
            host.sentence
                == "The certificate at host.example:443 is not one for host.example: it has expired (it is for host.example)."
        )
        let path = check(well("wlan0", wrong), well("wwan0"))
        #expect(path.path == "wlan0")
        #expect(path.fault == .wrongCertificate)
    }

    @Test("is a path MTU black hole where only small packets arrive")
    func packets() {
        let verdict = check(well("wlan0") { $0.packets = .lost }, well("wwan0"))
        #expect(verdict.fault == .packetsTooLarge)
        #expect(
            verdict.sentence.hasPrefix(
                "Full packets are lost on wlan0 without a word, and small ones arrive (a path MTU black hole);"
            ))
    }

    @Test("tells a box that strips MPTCP from a server without it, and one that drops it")
    func mptcp() {
        let stripped = check(well("wlan0") { $0.mptcp = .absent }, well("wwan0"))
        #expect(stripped.sentence.hasPrefix("Something behind wlan0 takes MPTCP out of packets;"))
        let dropped = check(well("wlan0") { $0.mptcp = .dropped }, well("wwan0"))
        #expect(dropped.sentence.hasPrefix("Something behind wlan0 drops packets with MPTCP; TCP passes;"))
        // What the kernel remembers of any path says nothing of this one.
        #expect(check(well("wlan0") { $0.mptcp = .withheld }, well("wwan0")).isHealthy)
    }

    // MARK: How well

    @Test("looks again at a path that changes while it is looked at, and at no other")
    func uneasy() {
        func series(_ times: [Int], lost: Int = 0) -> QualityFinding {
            QualityFinding(sent: times.count + lost, roundTrips: times.map { .milliseconds($0) })
        }
        // Wi-Fi's own jitter; and a queue that is full.
        #expect(!series(Array(20..<52)).isUneasy)
        #expect(!series([30] + Array(repeating: 400, count: 31)).isUneasy)
        let rising = series((0..<32).map { 30 + 4 * $0 })
        let oneLost = series(Array(repeating: 30, count: 31), lost: 1)
        #expect(rising.isUneasy && oneLost.isUneasy)
        #expect(rising.worse(oneLost) == oneLost && oneLost.worse(rising) == oneLost)
        #expect(rising.worse(series(Array(20..<52))) == rising)
    }

    @Test("tells an answer that is late from one that was lost and sent again by those beside it")
    func late() {
        func series(_ inTime: [Int], _ late: [Int]) -> QualityFinding {
            QualityFinding(
                sent: 32, inTime: inTime.map { .milliseconds($0) }, late: late.map { .milliseconds($0) })
        }
        let again = series(Array(repeating: 60, count: 28), [1060, 1060, 1061, 2060])
        #expect(again.roundTrips.count == 28 && again.longest == .milliseconds(60))
        #expect(series([20] + (0..<20).map { 60 + 45 * $0 }, [1010, 1020]).loss == 9.0 / 32)
        #expect(series([], Array(repeating: 1200, count: 32)).median == .milliseconds(1200))
    }

    @Test("tells loss from a full queue, and a full queue from distance")
    func quality() {
        let lossy = check(
            well("wlan0") {
                $0.quality = QualityFinding(
                    sent: 32, roundTrips: Array(repeating: .milliseconds(20), count: 26))
            })
        #expect(lossy.sentence == "wlan0 loses packets: 19 % of 32 handshakes lost a packet.")
        let late = QualityFinding(sent: 32, roundTrips: Array(repeating: .milliseconds(700), count: 32))
        let full = check(
            well("wlan0") {
                $0.quality = late
                $0.traffic = 9_600_000
            })
        #expect(
            full.sentence
                == "wlan0 answers late, after 700 ms, while 9.6 Mbit/s pass over it: its queue is full (bufferbloat)."
        )
        // A queue that is full loses what does not fit.
        let dropping = check(
            well("wlan0") {
                $0.quality = QualityFinding(
                    sent: 32, roundTrips: Array(repeating: .milliseconds(700), count: 20))
                $0.traffic = 9_600_000
            })
        #expect(dropping.fault == .queueFull)
        #expect(check(well("wlan0") { $0.quality = late }).sentence == "wlan0 is slow: answers take 700 ms.")
        // A long way is no queue, though traffic passes; answers that come ever later are.
        func busy(_ milliseconds: [Int]) -> Diagnosis {
            check(
                well("wlan0") {
                    $0.tcp = .connected(.milliseconds(milliseconds[0]))
                    $0.quality = QualityFinding(
                        sent: milliseconds.count, roundTrips: milliseconds.map { .milliseconds($0) })
                    $0.traffic = 9_600_000
                })
        }
        #expect(busy(Array(repeating: 200, count: 32)).isHealthy)
        #expect(busy(Array(repeating: 620, count: 32)).fault == .slow)
        #expect(busy((0..<32).map { 200 + $0 * 10 }).fault == .queueFull)
        // One lost handshake of 32 is weather.
        #expect(
            check(
                well("wlan0") {
                    $0.quality = QualityFinding(
                        sent: 32, roundTrips: Array(repeating: .milliseconds(20), count: 31))
                }
            )
            .isHealthy)
    }

    @Test("is that a NAT forgets idle connections, where that was asked")
    func idle() {
        let verdict = check(well("wlan0") { $0.idle = .forgotten(after: .seconds(6)) }, well("wwan0"))
        #expect(
            verdict.sentence.hasPrefix("Something behind wlan0 forgets connections that are idle for 6 s;"))
        #expect(check(well("wlan0") { $0.idle = .ended(after: .seconds(5)) }).isHealthy)
    }

    @Test("blames no path for what all have, and names each")
    func shared() {
        let slow: (inout PathFindings) -> Void = {
            $0.quality = QualityFinding(sent: 32, roundTrips: Array(repeating: .milliseconds(500), count: 32))
        }
        let all = check(well("wlan0", slow), well("wwan0", slow))
        #expect(all.fault == .slow && all.path == nil)
        #expect(all.sentence == "wlan0 is slow: answers take 500 ms; the same goes for wwan0.")
        let two = check(well("wlan0", slow), well("wwan0", slow), well("eth0"))
        #expect(two.path == "wlan0")
        #expect(
            two.sentence
                == "wlan0 is slow: answers take 500 ms; the same goes for wwan0; eth0 reaches host.example:443."
        )
    }

    @Test(
        "quotes an interface's name in a command, and names the interface where all paths have the black hole"
    )
    func commands() {
        let lost: (inout PathFindings) -> Void = { $0.packets = .lost }
        #expect(
            check(well("w;reboot", lost), well("wwan0")).advice.contains(
                "ip link set dev 'w;reboot' mtu 1280"))
        #expect(
            check(well("wlan0", lost), well("wwan0", lost)).advice.contains("ip link set dev wlan0 mtu 1280"))
    }

    // MARK: Hostile words

    @Test("and the findings bring no escape sequence to the terminal, whatever a server says")
    func hostile() {
        var findings = CheckFindings(host: "host.example", port: 443)
        findings.paths = [
            well("wl\u{1B}[2Jan0") {
                $0.portal = .page(
                    status: "HTTP/1.1 200 \u{1B}]0;x\u{07}", location: "http://\u{202E}x\n\nAll is well")
                $0.tls = .refused(reason: "\u{9B}31m", names: ["a\r\nb"])
            }
        ]
        let many = (0..<10_000).map { "name-\($0).example" }
        findings.paths[0].tls = .refused(reason: "\u{9B}31m", names: ["a\r\nb"] + many)
        #expect(findings.text.utf8.count < 4_096)
        #expect(
            findings.text.unicodeScalars.allSatisfy {
                $0 == "\n" || ($0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x9B)
            })
        #expect(!findings.text.contains("\u{202E}"))
        // No line of the server's own.
        #expect(!findings.text.contains("\nAll is well"))
    }
}
