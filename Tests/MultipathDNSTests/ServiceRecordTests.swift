import Foundation
import Multipath
import TestSupport
import Testing

@testable import MultipathDNS

@Suite("HTTPS records (RFC 9460)", .needs("dnsmasq"))
struct ServiceRecordTests {
    private let loopback = PathInterface(
        index: 1, name: "lo", type: Verdict(.loopback, .kernel), nameServers: [IPAddress("127.0.0.1")!])

    private func ask(_ server: NameServer, _ name: String, port: UInt16 = 443) async throws -> ServiceAnswer {
        try await InterfaceResolver(servers: [], timeout: .seconds(2), port: server.port)
            .serviceRecords(of: name, port: port, over: loopback)
    }

    @Test("are asked of the path's own servers, with what they say of protocols and addresses")
    func records() async throws {
        let server = try await NameServer([
            // 1 . alpn=h2 ipv4hint=192.0.2.1, and a parameter that is unknown.
            "--dns-rr=name.example,65,0001000001000302683200040004C0000201FDE8000109",
            // 2 cdn.example
            "--dns-rr=name.example,65,00020363646e076578616d706c6500",
        ])
        let answer = try await ask(server, "name.example")
        #expect(
            answer.records == [
                ServiceRecord(
                    priority: 1, applicationProtocols: ["h2", "http/1.1"],
                    addressHints: [IPAddress("192.0.2.1")!]),
                ServiceRecord(priority: 2, target: "cdn.example"),
            ])
    }

    @Test("for another port stand under another name")
    func otherPort() async throws {
        let server = try await NameServer(["--dns-rr=_8443._https.name.example,65,000100"])
        #expect(try await ask(server, "name.example", port: 8443).records == [ServiceRecord()])
        #expect(try await ask(server, "name.example").records.isEmpty)
    }

    @Test("need not be there")
    func none() async throws {
        let server = try await NameServer(["--address=/name.example/192.0.2.7"])
        #expect(try await ask(server, "name.example").records == [])
        #expect(try await ask(server, "name.example", port: 8443).records == [])
    }

    @Test("of which one is malformed are none")
    func malformed() async throws {
        let server = try await NameServer([
            "--dns-rr=name.example,65,000100", "--dns-rr=name.example,65,00010000030001",
        ])
        await #expect(throws: ResolutionError("the HTTPS records are malformed")) {
            _ = try await ask(server, "name.example")
        }
    }

    @Test("come with a time to live, as addresses do")
    func timeToLive() async throws {
        let server = try await NameServer([
            "--dns-rr=name.example,65,000100", "--host-record=name.example,192.0.2.7,77", "--auth-ttl=90",
        ])
        let resolver = InterfaceResolver(servers: [], timeout: .seconds(2), port: server.port)
        let addresses = try await resolver.answer(for: "name.example", family: .ipv4, over: loopback)
        #expect(addresses.timeToLive == .seconds(77))
        #expect(try await ask(server, "name.example").timeToLive != nil)
    }

    /// A message of one question about `a`, and one record.
    private func message(owner: [UInt8] = [0xC0, 12], type: UInt8 = 65, _ record: [UInt8]) -> [UInt8] {
        [0, 1, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0x61, 0, 0, 65, 0, 1] + owner + [
            0, type, 0, 1, 0, 0, 0, 60,
        ]
            + [UInt8(record.count >> 8), UInt8(record.count & 0xFF)] + record
    }

    private func read(_ bytes: [UInt8]) -> (records: [ServiceRecord], timeToLive: UInt32?)? {
        bytes.withUnsafeBytes { ServiceMessage.read($0) }
    }

    @Test("in a message that is cut short, or whose names lead in a circle, are none")
    func hostile() throws {
        let whole = message([0, 1, 0])
        #expect(try #require(read(whole)).records == [ServiceRecord()])
        for count in 0..<whole.count { #expect(read(Array(whole.prefix(count))) == nil) }
        // A name that is its own rest, and one that leads beyond the end.
        #expect(read(message(owner: [0xC0, 19], [0, 1, 0])) == nil)
        #expect(read(message(owner: [0xCF, 0xFF], [0, 1, 0])) == nil)
        #expect(read(message([0, 1, 0xC0, 0xFF])) == nil)
    }

    @Test("of another name were not asked for")
    func otherName() throws {
        #expect(try #require(read(message(owner: [1, 0x62, 0], [0, 1, 0]))).records.isEmpty)
    }

    @Test("in messages with any byte changed are read or refused, and never trap")
    func changed() {
        let whole = message([0, 1, 0, 0, 1, 0, 3, 2, 0x68, 0x32, 0, 4, 0, 4, 192, 0, 2, 1])
        for place in whole.indices {
            for value in UInt8.min...UInt8.max {
                var bytes = whole
                bytes[place] = value
                _ = read(bytes)
            }
        }
    }
}
