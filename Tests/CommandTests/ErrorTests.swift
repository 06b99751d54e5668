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
        let refused = try Commands.RefusedPort()
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
        let refused = try Commands.RefusedPort()
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

    @Test("about MULTIPATH_INTERFACES name the word that is wrong")
    func environment() async throws {
        let result = try await Program.run(
            [Commands.mppaths], environment: ["MULTIPATH_INTERFACES": "wlan0=fast"])
        #expect(result.status == 1)
        #expect(result.errors.contains("'fast' in 'wlan0=fast' is none of wired, wifi, cellular"))
    }
}
