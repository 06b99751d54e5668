// Samples of a connection of which this process holds no descriptor: another's, that it has made the socket for.
//
// One datagram asks for the connection and for each subflow that is known by name: 5 µs for a connection of one subflow, and
// 2.5 more for each other (tried on 6.18; MPTCP_FULL_INFO: 1.5 µs). Dumps would be no cheaper for any number: they take 200 µs
// (TCP) and 1 ms (MPTCP) for an empty machine, and 3 µs for each socket. So a dump is made only where the kernel counts
// subflows that are not known: a connection's subflows are the TCP sockets of its file.

import CLinux
import Glibc
import PathCore

/// Asks sock_diag about sockets: one for a process, from any thread.
package final class DiagnosisSource: Sendable {
    private let netlink = Locked<NetlinkConnection?>(nil)

    package init() {}

    /// - Parameter body: gets each question's answer; nil where the kernel has no such socket.
    func ask(
        _ questions: [DiagnosisQuestion], _ body: (DiagnosisQuestion, SocketDiagnosis?) -> Void
    ) throws(SystemError) {
        try with { netlink throws(SystemError) in
            try netlink.ask("diagnose sockets", SocketDiagnosis.messageType, about: questions) {
                $0.put(into: $1, withInformation: true)
            } body: { question, answer in
                guard case .data(let message) = answer else { return body(question, nil) }
                body(question, SocketDiagnosis(message))
            }
        }
    }

    /// Names all TCP sockets that lead to a port; for port 0 all there are. Without their counters, for which the kernel takes each
    /// socket's lock: others' owners may keep it for as long as they like.
    func search(
        isIPv6: Bool, remotePort: UInt16, _ body: (SocketDiagnosis) -> Void
    ) throws(SystemError) {
        try with { netlink throws(SystemError) in
            try netlink.dump("look for a connection's subflows", SocketDiagnosis.messageType) { request in
                request.putFixedPart(inet_diag_req_v2.self) {
                    $0.sdiag_family = UInt8(isIPv6 ? AF_INET6 : AF_INET)
                    $0.sdiag_protocol = UInt8(IPPROTO_TCP)
                    $0.idiag_states = Self.openStates
                    $0.id.idiag_dport = remotePort.bigEndian
                }
            } restart: {
            } body: { message in
                if let found = SocketDiagnosis(message) { body(found) }
                return .goOn
            }
        }
    }

    /// All but LISTEN, CLOSE, TIME_WAIT and NEW_SYN_RECV (include/net/tcp_states.h).
    private static let openStates: UInt32 =
        1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11

    private func with<Result>(
        _ body: (NetlinkConnection) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try netlink.withLock { netlink throws(SystemError) in
            if let netlink { return try body(netlink) }
            let made = try NetlinkConnection(.sockets)
            netlink = made
            return try body(made)
        }
    }
}

/// A connection's socket, by its names in the kernel.
package struct DiagnosedSocket: Sendable {
    /// SO_COOKIE: no other socket has it until the machine starts anew.
    package let cookie: UInt64
    /// Nil for plain TCP.
    package let token: ConnectionToken?
    private let local: IPEndpoint
    private let remote: IPEndpoint
    private let source: DiagnosisSource
    private var roll = SubflowRoll()
    /// What is told where the kernel could not be asked.
    private var latest: TransportSample?
    /// Cookies of the sockets that carry it, which `takeNewCookies` has not told.
    private var newCookies: [UInt64]
    /// Subflows that the kernel does not find any more, as they were found last: their ends, with their last counters, are told
    /// a moment later, or never.
    private var ending: [(sample: SubflowSample, cookie: UInt64, until: MonotonicTime)] = []
    private static let endPatience = Duration.milliseconds(500)

    /// - Parameters:
    ///   - token: nil for plain TCP.
    ///   - local: the socket's own endpoint, once it is connected.
    package init(
        cookie: UInt64, token: ConnectionToken?, local: IPEndpoint, remote: IPEndpoint,
        by source: DiagnosisSource
    ) {
        (self.cookie, self.token) = (cookie, token)
        (self.local, self.remote) = (local.unmapped, remote.unmapped)
        newCookies = token == nil ? [cookie] : []
        self.source = source
    }

    /// Takes the names of a connected socket, which stays its owner's; nil for one that is not connected, and for any other
    /// file.
    package init?(of descriptor: CInt, by source: DiagnosisSource) {
        guard let cookie = SocketOption.cookie(descriptor, SO_COOKIE),
            let local = SocketOption.localEndpoint(of: descriptor),
            let remote = SocketOption.remoteEndpoint(of: descriptor)
        else { return nil }
        self.init(
            cookie: cookie, token: TransportSample.connection(descriptor)?.token, local: local,
            remote: remote,
            by: source)
    }

    /// What the kernel counts now; nil where it has the connection no more. `peerHasEnded` is told as well. Where the kernel
    /// can't be asked (no memory, no descriptors) the sample is the last one.
    package mutating func sample() -> TransportSample? {
        do throws(SystemError) {
            let new = if let token { try mptcp(token) } else { try tcp() }
            latest = new ?? latest
            return new
        } catch {
            return latest
        }
    }

    /// The cookies of all TCP sockets that carry it, by which their ends are told (`SocketEnds`).
    package var cookies: [UInt64] { token == nil ? [cookie] : roll.entries.map(\.cookie) }

    /// Those that were found since this was asked last.
    package mutating func takeNewCookies() -> [UInt64] {
        defer { newCookies = [] }
        return newCookies
    }

    /// One of its TCP sockets has ended.
    ///
    /// - Parameter last: that socket's last counters.
    /// - Returns: the latest sample with them; nil for a socket that is none of its own.
    package mutating func ended(_ ended: UInt64, _ last: SubflowSample) -> TransportSample? {
        guard var sample = latest else { return nil }
        var last = last
        last.state = .closed
        if token != nil {
            let known = roll.entries.first { $0.cookie == ended }?.id
            guard let id = known ?? ending.first(where: { $0.cookie == ended })?.sample.id else { return nil }
            // Of one that fell back its first subflow is all there is.
            last.id = if case .tcp = sample.kind { 0 } else { id }
            ending.removeAll { $0.cookie == ended }
        } else if ended != cookie {
            return nil
        }
        if let place = sample.subflows.firstIndex(where: { $0.id == last.id }) {
            // A reset has the kernel forget what a socket carried (tcp_disconnect): what was seen before stands.
            if last.bytesSent >= sample.subflows[place].bytesSent {
                sample.subflows[place] = last
            } else {
                sample.subflows[place].state = .closed
            }
        } else {
            sample.subflows.append(last)
        }
        latest = sample
        return sample
    }

    /// Whether the peer has acknowledged all that was written.
    package func isAllAcknowledged() -> Bool {
        guard let token else { return false }
        var isAll = false
        try? source.ask([.connection(token)]) { _, found in
            guard let found, found.cookie == cookie, let info = found.information(mp_mptcp_info()) else {
                return
            }
            isAll = info.write_seq == info.snd_una
        }
        return isAll
    }

    // MARK: Questions

    private mutating func mptcp(_ token: ConnectionToken) throws(SystemError) -> TransportSample? {
        var whole: (connection: ConnectionSample?, isIPv6: Bool, inode: UInt32, interface: InterfaceIndex)?
        var subflows: [SubflowSample] = []
        var gone: [UInt32] = []
        let entries = roll.entries
        var questions = [DiagnosisQuestion.connection(token)]
        for entry in entries {
            questions.append(
                .socket(
                    local: entry.local, remote: entry.remote, interface: entry.interface,
                    cookie: entry.cookie))
        }
        var place = 0
        try source.ask(questions) { question, found in
            guard case .socket = question else {
                guard let found, found.cookie == cookie else { return }
                whole = (Self.connection(found), found.isIPv6, found.inode, found.interface)
                return
            }
            // In the order of the questions.
            let id = entries[place].id
            place += 1
            // One that the connection has let go of is no file's any more, and takes its time to end.
            if let found, found.inode == whole?.inode, let sample = Self.subflow(found, id) {
                subflows.append(sample)
            } else {
                gone.append(id)
            }
        }
        let now = MonotonicTime.now
        for entry in entries where gone.contains(entry.id) {
            guard var last = latest?.subflows.first(where: { $0.id == entry.id }) else { continue }
            last.state = .closed
            ending.append((last, entry.cookie, now.advanced(by: Self.endPatience)))
        }
        ending.removeAll { $0.until <= now }
        roll.remove(gone)
        guard let whole else { return nil }
        // It fell back: then it is its first subflow.
        guard let connection = whole.connection else { return try tcp() }
        if roll.isNew, let sample = try first(whole.inode, interface: whole.interface) {
            subflows.append(sample)
        }
        if roll.wantsSearch(
            total: connection.totalSubflows, additional: connection.additionalSubflows, at: now)
        {
            subflows += try search(whole.inode, isIPv6: whole.isIPv6, remotePort: remote.port)
            // A peer may announce another port for further subflows; few do.
            if roll.isShort { subflows += try search(whole.inode, isIPv6: whole.isIPv6, remotePort: 0) }
            roll.searchEnded(at: now)
        }
        return TransportSample(
            kind: .mptcp(token: token.value), subflows: subflows + ending.map(\.sample),
            connection: connection)
    }

    /// - Returns: the subflows that were not known.
    private mutating func search(
        _ inode: UInt32, isIPv6: Bool, remotePort: UInt16
    ) throws(SystemError) -> [SubflowSample] {
        // After the program's close they are no file's: those that were known are all there will be.
        guard inode != 0 else { return [] }
        var unknown: [DiagnosisQuestion] = []
        // A socket of IPv6 may have subflows of both families, its IPv4 ones as mapped addresses or not.
        for isIPv6 in isIPv6 ? [true, false] : [false] {
            try source.search(isIPv6: isIPv6, remotePort: remotePort) { found in
                guard found.inode == inode, !roll.entries.contains(where: { $0.cookie == found.cookie })
                else {
                    return
                }
                unknown.append(
                    .socket(
                        local: found.local, remote: found.remote, interface: found.interface,
                        cookie: found.cookie))
            }
        }
        guard !unknown.isEmpty else { return [] }
        var new: [SubflowSample] = []
        try source.ask(unknown) { _, found in
            if let found, found.inode == inode, let sample = ingest(found) { new.append(sample) }
        }
        return new
    }

    /// Asks for the first subflow, whose addresses are the connection's: most have no other.
    private mutating func first(
        _ inode: UInt32, interface: InterfaceIndex
    ) throws(SystemError) -> SubflowSample? {
        var first: SubflowSample?
        try source.ask([.socket(local: local, remote: remote, interface: interface, cookie: nil)]) {
            _, found in
            if let found, found.inode == inode { first = ingest(found) }
        }
        return first
    }

    /// - Returns: nil for a subflow that is known.
    private mutating func ingest(_ found: SocketDiagnosis) -> SubflowSample? {
        guard !roll.entries.contains(where: { $0.cookie == found.cookie }),
            let id = roll.note(
                cookie: found.cookie, local: found.local, remote: found.remote, interface: found.interface)
        else { return nil }
        newCookies.append(found.cookie)
        return Self.subflow(found, id)
    }

    private func tcp() throws(SystemError) -> TransportSample? {
        var sample: TransportSample?
        try source.ask([.socket(local: local, remote: remote, interface: 0, cookie: nil)]) { _, found in
            guard let found, token != nil || found.cookie == cookie,
                let subflow = Self.subflow(found, 0)
            else { return }
            sample = TransportSample(kind: .tcp, subflows: [subflow])
        }
        return sample
    }

    // MARK: Answers

    static func connection(_ found: SocketDiagnosis) -> ConnectionSample? {
        guard let info = found.information(mp_mptcp_info()), var sample = ConnectionSample(info) else {
            return nil
        }
        sample.peerHasEnded = found.state.hasFIN
        return sample
    }

    /// nil for a socket that only waits for its end, and for a listener: of those the kernel counts nothing.
    static func subflow(_ found: SocketDiagnosis, _ id: UInt32) -> SubflowSample? {
        guard found.state != .listening, let info = found.information(mp_tcp_info()) else { return nil }
        return SubflowSample(id: id, info, local: found.local, remote: found.remote)
    }
}
