import Foundation
import PathCore
import Testing

@Suite("A coded value")
struct CodingTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func decoded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test(
        "of an endpoint is its text",
        arguments: ["192.0.2.1:443", "[2001:db8::1]:0", "[fe80::1%3]:65535", "[::ffff:192.0.2.1]:80"])
    func endpoint(_ text: String) throws {
        let endpoint = try #require(IPEndpoint(text))
        #expect("\(endpoint)" == text)
        #expect(try json([endpoint]) == "[\"\(text)\"]")
        #expect(try decoded([endpoint]) == [endpoint])
        #expect(try decoded([endpoint.address]) == [endpoint.address])
    }

    @Test(
        "of an endpoint is refused without a port, without the brackets of IPv6, and with those for IPv4",
        arguments: [
            "", "192.0.2.1", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:+1", "[192.0.2.1]:1",
            "2001:db8::1:80",
            "[2001:db8::1]", "host:1", "[]:1", ":1",
        ])
    func noEndpoint(_ text: String) {
        #expect(IPEndpoint(text) == nil)
        let data = Data("[\"\(text)\"]".utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([IPEndpoint].self, from: data) }
    }

    @Test("of a level of control tells level, limit and the limit's words")
    func control() throws {
        let limits: [ControlLimit] = [
            .noMPTCP, .mptcpDisabled, .noPrivilege, .elevatedProgram, .oldKernel, .settingUnjournalled,
            .settingBusy, .brokerSilent,
            .foreignSocket, .plainTCP, .notRequested,
            .settingReadOnly(path: "/proc/sys/net/mptcp/path_manager", reason: "Read-only file system"),
            .failed("genl: Operation not permitted"),
        ]
        var levels = [ControlLevel.perConnection]
        levels += limits.flatMap { [.systemWide(because: $0), .observeOnly(because: $0)] }
        #expect(try decoded(levels) == levels)
        #expect(
            try json(ControlLevel.observeOnly(because: .noMPTCP))
                == #"{"control":"observe_only","control_limit":"no_mptcp","control_reason":"the kernel has no MPTCP"}"#
        )
        #expect(
            try json(levels[0])
                == #"{"control":"per_connection","control_limit":null,"control_reason":null}"#)
    }
}
