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

/// Asks families of generic netlink, and has them do things.
final class GenericNetlink {
    private let netlink: NetlinkConnection
    private var unreadable = 0

    init() throws(SystemError) { netlink = try NetlinkConnection(.generic) }

    /// Messages that could not be read.
    var malformed: Int { unreadable + netlink.malformed }

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
        try netlink.request(operation(), family.identifier) { request in
            request.put(command, of: family)
            fill(request)
        } answer: { message in
            if let message = read(message, family) { answer(message) }
        }
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
        try netlink.dump(operation(), family.identifier) { request in
            request.put(command, of: family)
            fill(request)
        } restart: {
            elements = []
        } body: { message in
            if let element = read(message, family).flatMap(decode) { elements.append(element) }
            return .goOn
        }
        return elements
    }

    private func read(_ message: NetlinkMessage, _ family: GenericFamily) -> GenericMessage? {
        let read = message.type == family.identifier ? GenericMessage(message) : nil
        if read == nil { unreadable += 1 }
        return read
    }
}

extension NetlinkRequest {
    /// struct genlmsghdr.
    fileprivate func put(_ command: UInt8, of family: GenericFamily) {
        putFixedPart(genlmsghdr.self) {
            $0.cmd = command
            $0.version = family.version
        }
    }
}

/// The socket on which a family announces what happens.
final class GenericNotifications {
    private let subscription: NetlinkSubscription
    private let family: GenericFamily

    /// Messages that could not be read.
    private(set) var malformed = 0

    /// - Parameter commands: messages with these are dropped before they wake a thread.
    /// - Throws: ENOENT where the family has no such group, EPERM where it is for administrators only.
    init(
        _ family: GenericFamily, groups: [String], without commands: [UInt8] = []
    ) throws(SystemError) {
        self.family = family
        var numbers: [UInt32] = []
        for name in groups {
            guard let group = family.groups[name] else {
                throw SystemError("join \(family.name)'s group \(name)", errno: ENOENT)
            }
            numbers.append(group)
        }
        subscription = try NetlinkSubscription(
            .generic, groups: numbers, filter: commands.isEmpty ? nil : Self.filter(without: commands))
    }

    /// From now on other messages are dropped.
    func hide(_ commands: [UInt8]) throws(SystemError) {
        try subscription.attachFilter(Self.filter(without: commands))
    }

    private static func filter(without commands: [UInt8]) -> [sock_filter] {
        // genlmsghdr.cmd
        var program = [sock_filter(code: UInt16(BPF_LD | BPF_B | BPF_ABS), jt: 0, jf: 0, k: 16)]
        for (place, command) in commands.enumerated() {
            // To the last instruction, which drops.
            let distance = UInt8(commands.count - place)
            program.append(
                sock_filter(
                    code: UInt16(BPF_JMP | BPF_JEQ | BPF_K), jt: distance, jf: 0, k: UInt32(command)))
        }
        program.append(sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max))
        program.append(sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0))
        return program
    }

    /// For waiting until it is readable.
    var descriptor: CInt { subscription.descriptor }

    /// Reads what is waiting, but no more than a storm's share: the rest makes the descriptor readable again.
    /// - Returns: whether the kernel dropped some because the queue was full, told once the queue is empty.
    func drain(_ body: (GenericMessage) -> Void) throws(SystemError) -> Bool {
        try subscription.drain { datagram in
            let isWhole = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                guard message.type == family.identifier, let message = GenericMessage(message) else {
                    malformed += 1
                    return
                }
                body(message)
            }
            if isWhole != true { malformed += 1 }
        }
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
