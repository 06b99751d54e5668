import Foundation
import TestSupport
import Testing

@Suite("mpconnect's errors")
struct ErrorTests {
    @Test(
        "of usage take one line, name what is wrong, and end with 2",
        arguments: [
            ("::1", "'::1' looks like an IPv6 address without a port; write it as [::1]:PORT"),
            ("host", "'host' has no port; write it as host:PORT"),
            (":80", "':80' has no host; write it as HOST:80"),
            ("[::1]", "'[::1]' has no port; write it as [::1]:PORT"),
            ("[::1:80", "'[::1:80' opens a bracket that nothing closes"),
            ("host:http", "'http' in 'host:http' is no port; write a number from 1 to 65535"),
            ("host:0", "port 0 is out of range; ports go from 1 to 65535"),
            ("host:65536", "port 65536 is out of range; ports go from 1 to 65535"),
            ("http://host:80", "'http://host:80' is no host name; write HOST:PORT, without a scheme or path"),
        ])
    func usage(_ argument: String, _ message: String) async throws {
        let result = try await Commands.connect(argument)
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.hasPrefix("mpconnect: "))
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains(message))
    }

    @Test("of unknown flags and values are errors of usage too")
    func flags() async throws {
        for arguments in [
            ["--mode", "fast", "host:1"], ["--connect-timeout", "soon", "host:1"], ["--nope", "h:1"], [],
        ] {
            let result = try await Program.run([Commands.mpconnect] + arguments)
            #expect(result.status == 2, "\(arguments)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        }
    }

    @Test("tell [::1]:80 and ::1 apart")
    func brackets() async throws {
        let result = try await Commands.connect("[::1]:1")
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("mpconnect: [::1]:1: Connection refused\n"))
    }

    @Test("of a refused port list every attempt")
    func refused() async throws {
        let refused = try LoopbackPort(SOCK_STREAM)
        let port = refused.number
        let result = try await Commands.connect("127.0.0.1:\(port)")
        withExtendedLifetime(refused) {}
        #expect(result.status == 1)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first == "mpconnect: 127.0.0.1:\(port): Connection refused")
        #expect(
            lines.dropFirst().allSatisfy {
                $0.contains("attempt     lo ") && $0.hasSuffix("Connection refused")
            })
    }

    @Test("of a refused port end, as JSON, with a report that holds the attempts")
    func refusedJSON() async throws {
        let refused = try LoopbackPort(SOCK_STREAM)
        let result = try await Commands.connect("--json", "127.0.0.1:\(refused.number)")
        withExtendedLifetime(refused) {}
        #expect(result.status == 1)
        let objects = try Commands.objects(result.errors)
        #expect(objects.map { $0["event"] as? String } == ["report"])
        let report = try #require(objects.last)
        #expect(report["time"] is Double)
        #expect(report["transport"] is NSNull)
        #expect(report["exit_status"] as? Int == 1)
        #expect(
            (report["attempts"] as? [[String: Any]])?.map { $0["error"] as? String }
                == Array(repeating: "Connection refused", count: 2))
    }

    @Test("of a prohibited path name the path and the reason, and end with 3")
    func prohibited() async throws {
        let result = try await Commands.connect("--prohibit", "loopback", "127.0.0.1:1")
        #expect(result.status == 3)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains("no allowed path"))
        #expect(result.errors.contains("lo: its type is prohibited"))
    }

    @Test(
        "suggest the word that was meant, whatever kind of word it is",
        arguments: [
            (["mpconnect", "--mode", "handovr", "h:1"], "'handovr' is none of", "'handover'"),
            (["mpconnect", "--prohibit", "expensve", "127.0.0.1:1"], "'expensve' is none of", "'expensive'"),
            (["mpconnect", "--prohibit", "wifi,l0", "127.0.0.1:1"], "'l0' is none of", "'lo'"),
            (["mpconnect", "--jsn", "h:1"], "Unknown option '--jsn'", "'--json'"),
            (["mppaths", "lst"], "'lst' is none of the commands list, watch, check", "'list'"),
            (["mppaths", "set", "eth0", "expensve", "yes"], "'expensve' should be", "'expensive'"),
            (["mplab", "st"], "'st' is none of the commands run, set, scenarios", "'set'"),
            (["mplab", "run", "--wifi", "rt=5ms"], "'rt' is no condition", "'rtt'"),
        ])
    func suggestions(_ command: [String], _ message: String, _ suggestion: String) async throws {
        let result = try await Program.run([Program.product(command[0])] + command.dropFirst())
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(
            result.errors.contains("(did you mean \(suggestion)?)")
                || result.errors.contains("Did you mean \(suggestion)?"))
    }

    @Test(
        "point to the help of the subcommand they are about",
        arguments: [
            (["mppaths", "watch", "--jsn"], "mppaths watch --help"),
            (["mppaths", "watch", "--json", "--lines"], "mppaths watch --help"),
            (["mppaths", "set", "eth0", "expensve", "yes"], "mppaths set --help"),
            (["mppaths", "record", "--duration", "soon", "f"], "mppaths record --help"),
            (["mplab", "run", "--wifi", "rt=5ms"], "mplab run --help"),
            (["mppaths", "lst"], "mppaths --help"),
            (["mpconnect", "h"], "mpconnect --help"),
        ])
    func help(_ command: [String], _ help: String) async throws {
        let result = try await Program.run([Program.product(command[0])] + command.dropFirst())
        #expect(result.status == 2)
        #expect(result.errors.hasSuffix("(see \(help))\n"), "\(result.errors)")
        let shown = try await Program.run(
            [Program.product(command[0])] + help.split(separator: " ").dropFirst().map(String.init))
        #expect(shown.status == 0)
    }

    @Test("of --prohibit don't keep from naming an interface that may appear later")
    func laterInterface() async throws {
        let refused = try LoopbackPort(SOCK_STREAM)
        let bare = try await Commands.connect("--prohibit", "wwan7", "127.0.0.1:\(refused.number)")
        #expect(bare.status == 2)
        #expect(bare.errors.contains("an interface that may appear later is interface:wwan7"))
        let named = try await Commands.connect("--prohibit", "interface:wwan7", "127.0.0.1:\(refused.number)")
        #expect(named.status == 1, "\(named.errors)")
        let loopback = try await Commands.connect("--prohibit", "interface:lo", "127.0.0.1:1")
        #expect(loopback.status == 3, "\(loopback.errors)")
        withExtendedLifetime(refused) {}
    }

    @Test("of durations are the same for each option, and so are the forms that are taken")
    func durations() async throws {
        for text in ["5", "5s", "500ms"] {
            let result = try await Commands.connect("--connect-timeout", text, "[::1]:1")
            #expect(result.status == 1, "\(result.errors)")
        }
        let timeout = try await Commands.connect("--connect-timeout", "soon", "[::1]:1")
        let recording = try await Program.run([Commands.mppaths, "record", "--duration", "soon", "f"])
        for result in [timeout, recording] {
            #expect(
                result.errors.contains("'soon' is no duration; write one as 5, 5s, 500ms"), "\(result.errors)"
            )
        }
    }

    @Test("about MULTIPATH_INTERFACES name the word that is wrong")
    func environment() async throws {
        let result = try await Program.run(
            [Commands.mppaths], environment: ["MULTIPATH_INTERFACES": "wlan0=fast"])
        #expect(result.status == 1)
        #expect(result.errors.contains("'fast' in 'wlan0=fast' is none of wired, wifi, cellular"))
    }
}
