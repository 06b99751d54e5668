import Foundation
import Multipath
import TestSupport
import Testing

@testable import MultipathDNS

@Suite("A path's own name servers", .needs("dnsmasq"))
struct InterfaceResolverTests {
    /// The path whose name server a test plays.
    private let loopback = PathInterface(
        index: 1, name: "lo", type: Verdict(.loopback, .kernel), nameServers: [IPAddress("127.0.0.1")!])

    @Test("answer for each family")
    func families() async throws {
        let server = try await NameServer([
            "--address=/name.example/192.0.2.7", "--address=/name.example/2001:db8::7",
        ])
        #expect(try await ask(server, "name.example", .ipv4) == ["192.0.2.7"])
        #expect(try await ask(server, "name.example", .ipv6) == ["2001:db8::7"])
    }

    @Test("follow aliases, and say where a name has no address of a family")
    func aliases() async throws {
        let server = try await NameServer([
            "--host-record=real.example,192.0.2.8", "--cname=alias.example,real.example",
        ])
        #expect(try await ask(server, "alias.example", .ipv4) == ["192.0.2.8"])
        #expect(try await ask(server, "alias.example", .ipv6) == [])
    }

    @Test("answer over TCP what is too long for a datagram")
    func truncated() async throws {
        let records = (1...200).map { "--host-record=many.example,198.51.100.\($0)" }
        let server = try await NameServer(records + ["--edns-packet-max=512"])
        #expect(try await ask(server, "many.example", .ipv4).count == 200)
    }

    @Test("may be link-local beside others, as home routers announce theirs")
    func linkLocal() async throws {
        let server = try await NameServer(["--address=/name.example/192.0.2.7"])
        var path = loopback
        path.nameServers.append(IPAddress("fe80::1")!.inZone(1))
        let resolver = InterfaceResolver(servers: [], timeout: .seconds(2), port: server.port)
        let found = try await resolver.addresses(of: "name.example", family: .ipv4, over: path)
        #expect(found.map(\.description) == ["192.0.2.7"])
    }

    @Test("say why there is no answer")
    func failures() async throws {
        let server = try await NameServer(["--address=/missing.example/"])
        let missing = await #expect(throws: ResolutionError.self) {
            _ = try await ask(server, "missing.example", .ipv4)
        }
        #expect(missing?.description == "Domain name not found")
        let refused = await #expect(throws: ResolutionError.self) {
            let resolver = InterfaceResolver(servers: [], timeout: .milliseconds(100), port: 1)
            _ = try await resolver.addresses(of: "name.example", family: .ipv4, over: loopback)
        }
        #expect(refused?.description.isEmpty == false)
        var path = loopback
        path.nameServers = []
        let unknown = await #expect(throws: ResolutionError.self) {
            _ = try await InterfaceResolver().addresses(of: "name.example", family: .ipv4, over: path)
        }
        #expect(unknown?.description == "no name server is known for lo")
    }

    @Test("are not asked around the path: where it is gone, there is no answer")
    func otherPath() async throws {
        let server = try await NameServer(["--address=/name.example/192.0.2.7"])
        var path = loopback
        path.index = 4_000_000
        let error = await #expect(throws: ResolutionError.self) {
            let resolver = InterfaceResolver(servers: [], timeout: .milliseconds(100), port: server.port)
            _ = try await resolver.addresses(of: "name.example", family: .ipv4, over: path)
        }
        #expect(error?.description == "Could not contact DNS servers")
    }

    @Test(
        "are asked by hundreds of questions at once, which need no threads and leave no socket when cancelled"
    )
    func silent() async throws {
        let server = try LoopbackPort(SOCK_DGRAM)
        func threads() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        }
        /// Sockets of these questions: what other tests had open may end meanwhile.
        func sockets() throws -> Int {
            let other = String(format: ":%04X", Int(server.number))
            // `String(contentsOfFile:)` takes one page of such a file.
            let table = try FileHandle(forReadingAtPath: "/proc/self/net/udp")?.readToEnd() ?? Data()
            return String(decoding: table, as: UTF8.self).split(separator: "\n").count {
                let words = $0.split(separator: " ")
                return words.count > 2 && words[2].hasSuffix(other)
            }
        }
        // Threads that come with the first question, and stay.
        let first = try await NameServer(["--address=/name.example/192.0.2.7"])
        #expect(try await ask(first, "name.example", .ipv4) == ["192.0.2.7"])
        let before = try threads()
        let resolver = InterfaceResolver(servers: [], timeout: .seconds(30), port: server.number)
        let loopback = loopback
        let questions = Task {
            await withTaskGroup(of: String.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        do throws(ResolutionError) {
                            let host = "name\(number).example"
                            return "\(try await resolver.addresses(of: host, family: .ipv4, over: loopback))"
                        } catch {
                            return error.reason
                        }
                    }
                }
                return await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
        }
        try await Program.wait("all questions") { try sockets() == 300 }
        #expect(try threads() < before + 32)
        questions.cancel()
        #expect(await questions.value == ["cancelled"])
        #expect(try sockets() == 0)
    }

    @Test("may not answer at all: each is given up after its time")
    func timeout() async throws {
        let server = try LoopbackPort(SOCK_DGRAM)
        let resolver = InterfaceResolver(servers: [], timeout: .milliseconds(100), port: server.number)
        let started = ContinuousClock.now
        let error = await #expect(throws: ResolutionError.self) {
            _ = try await resolver.addresses(of: "name.example", family: .ipv4, over: loopback)
        }
        #expect(error?.description == "Timeout while contacting DNS servers")
        // Asked twice, the second time for longer.
        #expect((.milliseconds(250)..<(.seconds(10))).contains(ContinuousClock.now - started))
    }

    private func ask(
        _ server: NameServer, _ name: String, _ family: IPAddress.Family
    ) async throws -> [String] {
        let resolver = InterfaceResolver(servers: [], timeout: .seconds(2), port: server.port)
        return try await resolver.addresses(of: name, family: family, over: loopback).map(\.description)
    }
}
