import Multipath
import Testing

@testable import CommandSupport

@Suite("mpconnect --resolve")
struct ResolveArgumentTests {
    @Test("takes what curl takes: several addresses, IPv6 with and without brackets")
    func valid() throws {
        let argument = try ResolveArgument(
            parsing: "Server.example:443:192.0.2.1,[2001:db8::1],2001:db8::2")
        #expect(argument.host == "Server.example")
        #expect(argument.port == 443)
        #expect(argument.addresses.map(\.description) == ["192.0.2.1", "2001:db8::1", "2001:db8::2"])
    }

    @Test(
        "says what is wrong",
        arguments: [
            ("server.example", "'server.example' is not of the form HOST:PORT:ADDRESS"),
            ("server.example:443", "'server.example:443' is not of the form HOST:PORT:ADDRESS"),
            (":443:192.0.2.1", "':443:192.0.2.1' is not of the form HOST:PORT:ADDRESS"),
            ("a:+1:192.0.2.1", "'+1' in 'a:+1:192.0.2.1' is no port"),
            ("a:0:192.0.2.1", "'0' in 'a:0:192.0.2.1' is no port"),
            ("a:1:192.0.2.1,", "'' in 'a:1:192.0.2.1,' is no address"),
            ("a:1:[192.0.2.1]", "'[192.0.2.1]' in 'a:1:[192.0.2.1]' is no address"),
            ("192.0.2.1:1:192.0.2.2", "'192.0.2.1' is an address already; --resolve is for names"),
        ])
    func malformed(_ text: String, _ words: String) {
        let error = #expect(throws: ResolveArgument.Malformed.self) { try ResolveArgument(parsing: text) }
        #expect(error?.description == words)
    }

    @Test("answers for its own port only, and together with others of the same name")
    func resolver() async throws {
        let arguments = try ["a.example:443:192.0.2.1", "A.example:443:192.0.2.2", "a.example:80:192.0.2.3"]
            .map { try ResolveArgument(parsing: $0) }
        func resolver(_ port: UInt16) -> any Resolver {
            ResolveArgument.resolver(
                arguments, for: HostPort(host: "a.example", port: port), otherwise: SystemResolver())
        }
        let addresses = try await resolver(443).addresses(of: "a.EXAMPLE", family: .ipv4, over: nil)
        #expect(addresses.map(\.description) == ["192.0.2.1", "192.0.2.2"])
        #expect(resolver(81) is SystemResolver)
    }
}
