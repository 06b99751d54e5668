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

    @Test("leave no descriptor of their sender behind, where whoever shares the socket has asked for that")
    func processDescriptors() throws {
        var pair: [CInt] = [-1, -1]
        _ = socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0, &pair)
        let sender = Descriptor(owning: pair[0])
        let receiver = Descriptor(owning: pair[1])
        var yes: CInt = 1
        // SO_PASSPIDFD of asm-generic/socket.h; kernels before 6.5 know none.
        let isKnown =
            setsockopt(receiver.number, SOL_SOCKET, 76, &yes, socklen_t(MemoryLayout<CInt>.size)) == 0
        func processDescriptors() -> Int {
            (0..<1024).count { number in
                var name = [CChar](repeating: 0, count: 64)
                return readlink("/proc/self/fd/\(number)", &name, 63) > 0
                    && String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                        .contains("pidfd")
            }
        }
        let before = processDescriptors()
        for _ in 0..<20 {
            try LocalPackets.send([1], over: sender)
            _ = try LocalPackets.receive(from: receiver, limit: 1, waits: false)
        }
        // Other tests of this process have some of their own.
        if isKnown { #expect(processDescriptors() < before + 10) }
    }

    /// A pipe, and whether no process can write to it any more.
    private struct WatchedPipe: ~Copyable {
        let reader, writer: Descriptor

        init() {
            var pair: [CInt] = [-1, -1]
            _ = pipe(&pair)
            for number in pair { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
            reader = Descriptor(owning: pair[0])
            writer = Descriptor(owning: pair[1])
        }

        /// Closes this process's own writer.
        consuming func keepReader() -> Descriptor { reader }

        /// A process that another test starts may have it until it runs its program.
        static func isClosed(_ reader: borrowing Descriptor, within limit: CInt = 0) -> Bool {
            var state = pollfd(fd: reader.number, events: 0, revents: 0)
            return poll(&state, 1, limit) == 1 && state.revents & Int16(POLLHUP) != 0
        }
    }

    @Test("an envelope's descriptor is the first one's who opens it, or takes it back")
    func envelopes() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/socket"
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        let client = try LocalPackets.connect(to: path)
        let accepted = try LocalPackets.accept(on: listener)
        func open() throws -> String {
            guard let packet = try LocalPackets.receive(from: accepted, limit: 1, waits: false) else {
                return "end"
            }
            var descriptors = packet.takeDescriptors()
            guard let envelope = descriptors.takeLast() else { return "nothing" }
            guard let content = DescriptorEnvelope.open(envelope) else { return "withdrawn" }
            return SocketOption.get(content.number, SOL_SOCKET, SO_DOMAIN) == AF_UNIX
                ? "a local socket" : "a file"
        }

        let pipe = WatchedPipe()
        let envelope = try DescriptorEnvelope(pipe.writer.number)
        try LocalPackets.send([1], passing: envelope.number, over: client)
        let reader = pipe.keepReader()
        let isClosedBefore = WatchedPipe.isClosed(reader)
        #expect(!isClosedBefore, "it is on its way")
        envelope.withdraw()
        let isClosed = WatchedPipe.isClosed(reader, within: 20_000)
        #expect(isClosed)
        #expect(try open() == "withdrawn")

        let opened = try DescriptorEnvelope(0)
        try LocalPackets.send([1], passing: opened.number, over: client)
        #expect(try open() == "a file")
        opened.withdraw()

        // What is no envelope is as it came.
        try LocalPackets.send([1], passing: 0, over: client)
        #expect(try open() == "a file")
        try LocalPackets.send([1], passing: client.number, over: client)
        #expect(try open() == "a local socket")
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
