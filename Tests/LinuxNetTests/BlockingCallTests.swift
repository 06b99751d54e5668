import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Blocking calls", .needsNamespaces, .needs("unshare", "mount"))
struct BlockingCallTests {
    @Test("for names whose servers never answer hold up no other name's", .inNamespace)
    func deadNames() async throws {
        let folder = try TemporaryFolder()
        // A server that takes questions and says nothing.
        let silent = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(silent) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(53).bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(silent, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(status == 0)
        try folder.write("nameserver 127.0.0.1\noptions timeout:20 attempts:1\n", to: "resolv.conf")
        try folder.write("hosts: files dns\n", to: "nsswitch.conf")
        try folder.write("192.0.2.1 alive.example\n", to: "hosts")
        for file in ["resolv.conf", "nsswitch.conf", "hosts"] {
            let result = try await Program.run(["mount", "--bind", folder.file(file), "/etc/\(file)"])
            #expect(result.status == 0, "\(result.errors)")
        }
        for number in 0..<8 {
            for family in IPAddress.Family.allCases {
                NameLookup.addresses(of: "dead\(number).example", family) { _ in }
            }
        }
        let start = MonotonicTime.now
        let found = try await NameLookup.addresses(of: "alive.example", .ipv4)
        let time = start.duration(to: .now)
        print("measured: a name of /etc/hosts took \(time) beside eight dead ones")
        #expect(found.map(\.description) == ["192.0.2.1"])
        #expect(time < .seconds(5))
    }

    @Test("fail where there is no thread for them, and the next one works")
    func noThread() async throws {
        let allowed = Locked(0)
        let calls = BlockingCalls(limit: 2) { body in
            let isAllowed = allowed.withLock { allowed in
                defer { allowed -= 1 }
                return allowed > 0
            }
            return isAllowed ? BlockingCalls.makeThread(body) : EAGAIN
        }
        let error = await #expect(throws: SystemError.self) { _ = try await calls.run { 1 } }
        #expect(error == SystemError("make a thread", errno: EAGAIN))
        allowed.withLock { $0 = 1 }
        // One thread serves both.
        async let first = calls.run { 2 }
        async let second = calls.run { 3 }
        #expect(try await [first, second] == [2, 3])
    }
}
