// What the modes promise when a path goes bad. The figures are Benchmarks/mpbench's; here the margins are wide.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A steered connection")
    struct Modes {
        // A pause counts from the last byte or from the request; this is twenty times what it takes here.
        private static let stall = 2000

        @Test(
            "survives the loss of its path in handover mode",
            arguments: ["blackhole", "blackhole=up", "blackhole=down", "down", "address off", "route off"])
        func losesPath(fault: String) throws {
            let seen = try ModeProbe.run("handover echo --ms 5000 --at 1000 wlan0 '\(fault)'")
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.stall < Self.stall, "\(seen)")
            #expect(seen.moved(to: "wwan0") != nil, "\(seen)")
        }

        @Test("goes on with a download", arguments: ["blackhole", "down"])
        func download(fault: String) throws {
            let seen = try ModeProbe.run("handover download --ms 5000 --at 1000 wlan0 \(fault)")
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.stall < Self.stall, "\(seen)")
            #expect(seen.received("wwan0") > 1_000_000, "\(seen)")
        }

        /// What the server had queued on a first subflow went over cellular, and once more over Wi-Fi when that was back.
        @Test(
            "fetches next to nothing twice when a dead path is back",
            arguments: [
                ("blackhole", "not-expensive"), ("blackhole=up", "not-expensive"),
                ("blackhole=down", "not-expensive"), ("down", "not-expensive"), ("down", "expensive"),
            ])
        func backAgain(fault: String, cellular: String) throws {
            let back = fault == "down" ? "up" : "blackhole=none"
            let seen = try ModeProbe.run(
                "handover download --ms 6000 --capture wlan0 --at 1500 wlan0 \(fault) --at 2700 wlan0 \(back)",
                cellular: cellular, rate: "35mbit")
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.moved(to: "wlan0", after: 2700) != nil, "\(seen)")
            let twice = seen.number("captured") + seen.received("wwan0") - seen.number("bytes")
            print("measured: \(twice) bytes came twice")
            #expect(twice < 300_000, "\(seen)")
        }

        /// The end of any subflow has the kernels send again what is unacknowledged on all.
        @Test("downloads on as if nothing was when what only stood by goes down")
        func standbyGoes() throws {
            let seen = try ModeProbe.run(
                "handover download --ms 4000 --capture wlan0 --at 2000 wwan0 down", rate: "35mbit")
            #expect(seen.isIntact && seen.moved(to: "wwan0") == nil, "\(seen)")
            let twice = seen.number("captured") - seen.number("bytes")
            print("measured: \(twice) bytes came twice")
            #expect(twice < 300_000, "\(seen)")
        }

        @Test("goes on with an upload, which arrives whole", arguments: ["blackhole", "down"])
        func upload(fault: String) throws {
            let seen = try ModeProbe.run(
                "handover upload --ms 2500 --at 1000 wlan0 \(fault)", rate: "10mbit")
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.moved(to: "wwan0") != nil, "\(seen)")
        }

        @Test(
            "survives the loss of its path where another program holds it", arguments: ["blackhole", "down"])
        func lent(fault: String) throws {
            let seen = try ModeProbe.run("handover echo --lent yes --ms 4000 --at 1000 wlan0 \(fault)")
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.stall < Self.stall, "\(seen)")
            #expect(seen.moved(to: "wwan0") != nil, "\(seen)")
            #expect(seen.received("wwan0") > 0, "\(seen)")
        }

        @Test("has an expensive path ready in time")
        func coldPath() throws {
            let seen = try ModeProbe.run(
                "handover echo --ms 5000 --at 1000 wlan0 blackhole", cellular: "expensive")
            #expect(seen.isIntact && seen.stall < Self.stall, "\(seen)")
        }

        @Test("leaves expensive cellular alone while Wi-Fi is well")
        func expensive() throws {
            // Wi-Fi is not well where this machine keeps the emulator from running; what was seen of it says so.
            for attempt in 1...8 {
                let seen = try ModeProbe.run("handover echo --ms 4000 --count wwan0", cellular: "expensive")
                #expect(seen.isIntact, "\(seen)")
                if attempt < 8, seen.description.contains("wlan0 is suspect") { continue }
                #expect(seen.number("answers") == 0, "\(seen)")
                break
            }
        }

        @Test("sends no packet over a prohibited path", arguments: ["handover", "interactive", "aggregate"])
        func prohibited(mode: String) throws {
            let seen = try ModeProbe.run(
                "\(mode) echo --ms 2500 --prohibit wwan0 --count wwan0 --at 500 wlan0 blackhole --at 2000 wlan0 blackhole=none"
            )
            #expect(seen.number("answers") == 0, "\(seen)")
            #expect(seen.isIntact, "it waits for the path that it may use: \(seen)")
        }

        @Test("goes back to Wi-Fi when that is back")
        func goesBack() throws {
            let seen = try ModeProbe.run(
                "handover echo --ms 7000 --at 1000 wlan0 blackhole --at 2500 wlan0 blackhole=none")
            #expect(seen.isIntact, "\(seen)")
            let away = try #require(seen.moved(to: "wwan0", after: 900), "\(seen)")
            let back = try #require(seen.moved(to: "wlan0", after: away), "\(seen)")
            #expect((2500...6500).contains(back), "\(seen)")
            #expect(seen.number("latest") < 35, "the last second went over Wi-Fi again: \(seen)")
        }

        @Test("leaves a bloated path in interactive mode")
        func bufferbloat() throws {
            let seen = try ModeProbe.run("interactive echo --ms 8000 --at 1000 wlan0 rtt=500ms")
            #expect(seen.isIntact, "\(seen)")
            // A busy machine may have had it leave before.
            #expect(seen.moved(to: "wwan0") != nil, "\(seen)")
            #expect(seen.description.contains("current wwan0 (cellular)"), "\(seen)")
            #expect(seen.number("latest") < 100, "\(seen)")
        }

        @Test("uses both paths in aggregate mode")
        func bothPaths() throws {
            let seen = try ModeProbe.run("aggregate download --ms 4000", rate: "5mbit")
            #expect(seen.isIntact, "\(seen)")
            let received = ["wlan0", "wwan0"].map { seen.received($0) }
            #expect(received.allSatisfy { $0 * 5 > received[0] + received[1] }, "\(seen)")
        }

        @Test("waits for a path where there is none", arguments: ["blackhole", "down"])
        func noPath(fault: String) throws {
            let restored = fault == "down" ? "up" : "blackhole=none"
            let seen = try ModeProbe.run(
                """
                handover echo --ms 4000 --at 1000 wlan0 \(fault) --at 1000 wwan0 \(fault) \
                --at 2500 wwan0 \(restored)
                """)
            #expect(seen.isIntact, "\(seen)")
            #expect((1000...4500).contains(seen.stall), "\(seen)")
        }

        /// Small messages over two active paths, one of which falls silent: the kernel by itself fills its receive
        /// buffer with what comes after a gap, and never gets out of that. Steering does, but for a pause where the peer's
        /// kernel leaves out the first bytes of what it sends again (one run in some fifteen; more on a busy machine): see the
        /// documentation, "What the kernel does".
        @Test("mostly gets out of the kernel's deadlock in aggregate mode")
        func deadlock() throws {
            var whole = 0
            for _ in 0..<15 where whole < 2 {
                let all = try ModeProbe.runAll(
                    "aggregate echo --ms 3000 --size 64 --every 3 --connections 5 --at 1000 wlan0 blackhole")
                #expect(all.count == 5)
                if all.allSatisfy({ $0.isIntact && $0.stall < Self.stall }) { whole += 1 }
            }
            #expect(whole == 2, "by the kernel alone each connection is stuck for good")
        }
    }
}
