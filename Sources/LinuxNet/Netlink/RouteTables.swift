import CLinux
import Glibc
import PathCore

/// Asks rtnetlink for its tables, and how a packet would go. Each call waits for the kernel's answer, which
/// it gives in the same breath: a few microseconds, or milliseconds where the tables are large.
package final class RouteTables {
    private var socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0
    var decoder = RouteDecoder()
    private let devices: DeviceFiles
    package var tap: NetlinkTap?

    /// Dumps that a change interrupted, and that were asked for again.
    package private(set) var interrupted = 0

    package init(devices: DeviceFiles = DeviceFiles()) throws(SystemError) {
        self.devices = devices
        socket = try Self.open()
        // Dump datagrams grow only to the largest buffer they were read with, 32 KiB at most.
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
    }

    deinit { buffer.deallocate() }

    private static func open() throws(SystemError) -> NetlinkSocket {
        let socket = try NetlinkSocket()
        // The kernel answers at once, or not at all: whoever waits here keeps a whole thread waiting.
        try socket.setReceiveTimeout(seconds: 1)
        // Without strict checking the kernel ignores a dump's filter and sends everything.
        try? socket.set(CInt(MP_NETLINK_GET_STRICT_CHK), to: 1, "strict checking")
        try? socket.set(CInt(MP_NETLINK_EXT_ACK), to: 1, "extended acknowledgements")
        return socket
    }

    /// Messages that could not be read.
    package var malformed: Int { decoder.malformed }

    package func links() throws(SystemError) -> [LinkFact] {
        var links: [LinkFact] = []
        try dump("the links", RouteMessageType.getLink) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            request.put(UInt16(IFLA_EXT_MASK), 1 << 3)  // RTEXT_FILTER_SKIP_STATS
        } restart: {
            links = []
        } body: { message in
            if case .link(let link) = decoder.fact(in: message) { links.append(link) }
            return .goOn
        }
        return links.map { devices.completed($0) }
    }

    package func addresses() throws(SystemError) -> [AddressFact] {
        var addresses: [AddressFact] = []
        try dump("the addresses", RouteMessageType.getAddress) { request in
            request.putFixedPart(ifaddrmsg.self) { _ in }
        } restart: {
            addresses = []
        } body: { message in
            if case .address(let address) = decoder.fact(in: message) { addresses.append(address) }
            return .goOn
        }
        return addresses
    }

    // MARK: Requests

    /// Sends a request that has one answer, and reads that.
    func ask<Answer>(
        _ what: StaticString, _ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void,
        body: (NetlinkMessage) -> Answer
    ) throws(SystemError) -> Answer {
        sequence &+= 1
        let request = NetlinkRequest(type: type, flags: 0, sequence: sequence)
        fill(request)
        do throws(SystemError) { try socket.send(request) } catch { try renew(after: error) }
        var answer: Answer?
        while answer == nil {
            _ = try NetlinkMessage.forEach(in: try receive(what)) { message throws(SystemError) in
                if answer == nil, message.sequence == sequence { answer = body(message) }
            }
        }
        return answer!
    }

    /// Sends requests that have one answer each, and reads those, which come in the same order.
    ///
    /// Several go in one datagram: with thousands of interfaces the calls cost more than the answers.
    func ask<Subjects: RandomAccessCollection>(
        _ what: StaticString, _ type: UInt16, about subjects: Subjects,
        _ fill: (Subjects.Element, borrowing NetlinkRequest) -> Void,
        body: (Subjects.Element, NetlinkMessage) -> Void
    ) throws(SystemError) {
        var rest = subjects[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.requestsAtOnce)
            rest = rest.dropFirst(Self.requestsAtOnce)
            var bytes: [UInt8] = []
            for subject in batch {
                sequence &+= 1
                let request = NetlinkRequest(type: type, flags: 0, sequence: sequence)
                fill(subject, request)
                bytes += request.bytes
            }
            try send(bytes)
            let first = sequence &- UInt32(batch.count - 1)
            var answered = 0
            while answered < batch.count {
                _ = try NetlinkMessage.forEach(in: try receive(what)) { message throws(SystemError) in
                    guard answered < batch.count, message.sequence == first &+ UInt32(answered) else {
                        return
                    }
                    body(batch[batch.index(batch.startIndex, offsetBy: answered)], message)
                    answered += 1
                }
            }
        }
    }

    /// The answers wait in the socket's buffer, 5 KB each, and it may be small.
    private static let requestsAtOnce = 8

    enum Progress {
        case goOn
        /// The rest of the dump is not wanted.
        case enough
    }

    /// Dumps one table, again from the start where a change interrupted it.
    func dump(
        _ what: StaticString, _ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void,
        restart: () -> Void, body: (NetlinkMessage) -> Progress
    ) throws(SystemError) {
        // An interrupted dump may lack entries. On a machine where every dump is interrupted the last one is
        // taken: what changed meanwhile has been announced, and leads here again.
        for attempt in 0..<Self.dumpAttempts {
            restart()
            tap?(.dump(isRepeated: attempt > 0))
            sequence &+= 1
            let request = NetlinkRequest(type: type, flags: MessageFlags.dump, sequence: sequence)
            fill(request)
            try send(Array(request.bytes))
            if try !receiveDump(what, body) { return }
            interrupted += 1
        }
    }

    private static let dumpAttempts = 10

    /// Reads to the dump's end, even of one that was interrupted: what stays in the queue would answer the
    /// next request with EBUSY. Where the rest is not wanted, the socket goes with it.
    /// - Returns: whether it was interrupted.
    private func receiveDump(
        _ what: StaticString, _ body: (NetlinkMessage) -> Progress
    ) throws(SystemError) -> Bool {
        var wasInterrupted = false
        var isDone = false
        var isEnough = false
        var failure: SystemError?
        while !isDone {
            let datagram = try receive(what)
            tap?(.datagram(datagram))
            _ = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                guard message.sequence == sequence, !isEnough else { return }
                if message.flags & MessageFlags.dumpInterrupted != 0 { wasInterrupted = true }
                switch message.type {
                case RouteMessageType.done:
                    isDone = true
                    // A dump's own error stands in DONE.
                    if let code = message.payload.number(Int32.self), code < 0, code != .min {
                        failure = SystemError("read \(what)", errno: -code)
                    }
                case RouteMessageType.error:
                    isDone = true
                    let error = NetlinkAnswer.error(in: message)
                    failure = SystemError(
                        "read \(what)", errno: error?.errno ?? EPROTO, detail: error?.detail)
                default:
                    if case .enough = body(message) { isEnough = true }
                }
            }
            if isEnough, !isDone {
                // The kernel makes a dump as it is read, and ends it when nobody can read it any more.
                socket = try Self.open()
                return wasInterrupted
            }
        }
        // A table that nothing was ever put into does not exist, and is empty.
        if let failure, failure.errno != ENOENT { try renew(after: failure) }
        return wasInterrupted
    }

    private func send(_ bytes: [UInt8]) throws(SystemError) {
        do throws(SystemError) {
            // Every request is a multiple of four bytes, as the next one's place must be.
            try bytes.withUnsafeBufferPointer { bytes throws(SystemError) in
                try socket.send(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            try renew(after: error)
        }
    }

    private func receive(_ what: StaticString) throws(SystemError) -> UnsafeRawBufferPointer {
        do throws(SystemError) {
            if let datagram = try socket.receive(into: buffer) { return datagram }
        } catch {
            try renew(after: error)
        }
        try renew(after: SystemError("read \(what)", errno: ETIMEDOUT))
    }

    /// Takes a new socket, so that nothing that is left in the old one disturbs the next request.
    private func renew(after error: SystemError) throws(SystemError) -> Never {
        socket = try Self.open()
        throw error
    }
}
