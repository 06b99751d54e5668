// Generic netlink: families of the kernel's that have a name, and get a number when they are loaded
// (net/netlink/genetlink.c). nl80211 is one, mptcp_pm another.

import CLinux
import Glibc

/// A family as this kernel has numbered it.
struct GenericFamily: Sendable, Hashable {
    var name: String
    /// What stands as the type of its messages.
    var identifier: UInt16
    var version: UInt8
    /// Its multicast groups, by name.
    var groups: [String: UInt32]
}

/// A message of a family: its command, and the attributes behind.
struct GenericMessage {
    let command: UInt8
    let attributes: NetlinkAttributes

    /// nil for a message that ends within struct genlmsghdr.
    init?(_ message: NetlinkMessage) {
        guard message.payload.count >= Self.headerLength, let command = message.payload.number(UInt8.self)
        else { return nil }
        self.command = command
        attributes = NetlinkAttributes(message.payload, after: Self.headerLength)
    }

    private static let headerLength = 4
}

/// Asks families of generic netlink, and has them do things. Each call waits for the kernel's answer: the
/// kernel gives it before the request's own call returns, but a driver may take its time within that.
final class GenericNetlink {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0

    /// Messages that could not be read.
    private(set) var malformed = 0

    init() throws(SystemError) {
        socket = try NetlinkSocket(bus: NETLINK_GENERIC)
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
        // An answer that never comes must not hold the thread for ever.
        try socket.setReceiveTimeout(seconds: 1)
        try? socket.set(CInt(MP_NETLINK_EXT_ACK), to: 1, "extended acknowledgements")
    }

    deinit { buffer.deallocate() }

    /// Finds a family. The kernel loads its module, where there is one and that is allowed.
    /// - Throws: ENOENT where this kernel has none of that name.
    func family(_ name: String) throws(SystemError) -> GenericFamily {
        var found: GenericFamily?
        let controller = GenericFamily(
            name: "nlctrl", identifier: GenericController.identifier, version: 1, groups: [:])
        try request("find the netlink family \(name)", controller, GenericController.getFamily) { request in
            request.put(GenericController.familyName, Array(name.utf8) + [0])
        } answer: { message in
            found = found ?? GenericFamily(message)
        }
        guard let found else { throw SystemError("find the netlink family \(name)", errno: EPROTO) }
        return found
    }

    /// Sends one request and waits for its acknowledgement.
    ///
    /// - Parameter answer: called with each message that comes before it.
    /// - Throws: what the kernel answers, with its words; ETIMEDOUT where it doesn't within a second.
    func request(
        _ operation: @autoclosure () -> String, _ family: GenericFamily, _ command: UInt8,
        _ fill: (borrowing NetlinkRequest) -> Void = { _ in },
        answer: (GenericMessage) -> Void = { _ in }
    ) throws(SystemError) {
        _ = try exchange(operation(), family, command, MessageFlags.acknowledge, fill, answer)
    }

    /// Reads a whole list, again from the start where a change interrupted it.
    ///
    /// - Parameter decode: makes an element of a message; nil leaves it out.
    func dump<Element>(
        _ operation: @autoclosure () -> String, _ family: GenericFamily, _ command: UInt8,
        _ fill: (borrowing NetlinkRequest) -> Void = { _ in },
        decode: (GenericMessage) -> Element?
    ) throws(SystemError) -> [Element] {
        var elements: [Element] = []
        // On a machine where every dump is interrupted the last one is taken.
        for _ in 0..<Self.dumpAttempts {
            elements = []
            let wasInterrupted = try exchange(operation(), family, command, MessageFlags.dump, fill) {
                if let element = decode($0) { elements.append(element) }
            }
            if !wasInterrupted { break }
        }
        return elements
    }

    private static let dumpAttempts = 10

    /// - Returns: whether it was a dump that a change interrupted.
    private func exchange(
        _ operation: @autoclosure () -> String, _ family: GenericFamily, _ command: UInt8, _ flags: UInt16,
        _ fill: (borrowing NetlinkRequest) -> Void, _ body: (GenericMessage) -> Void
    ) throws(SystemError) -> Bool {
        sequence &+= 1
        let request = NetlinkRequest(type: family.identifier, flags: flags, sequence: sequence)
        request.putFixedPart(genlmsghdr.self) {
            $0.cmd = command
            $0.version = family.version
        }
        fill(request)
        try socket.send(request)
        var wasInterrupted = false
        var isDone = false
        // To the end even after an error: what stays in the queue would be taken for the next answer.
        var failure: SystemError?
        while !isDone {
            guard let datagram = try socket.receive(into: buffer) else {
                throw SystemError(operation(), errno: ETIMEDOUT)
            }
            let isWhole = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                guard message.sequence == sequence else { return }
                if message.flags & MessageFlags.dumpInterrupted != 0 { wasInterrupted = true }
                switch message.type {
                case RouteMessageType.done:
                    isDone = true
                    if let error = NetlinkAnswer.failure(inEndOf: message) {
                        failure = SystemError(operation(), errno: error.errno, detail: error.detail)
                    }
                case RouteMessageType.error:
                    isDone = true
                    let error = NetlinkAnswer.error(in: message) ?? (EPROTO, nil)
                    if error.errno != 0 {
                        failure = SystemError(operation(), errno: error.errno, detail: error.detail)
                    }
                default:
                    if message.type == family.identifier, let message = GenericMessage(message) {
                        body(message)
                    } else {
                        malformed += 1
                    }
                }
            }
            if !isWhole { malformed += 1 }
        }
        if let failure { throw failure }
        return wasInterrupted
    }
}

/// The socket on which a family announces what happens.
final class GenericNotifications {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private let family: GenericFamily

    /// Messages that could not be read.
    private(set) var malformed = 0

    /// - Parameter command: messages with it wake nobody.
    /// - Throws: ENOENT where the family has no such group, EPERM where it is for administrators only.
    init(
        _ family: GenericFamily, groups: [String], without command: UInt8? = nil
    ) throws(SystemError) {
        self.family = family
        socket = try NetlinkSocket(bus: NETLINK_GENERIC, nonBlocking: true)
        buffer = .allocate(byteCount: 32 * 1024, alignment: 16)
        // Before the first group is joined, so that nothing slips in.
        if let command { try socket.attachFilter(Self.filter(without: command)) }
        for name in groups {
            guard let group = family.groups[name] else {
                throw SystemError("join \(family.name)'s group \(name)", errno: ENOENT)
            }
            try socket.join(group)
        }
    }

    deinit { buffer.deallocate() }

    private static func filter(without command: UInt8) -> [sock_filter] {
        [
            // genlmsghdr.cmd
            sock_filter(code: UInt16(BPF_LD | BPF_B | BPF_ABS), jt: 0, jf: 0, k: 16),
            sock_filter(code: UInt16(BPF_JMP | BPF_JEQ | BPF_K), jt: 0, jf: 1, k: UInt32(command)),
            sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0),
            sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max),
        ]
    }

    /// Whether a loss is still to be told.
    private var hasLost = false

    /// For waiting until it is readable.
    var descriptor: CInt { socket.descriptor }

    /// Takes what is waiting, but no more than a storm's share: the rest makes the descriptor readable again.
    /// - Returns: whether the kernel dropped some because the queue was full. It goes on doing so, and says it only once,
    ///   until the queue has been empty (netlink_overrun, net/netlink/af_netlink.c): not before that is this told.
    func drain(_ body: (GenericMessage) -> Void) throws(SystemError) -> Bool {
        for _ in 0..<256 {
            do throws(SystemError) {
                guard let datagram = try socket.receive(into: buffer) else {
                    defer { hasLost = false }
                    return hasLost
                }
                let isWhole = try NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                    guard message.type == family.identifier, let message = GenericMessage(message) else {
                        malformed += 1
                        return
                    }
                    body(message)
                }
                if !isWhole { malformed += 1 }
            } catch {
                guard error.errno == ENOBUFS || error.errno == ENOSPC else { throw error }
                hasLost = true
            }
        }
        return false
    }
}

extension GenericFamily {
    /// What the controller says of a family; nil where the number is missing.
    init?(_ message: GenericMessage) {
        guard message.command == GenericController.newFamily else { return nil }
        var identifier: UInt16?
        var family = GenericFamily(name: "", identifier: 0, version: 0, groups: [:])
        message.attributes.visit { type, value in
            switch type {
            case GenericController.familyIdentifier: identifier = value.number()
            case GenericController.familyName: family.name = value.text
            case GenericController.version:
                family.version = UInt8(truncatingIfNeeded: value.number(UInt32.self) ?? 0)
            case GenericController.groups:
                NetlinkAttributes(value).visit { _, group in family.readGroup(NetlinkAttributes(group)) }
            default: break
            }
        }
        guard let identifier else { return nil }
        family.identifier = identifier
        self = family
    }

    private mutating func readGroup(_ attributes: NetlinkAttributes) {
        var name: String?
        var number: UInt32?
        attributes.visit { type, value in
            switch type {
            case GenericController.groupName: name = value.text
            case GenericController.groupIdentifier: number = value.number()
            default: break
            }
        }
        if let name, let number { groups[name] = number }
    }
}
