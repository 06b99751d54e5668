import PathCore
import Testing

@testable import NetworkLab

/// What people write: conditions, faults, scenarios; and what they are told when it is wrong.
@Suite("The lab's texts")
struct TextTests {
    private func complaint(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing"
        } catch {
            return "\(error)"
        }
    }

    @Test("read conditions as they are written")
    func conditions() throws {
        let texts = [
            "rtt=20ms,jitter=5ms,rate=50mbit,queue=100ms,loss=1%", "rtt=20ms,rate=50mbit,queue=64000b",
            "up.rate=5mbit,up.queue=100ms,down.rate=50mbit,down.queue=100ms", "loss=2%,burst=8",
            "blackhole=up",
            "burst=4ms,loss=2%,burst=8",
            "rate=5mbit,queue=codel,policer=2mbit/64000b,burst=4ms", "middlebox=strip,nat=30s",
            "gilbert=1%/25%/100%/0%", "clean",
        ]
        for text in texts {
            let change = try ConditionChange(parsing: text == "clean" ? "" : text)
            #expect(change.applied(to: LinkConditions()).text == text)
        }
    }

    @Test("know kinds of networks by name, which replace all conditions", arguments: LinkPreset.allCases)
    func presets(_ preset: LinkPreset) throws {
        let before = try ConditionChange(parsing: "loss=50%,blackhole,nat=5s").applied(to: LinkConditions())
        guard case .change(let change) = try LinkAction(parsing: preset.rawValue) else {
            throw LabTextError("it is no condition")
        }
        let expected = try ConditionChange(parsing: preset.text).applied(to: LinkConditions())
        #expect(change.applied(to: before) == expected)
        #expect(
            try ConditionChange(parsing: "preset=\(preset.rawValue),loss=9%").applied(to: before).up.loss
                == .random(0.09))
    }

    @Test(
        "name what is wrong with a trace",
        arguments: [
            ("1\ntwo", "test: line 2: 'two' is no time in milliseconds"),
            ("5\n4", "test: line 2: the time goes back"),
            ("0\n0", "test: a trace needs at least one time after 0"),
            ("", "test: a trace needs at least one time after 0"),
        ])
    func badTrace(_ text: String, _ expected: String) {
        #expect(complaint { _ = try RateTrace(parsing: text, name: "test") } == expected)
    }

    @Test("name a congestion control for both hosts, or for each")
    func congestion() throws {
        let both = try CongestionPlan(parsing: "bbr")
        #expect((both.client, both.server) == (.bbr, .bbr))
        let each = try Scenario(parsing: "congestion server=cubic,client=reno", name: "test").plan.congestion
        #expect((each.client, each.server) == (.reno, .cubic))
        #expect(
            complaint { _ = try CongestionPlan(parsing: "cubik") }
                == "'cubik' is no congestion control (did you mean 'cubic'?); there are reno, cubic, bbr")
        #expect(
            complaint { _ = try CongestionPlan(parsing: "router=bbr") }
                == "'router' is no host; there are client and server")
    }

    @Test("name a trace's file by its whole path to a lab that runs elsewhere")
    func tracePaths() {
        #expect(
            RateTrace.withAbsolutePaths("rtt=5ms,up.rate=trace:a/b,down.rate=trace:/c,nat=5s", in: "/home/x")
                == "rtt=5ms,up.rate=trace:/home/x/a/b,down.rate=trace:/c,nat=5s")
    }

    @Test("change only the conditions that they name")
    func change() throws {
        let before = try ConditionChange(parsing: "rtt=20ms,rate=50mbit").applied(to: LinkConditions())
        let after = try ConditionChange(parsing: "loss=1%,rate=unlimited").applied(to: before)
        #expect(after.text == "rtt=20ms,loss=1%")
    }

    @Test(
        "name a bad condition, and suggest a better one",
        arguments: [
            (
                "rtt=soon",
                "'rtt=soon' has a bad value; expected a time with its unit, an hour at most, as in rtt=20ms"
            ),
            ("rtt=20", "'rtt=20' has no unit (did you mean 'rtt=20ms'?); expected a time with its unit"),
            (
                "up.rate=50",
                "'up.rate=50' has no unit (did you mean 'up.rate=50mbit'?); expected bits a second"
            ),
            ("loss=1", "'loss=1' has no unit (did you mean 'loss=1%'?); expected a share from 0% to 100%"),
            ("loss=101%", "'loss=101%' has a bad value; expected a share from 0% to 100%"),
            ("lost=1%", "'lost' is no condition (did you mean 'loss'?); there are rtt, delay"),
            (
                "queue=100",
                "'queue=100' has no unit (did you mean 'queue=100ms'?); expected a time with its unit, a size in"
            ),
            ("up.rtt=1ms", "'rtt' is for the whole link; leave 'up.' out"),
            ("rtt", "'rtt' has no value; write rtt=20ms"),
            ("loss=1%,", "'' is no condition"),
        ])
    func badCondition(_ text: String, _ expected: String) {
        #expect(complaint { _ = try ConditionChange(parsing: text) }.hasPrefix(expected))
    }

    @Test(
        "name the line of a bad scenario",
        arguments: [
            ("at noon wlan0 down", "line 1: 'noon' after 'at' is no time; write one as in 3s"),
            ("at 3s wlan7 down", "line 1: 'wlan7' is no link here (did you mean 'wlan0'?); there are"),
            (
                "\nfrom 9s to 3s wlan0 loss=0%..1%",
                "line 2: it ends at 3.0 seconds before it starts at 9.0 seconds"
            ),
            (
                "every 5s\nat 7s wlan0 down",
                "line 2: it ends at 7.0 seconds, but everything starts over every 5.0 seconds"
            ),
            ("from 1s to 3s wlan0 loss=1%", "line 1: 'loss=1%' should read KEY=FIRST..LAST"),
            (
                "from 1s to 3s wlan0 rate=1mbit..unlimited",
                "line 1: 'rate=1mbit..unlimited' has nothing between"
            ),
            ("link wlan0 wiffy", "line 1: 'wiffy' is no type of link"),
            ("lnk wlan0", "line 1: 'lnk' begins no line"),
            ("at 1s wlan0 carrier", "line 1: 'carrier' should read carrier on or carrier off"),
            ("every 1s\nevery 2s", "line 2: 'every' is there twice, first in line 1"),
            ("link wlan0 wifi\nlink wlan0 wifi", "'wlan0' is there twice"),
        ])
    func badScenario(_ text: String, _ expected: String) {
        let complaint = complaint { _ = try Scenario(parsing: text, name: "test") }
        #expect(complaint.hasPrefix(expected), "\(complaint)")
    }

    @Test("include the built-in scenarios")
    func builtIns() {
        #expect(
            Scenario.builtIns.map(\.name) == [
                "healthy", "wifi-blackhole", "wifi-walkout", "wifi-flapping", "bufferbloat", "one-way-loss",
                "elevator", "train", "middlebox-strip", "middlebox-drop", "tcp-only-server",
                "metered-hotspot",
                "ipv6-only", "nat-timeout",
            ])
        #expect(Scenario.builtIns.allSatisfy { !$0.about.isEmpty })
    }

    @Test("make even steps of a ramp")
    func ramp() throws {
        let scenario = try Scenario(parsing: "from 1s to 2s wlan0 loss=0%..10%", name: "test")
        let steps = scenario.plan.timeline.steps
        #expect(steps.count == 11)
        #expect(steps.first?.time == .seconds(1))
        #expect(steps[5].action == .change(try ConditionChange(parsing: "loss=5%")))
        #expect(steps.last?.time == .seconds(2))
    }
}

@Suite("The services' data")
struct ServiceDataTests {
    @Test("is hashed by SHA-256")
    func hash256() {
        func hash(_ text: String) -> String {
            var hash = SHA256()
            // In pieces of odd size, so that blocks are filled from several.
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: 7) {
                bytes[start..<min(start + 7, bytes.count)].withUnsafeBytes { hash.update($0) }
            }
            return hash.hexDigest()
        }
        // FIPS 180-4's examples.
        #expect(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    @Test("is known at every offset")
    func offsets() {
        var whole = [UInt8](repeating: 0, count: 1000)
        whole.withUnsafeMutableBytes { SourceData.fill($0, from: 0, seed: 3) }
        for offset in [1, 7, 8, 13, 500] {
            var part = [UInt8](repeating: 0, count: 100)
            part.withUnsafeMutableBytes { SourceData.fill($0, from: UInt64(offset), seed: 3) }
            #expect(part == Array(whole[offset..<offset + 100]))
        }
    }
}
