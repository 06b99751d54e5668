import PathCore
import Testing

@testable import LinuxNet

@Suite("The kernel's tables")
struct RouteTablesTests {
    @Test("hold the loopback link with its address")
    func loopback() throws {
        let tables = try RouteTables()
        let link = try #require(try tables.links().first { $0.flags.contains(.loopback) })
        #expect(link.name == "lo")
        #expect(InterfaceClassifier.classify(link) == Verdict(.loopback, .kernel))
        let addresses = try tables.addresses().filter { $0.interface == link.index }.map(\.address)
        #expect(addresses.contains(IPAddress(ipv4: 0x7F00_0001)))
        #expect(tables.malformed == 0)
    }

    @Test("lead a local address to loopback, whichever interface asks")
    func localRoute() throws {
        let tables = try RouteTables()
        let lo = try #require(try tables.links().first { $0.flags.contains(.loopback) }).index
        #expect(try tables.route(to: IPAddress(ipv4: 0x7F00_0001), through: nil) == .local(lo))
        #expect(try tables.route(to: IPAddress(ipv6: 0, 1), through: nil) == .local(lo))
    }

    @Test("answer for an interface that does not exist with the kernel's words")
    func noInterface() throws {
        let answer = try RouteTables().route(to: IPAddress(ipv4: 0xC000_0201), through: 0x7FFF_FFFF)
        guard case .unreachable(let words) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(!words.isEmpty)
    }
}
