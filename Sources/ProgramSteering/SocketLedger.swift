// What became of each socket of a program, as far as its calls tell. The end of a socket is no call that is seen: those that were
// never connected are forgotten when there are too many, and so are connections that have ended.

import Multipath

/// A program's socket.
package struct ProgramSocket: Sendable, Hashable {
    /// How far it has come.
    package enum State: Sendable, Hashable {
        /// The program has it.
        case made
        /// The program has told it to connect.
        case connecting
        /// No path that is allowed led there.
        case refused
        /// The handshake came to nothing.
        case failed
        /// The program has closed it before it was looked at.
        case brief
        case connected(Transport)
    }

    /// The kernel's number for it, which no other socket has had since the machine started.
    package var cookie: UInt64
    /// The thread that made it, or used it last.
    package var thread: Int32
    /// That thread's number for it then.
    package var descriptor: Int32
    /// The program's name, as the kernel shortens it; nil where it is not known.
    package var program: String?
    /// How far its connection can be steered.
    package var level: ControlLevel
    package var state = State.made
    package var destination: IPEndpoint?
    /// The interface that it was bound to for its destination.
    package var interface: String?
    /// What its connection carried; nil until it has ended, and for one that is not followed.
    package var report: TransferReport?
    /// The socket's file; 0 where it is not known.
    package var inode: UInt64 = 0
    /// The thread's process; nil where it is not known.
    package var process: Int32?
    /// Whether its connection is followed now.
    package var isFollowed = false

    package init(
        cookie: UInt64, thread: Int32, descriptor: Int32, level: ControlLevel, state: State = .made
    ) {
        (self.cookie, self.thread, self.descriptor) = (cookie, thread, descriptor)
        (self.level, self.state) = (level, state)
    }
}

/// Why a socket is not MPTCP from its beginning.
package enum PlainReason: Int32, Sendable, Hashable, CaseIterable {
    case noMPTCP = 1
    case otherNamespace
    case excludedProgram
    case notInjected
    case unsteered
    /// The program has made it by another way than socket(2): a filter of its own, io_uring, or before `mprun` began.
    case unseen

    /// For machines to read.
    package var name: String {
        switch self {
        case .noMPTCP: "no_mptcp"
        case .otherNamespace: "other_namespace"
        case .excludedProgram: "excluded_program"
        case .notInjected: "not_injected"
        case .unsteered: "unsteered"
        case .unseen: "unseen"
        }
    }

    /// For people.
    package var words: String {
        switch self {
        case .noMPTCP: "the kernel makes no MPTCP sockets here"
        case .otherNamespace: "the program is in another network namespace, or not to be looked at"
        case .excludedProgram: "--tcp-for names the program"
        case .notInjected: "the program had no room for it, or was killed"
        case .unsteered: "paths are prohibited, and no mpathd keeps an MPTCP connection off them"
        case .unseen: "it was not made by a call that mprun sees"
        }
    }
}

/// The sockets of a run.
package struct SocketLedger: Sendable {
    /// How many of what there were.
    package struct Totals: Sendable, Hashable {
        package var made = 0
        /// Those that the kernel made as TCP, by why.
        package var plain: [PlainReason: Int] = [:]
        package var plainCount: Int { plain.values.reduce(0, +) }
        package var connects = 0
        package var refused = 0
        package var unexamined = 0
        /// Sockets of which nothing is kept but that they were.
        package var forgotten = 0

        package init() {}
    }

    package private(set) var totals = Totals()
    private var sockets: [UInt64: ProgramSocket] = [:]
    /// In the order in which they were made; those that are forgotten stand here until there are many of them.
    private var order: [UInt64] = []
    /// Those that are kept at most, beside what is connecting or followed: of the others only the totals tell.
    private let capacity: Int
    /// How many there are when it is next looked whether some can go.
    private var nextLook: Int

    package init(capacity: Int = 4_096) { (self.capacity, nextLook) = (capacity, capacity) }

    package subscript(cookie: UInt64) -> ProgramSocket? { sockets[cookie] }

    /// Those that are kept, oldest first.
    package var all: [ProgramSocket] { order.compactMap { sockets[$0] } }

    /// The program has got a socket.
    package mutating func made(_ socket: ProgramSocket) {
        totals.made += 1
        insert(socket)
    }

    /// The kernel has made one as if there was no trap. It has no number that is known, so what becomes of it is not.
    package mutating func madePlain(_ reason: PlainReason) { totals.plain[reason, default: 0] += 1 }

    /// A connect was not looked at: its process does not let it, or is in another network namespace.
    package mutating func unexamined() { totals.unexamined += 1 }

    /// The program connects a socket.
    package mutating func connects(
        _ cookie: UInt64, by thread: Int32, _ descriptor: Int32, to destination: IPEndpoint?
    ) {
        totals.connects += 1
        if sockets[cookie] == nil {
            insert(
                ProgramSocket(
                    cookie: cookie, thread: thread, descriptor: descriptor,
                    level: .observeOnly(because: .foreignSocket)))
        }
        update(cookie) {
            ($0.thread, $0.descriptor, $0.destination) = (thread, descriptor, destination)
            $0.state = .connecting
        }
    }

    package mutating func refused(_ cookie: UInt64) {
        totals.refused += 1
        update(cookie) { $0.state = .refused }
    }

    package mutating func update(_ cookie: UInt64, _ change: (inout ProgramSocket) -> Void) {
        guard var socket = sockets[cookie] else { return }
        change(&socket)
        sockets[cookie] = socket
    }

    /// Nothing more happens to a socket, and no report will tell of it.
    package mutating func forget(_ cookie: UInt64) {
        guard sockets.removeValue(forKey: cookie) != nil else { return }
        totals.forgotten += 1
    }

    private mutating func insert(_ socket: ProgramSocket) {
        if sockets.updateValue(socket, forKey: socket.cookie) == nil { order.append(socket.cookie) }
        guard order.count > nextLook else { return }
        // Many at once, so that this is rare.
        let newest = socket.cookie
        var room = sockets.count - capacity * 3 / 4
        order.removeAll { cookie in
            guard let socket = sockets[cookie] else { return true }
            let isLive = socket.isFollowed || socket.state == .connecting
            guard room > 0, !isLive, cookie != newest else { return false }
            room -= 1
            sockets[cookie] = nil
            totals.forgotten += 1
            return true
        }
        nextLook = max(capacity, order.count + capacity / 4)
    }
}
