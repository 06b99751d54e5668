import Foundation
import Glibc
import LinuxNet
import PathCore
import TestSupport
import Testing

@testable import PathBroker

@Suite("The library's end of the broker")
struct ClientTests {
    @Test("a daemon that never stops talking holds up no other work, and is left alone")
    func flood() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("flood.sock")
        let listener = try LocalPackets.listen(at: path, mode: 0o600)
        let thread = EventThread(name: "flooded")
        let client = Locked<BrokerClient?>(nil)
        try thread.perform {
            let made = BrokerClient(on: thread, path: path, mostPackets: 500)
            made.start()
            client.withLock { $0 = made }
        }
        let socket = try LocalPackets.accept(on: listener)
        let namespace = try SocketOption.namespaceCookie()
        let welcome = BrokerMessage.welcome(
            id: 1, BrokerWelcome(namespace: namespace, boot: "b", limits: BrokerLimits()))
        try LocalPackets.send(welcome.packet, over: socket)
        let event = BrokerMessage.event(.closed(ConnectionToken(1))).packet
        let isOver = Locked(false)
        let number = socket.release()
        try OwnThread.start("flood") {
            let socket = Descriptor(owning: number)
            while !isOver.withLock({ $0 }) {
                do throws(SystemError) {
                    try LocalPackets.send(event, over: socket)
                } catch {
                    // Full for the moment; or it was closed at the other end.
                    if !error.isWouldBlock { return }
                }
            }
        }
        defer { isOver.withLock { $0 = true } }
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        var limit: ControlLimit?
        while limit != .brokerRefused("it floods"), MonotonicTime.now < deadline {
            let begun = MonotonicTime.now
            let found = Locked<ControlLimit?>(nil)
            try thread.perform { found.withLock { $0 = client.withLock { $0?.limit } } }
            #expect(begun.duration(to: .now) < .seconds(2))
            limit = found.withLock { $0 }
        }
        #expect(limit == .brokerRefused("it floods"))
    }
}
