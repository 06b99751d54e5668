import Foundation
import LinuxNet

/// A client of a real message bus that sends signals straight to other clients, whatever they are subscribed to.
final class BusForger {
    private let socket: CInt
    private var serial: UInt32 = 0

    /// - Parameter path: of the bus's socket.
    init(path: String) throws {
        socket = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw SystemError("connect to \(path)", errno: errno) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        // The uid is the one that the socket tells.
        send([0] + Array("AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n".utf8))
        for _ in 0..<2 { try skip(to: UInt8(ascii: "\n")) }
        callBus("Hello")
        try waitForBus()
    }

    deinit { close(socket) }

    /// Sends the signal to each of the unique names that a small bus has given away so far.
    func signal(
        _ path: String, _ member: String, of interface: String = "org.freedesktop.DBus.Properties",
        _ body: FakeBus.Answer
    ) {
        for name in 0..<40 {
            send(
                type: 4,
                [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", ":1.\(name)")],
                signature: body.signature, body.body)
        }
    }

    /// Returns when the bus has passed on everything sent before.
    func waitForBus() throws {
        callBus("GetId")
        // An id is 32 hexadecimal digits, the last thing in its answer; errors about unknown names come before.
        var digits = 0
        while digits < 32 {
            let byte = try read()
            digits = (48...57).contains(byte) || (97...102).contains(byte) ? digits + 1 : 0
        }
    }

    private func callBus(_ member: String) {
        send(
            type: 1,
            [
                (1, "o", "/org/freedesktop/DBus"), (2, "s", "org.freedesktop.DBus"), (3, "s", member),
                (6, "s", "org.freedesktop.DBus"),
            ], signature: "", [])
    }

    private func send(
        type: UInt8, _ fields: [(code: UInt8, type: String, value: String)], signature: String,
        _ body: [UInt8]
    ) {
        serial += 1
        send(
            BusWriter.message(
                type: type, serial: serial, fields: fields, replyTo: nil, signature: signature, body: body))
    }

    private func send(_ bytes: [UInt8]) {
        _ = Foundation.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func skip(to end: UInt8) throws { while try read() != end {} }

    private func read() throws -> UInt8 {
        var byte: UInt8 = 0
        guard recv(socket, &byte, 1, 0) == 1 else { throw SystemError("read from the bus", errno: errno) }
        return byte
    }
}
