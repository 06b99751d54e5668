// Requests and dumps over one netlink socket. This is the one place that matches answers by sequence number, starts an
// interrupted dump again (NLM_F_DUMP_INTR), gives up a socket whose answer was lost (ENOBUFS), and turns the kernel's
// refusals into errors with its own words (extended acknowledgements). See Documentation/userspace-api/netlink/intro.rst.
//
//     request ─► data … data ─► acknowledgement                       request()
//     dump    ─► data … data ─► done     interrupted: again           dump()
//     get     ─► data                    a refusal is an answer too   ask()

import CLinux
import Glibc
import PathCore

/// A netlink socket for requests, one at a time. Each call waits for the kernel's answer: the kernel gives it before the
/// request's own call returns, but a driver may take its time within that, and large tables take milliseconds.
package final class NetlinkConnection {
    private let bus: NetlinkBus
    private var socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0

    /// Sees all that dumps read.
    var tap: NetlinkTap?

    /// Datagrams whose last message was cut.
    private(set) var malformed = 0

    /// Dumps that a change interrupted.
    private(set) var interruptedDumps = 0

    package init(_ bus: NetlinkBus) throws(SystemError) {
        self.bus = bus
        socket = try Self.open(bus)
        // Dump datagrams grow only to the largest buffer they were read with, 32 KiB at most.
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
    }

    deinit { buffer.deallocate() }

    private static func open(_ bus: NetlinkBus) throws(SystemError) -> NetlinkSocket {
        let socket = try NetlinkSocket(bus)
        // An answer that never comes must not hold the thread for ever.
        try socket.setReceiveTimeout(seconds: 1)
        // Without strict checking rtnetlink ignores a dump's filter and sends everything.
        if bus == .route { try? socket.set(CInt(MP_NETLINK_GET_STRICT_CHK), to: 1, "strict checking") }
        try? socket.set(CInt(MP_NETLINK_EXT_ACK), to: 1, "extended acknowledgements")
        return socket
    }

    // MARK: Requests

    /// Sends one request and waits for its acknowledgement.
    ///
    /// - Parameter answer: called with each message that comes before it.
    /// - Throws: what the kernel answers, with its words; ETIMEDOUT where it doesn't within a second; ENOBUFS where its
    ///   answer was lost.
    package func request(
        _ operation: @autoclosure () -> String, _ type: UInt16, flags: UInt16 = 0,
        _ fill: (borrowing NetlinkRequest) -> Void, answer: (NetlinkMessage) -> Void = { _ in }
    ) throws(SystemError) {
        let request = makeRequest(type, flags | MessageFlags.acknowledge, fill)
        try send(request)
        _ = try readAnswer(operation, tap: nil) { message in
            answer(message)
            return .goOn
        }
    }

    enum Progress {
        case goOn
        /// The rest of the dump is not wanted.
        case enough
    }

    /// Reads a whole table, again from the start where a change interrupted it. On a machine where every dump is
    /// interrupted the last one counts: what changed meanwhile is announced, and leads here again.
    ///
    /// - Parameter restart: called before each attempt, to forget what the last one read.
    func dump(
        _ operation: @autoclosure () -> String, _ type: UInt16,
        _ fill: (borrowing NetlinkRequest) -> Void, restart: () -> Void, body: (NetlinkMessage) -> Progress
    ) throws(SystemError) {
        for attempt in 0..<Self.dumpAttempts {
            restart()
            tap?(.dump(isRepeated: attempt > 0))
            let request = makeRequest(type, MessageFlags.dump, fill)
            try send(request)
            if try readAnswer(operation, tap: tap, body) { return }
            interruptedDumps += 1
        }
    }

    private static let dumpAttempts = 10

    /// Sends a request that has one answer, data or a refusal, and reads that.
    func ask<Answer>(
        _ operation: @autoclosure () -> String, _ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void,
        body: (NetlinkAnswer) -> Answer
    ) throws(SystemError) -> Answer {
        let request = makeRequest(type, 0, fill)
        try send(request)
        var answer: Answer?
        while true {
            try readDatagram(operation, tap: nil) { message in
                if answer == nil, message.sequence == sequence { answer = body(NetlinkAnswer(message)) }
            }
            if let answer { return answer }
        }
    }

    /// Sends requests that have one answer each, and reads those, which come in the same order.
    ///
    /// Several go in one datagram: with thousands of interfaces the calls cost more than the answers.
    func ask<Subjects: RandomAccessCollection>(
        _ operation: @autoclosure () -> String, _ type: UInt16, about subjects: Subjects,
        _ fill: (Subjects.Element, borrowing NetlinkRequest) -> Void,
        body: (Subjects.Element, NetlinkAnswer) -> Void
    ) throws(SystemError) {
        var rest = subjects[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.requestsAtOnce)
            rest = rest.dropFirst(Self.requestsAtOnce)
            var bytes: [UInt8] = []
            for subject in batch {
                // Every request is a multiple of four bytes, as the next one's place must be.
                makeRequest(type, 0) { fill(subject, $0) }.withBytes { bytes += $0 }
            }
            try bytes.withUnsafeBufferPointer { bytes throws(SystemError) in
                try send(UnsafeRawBufferPointer(bytes))
            }
            let first = sequence &- UInt32(batch.count - 1)
            var answered = 0
            while answered < batch.count {
                try readDatagram(operation, tap: nil) { message in
                    guard answered < batch.count, message.sequence == first &+ UInt32(answered) else {
                        return
                    }
                    body(batch[batch.index(batch.startIndex, offsetBy: answered)], NetlinkAnswer(message))
                    answered += 1
                }
            }
        }
    }

    /// The answers wait in the socket's buffer, 5 KB each, and it may be small.
    private static let requestsAtOnce = 8

    // MARK: The loop

    /// Reads the latest request's answer to its end, even of a dump that was interrupted: what stays in the queue would
    /// answer the next request with EBUSY.
    ///
    /// - Returns: whether no change interrupted it.
    private func readAnswer(
        _ operation: () -> String, tap: NetlinkTap?, _ body: (NetlinkMessage) -> Progress
    ) throws(SystemError) -> Bool {
        var isInterrupted = false
        var end: Result<Progress, SystemError>?
        while end == nil {
            try readDatagram(operation, tap: tap) { message in
                guard message.sequence == sequence, end == nil else { return }
                if message.flags & MessageFlags.dumpInterrupted != 0 { isInterrupted = true }
                switch NetlinkAnswer(message) {
                case .data: if case .enough = body(message) { end = .success(.enough) }
                case .end: end = .success(.goOn)
                case .refusal(let refusal): end = .failure(refusal.error(operation()))
                }
            }
        }
        if case .enough = try end?.get() {
            // The kernel makes a dump as it is read, and ends it with its socket.
            socket = try Self.open(bus)
        }
        return !isInterrupted
    }

    /// Reads one datagram, message by message.
    private func readDatagram(
        _ operation: () -> String, tap: NetlinkTap?, _ body: (NetlinkMessage) -> Void
    ) throws(SystemError) {
        let datagram = try receive(operation)
        tap?(.datagram(datagram))
        let isWhole = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in body(message)
        }
        if !isWhole { malformed += 1 }
    }

    private func makeRequest(
        _ type: UInt16, _ flags: UInt16, _ fill: (borrowing NetlinkRequest) -> Void
    ) -> NetlinkRequest {
        sequence &+= 1
        let request = NetlinkRequest(type: type, flags: flags, sequence: sequence)
        fill(request)
        return request
    }

    private func send(_ request: borrowing NetlinkRequest) throws(SystemError) {
        try request.withBytes { bytes throws(SystemError) in try send(bytes) }
    }

    private func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        do throws(SystemError) { try socket.send(bytes) } catch { try renew(after: error) }
    }

    private func receive(_ operation: () -> String) throws(SystemError) -> UnsafeRawBufferPointer {
        do throws(SystemError) {
            if let datagram = try socket.receive(into: buffer) { return datagram }
        } catch {
            try renew(after: error)
        }
        try renew(after: SystemError(operation(), errno: ETIMEDOUT))
    }

    /// Takes a new socket, so that nothing that is left in the old one disturbs the next request.
    private func renew(after error: SystemError) throws(SystemError) -> Never {
        socket = try Self.open(bus)
        throw error
    }
}
