import Glibc
import LinuxNet
import TestSupport
import Testing

@Suite("Packets between processes")
struct LocalPacketsTests {
    /// A descriptor that waits in a socket is closed with it, which may take as long as its sender likes.
    @Test("carry descriptors to those alone who let them", .enabled(if: Self.canRefuse))
    func passing() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/socket"
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        LocalPackets.allowDescriptors(false, on: listener)
        let client = try LocalPackets.connect(to: path)
        #expect(
            errno(of: { () throws(SystemError) in
                try LocalPackets.send([1], passing: 0, over: client)
            }) == EPERM)
        try LocalPackets.send([2], over: client)

        let accepted = try LocalPackets.accept(on: listener)
        #expect(
            errno(of: { () throws(SystemError) in
                try LocalPackets.send([3], passing: 0, over: client)
            }) == EPERM)
        LocalPackets.allowDescriptors(true, on: accepted)
        try LocalPackets.send([4], passing: 0, over: client)

        var seen: [[UInt8]] = []
        var counts: [Int] = []
        for _ in 0..<2 {
            guard let packet = try LocalPackets.receive(from: accepted, limit: 16, waits: false) else {
                Issue.record("the end")
                break
            }
            seen.append(packet.bytes)
            counts.append(packet.takeDescriptors().count)
        }
        #expect(seen == [[2], [4]])
        #expect(counts == [0, 1])
    }

    private func errno(of body: () throws(SystemError) -> Void) -> CInt? {
        do throws(SystemError) {
            try body()
            return nil
        } catch {
            return error.errno
        }
    }

    /// Linux 6.16.
    private static var canRefuse: Bool {
        guard let folder = try? TemporaryFolder(),
            let listener = try? LocalPackets.listen(at: "\(folder.path)/socket", mode: 0o600)
        else { return false }
        return LocalPackets.allowDescriptors(true, on: listener)
    }
}
