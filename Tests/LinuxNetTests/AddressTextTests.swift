import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Addresses as text")
struct AddressTextTests {
    /// What the C library writes.
    private func reference(_ address: IPAddress) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        inet_ntop(family, address.networkBytes, &buffer, socklen_t(buffer.count))
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func isAccepted(_ text: String) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }

    @Test("are written as the C library writes them, and read back")
    func writing() {
        var random = SplitMix64(seed: 5952)
        for _ in 0..<20_000 {
            // Many zero groups, for the sake of "::"; the C library writes the deprecated ::a.b.c.d otherwise.
            let groups = (0..<8).map { _ in
                random.next() % 2 == 0 ? 0 : UInt8.random(in: 1...255, using: &random)
            }
            let address = IPAddress(networkBytes: [0x20, 1] + groups.flatMap { [0, $0] }.dropFirst(2))
            #expect(address.map { "\($0)" } == address.map(reference))
            #expect(address.flatMap { IPAddress("\($0)") } == address)
        }
    }

    @Test("are refused where the C library refuses them")
    func refusing() {
        var random = SplitMix64(seed: 4291)
        let alphabet = Array("01fF:.:%")
        for _ in 0..<50_000 {
            let text = String((0..<Int(random.next() % 12)).map { _ in alphabet[Int(random.next() % 7)] })
            #expect((IPAddress(text) != nil) == isAccepted(text), "\(text)")
        }
    }
}
